"""What can go wrong, sorted by who must act.

Every message is a sentence that names the culprit and the cure.
"""


class SoonerError(Exception):
    """Base of everything that sooner raises on purpose."""


class InvalidCall(SoonerError, ValueError):  # noqa: N818 - names say what is wrong, not that something is
    """The call cannot be right: its author must change an argument. Raised before data is read."""


class InvalidJoin(InvalidCall):
    """The call of a join cannot be right, or what was given to it cannot be joined."""


class MissingLibrary(SoonerError, ModuleNotFoundError):  # noqa: N818
    """A library that only some things need is not installed."""


class BudgetTooSmall(SoonerError):  # noqa: N818
    """The memory cannot hold what it must: raise `memory` or choose an algorithm that spills."""


class ResultTooLarge(SoonerError, OverflowError):  # noqa: N818
    """An exact result has more digits than its type in SQL: aggregate doubles instead."""


class StreamTooLong(SoonerError, OverflowError):  # noqa: N818
    """An operator has done as many actions as its stamps can count: begin anew with an empty state."""


class SourceFailed(SoonerError):  # noqa: N818
    """An input raised or changed its schema midway. Results so far stay valid."""


class SinkFailed(SoonerError):  # noqa: N818
    """A system did not take a batch. Nothing of it is there, and Spark gives it again after a restart."""


class SpillFailed(SoonerError):  # noqa: N818
    """The disk refused to take or return rows: free space or give another directory."""


class PhaseError(SoonerError, RuntimeError):
    """An operator was asked for something that its phase does not allow: whoever drives it must mend that."""


class StateCorrupted(SoonerError):  # noqa: N818
    """Stored rows are not what was written. Nothing of them was used."""
