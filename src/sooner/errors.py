"""What can go wrong, sorted by who must act.

Every message is a sentence that names the culprit and the cure.
"""


class SoonerError(Exception):
    """Base of everything that sooner raises on purpose.

    >>> import sooner
    >>> try:
    ...     sooner.join(1, 2, on="k")
    ... except sooner.SoonerError as error:
    ...     print(error)
    left is an int; give ...
    """


class InvalidCall(SoonerError, ValueError):  # noqa: N818 - names say what is wrong, not that something is
    """The call cannot be right: its author must change an argument. Raised before data is read.

    >>> import sooner
    >>> try:
    ...     sooner.sources.parquet("none.parquet")
    ... except sooner.InvalidCall as error:
    ...     print(error)
    none.parquet: ...
    """


class InvalidJoin(InvalidCall):
    """The call of a join cannot be right, or what was given to it cannot be joined.

    >>> import pyarrow as pa, sooner
    >>> sooner.join(pa.table({"k": [1]}), pa.table({"k": [1]}), on="key")
    Traceback (most recent call last):
    sooner.errors.InvalidJoin: the left has no column 'key'; its columns are k
    """


class MissingLibrary(SoonerError, ModuleNotFoundError):  # noqa: N818
    """A library that only some things need is not installed.

    >>> from sooner.extras import require
    >>> require("no_such_library", "A picture", "ui")
    Traceback (most recent call last):
    sooner.errors.MissingLibrary: A picture needs no_such_library; run: pip install '.[ui]' (in the checkout of sooner)
    """


class BudgetTooSmall(SoonerError):  # noqa: N818
    """The memory cannot hold what it must: raise `memory` or choose an algorithm that spills.

    >>> import pyarrow as pa, sooner
    >>> sooner.join(pa.table({"k": [1]}), pa.table({"k": [1]}), on="k", memory="1KB")
    Traceback (most recent call last):
    sooner.errors.BudgetTooSmall: memory='1KB' is too small for a batch of rows; give at least 64.0 KB.
    """


class ResultTooLarge(SoonerError, OverflowError):  # noqa: N818
    """An exact result has more digits than its type in SQL: aggregate doubles instead."""


class StreamTooLong(SoonerError, OverflowError):  # noqa: N818
    """An operator has done as many actions as its stamps can count: begin anew with an empty state."""


class SourceFailed(SoonerError):  # noqa: N818
    """An input raised or changed its schema midway. Results so far stay valid.

    >>> import pyarrow as pa, sooner
    >>> class Broken:
    ...     name, schema = "broken", pa.schema([("k", pa.int64())])
    ...
    ...     def batches(self):
    ...         raise OSError("the line is dead")
    >>> sooner.join(Broken(), pa.table({"k": [1]}), on="k").to_table()
    Traceback (most recent call last):
    sooner.errors.SourceFailed: ...
    """


class SinkFailed(SoonerError):  # noqa: N818
    """A system did not take a batch. Nothing of it is there, and Spark gives it again after a restart.

    >>> import sooner
    >>> issubclass(sooner.SinkFailed, sooner.SoonerError)
    True
    """


class SpillFailed(SoonerError):  # noqa: N818
    """The disk refused to take or return rows: free space or give another directory.

    >>> import sooner
    >>> issubclass(sooner.SpillFailed, sooner.SoonerError)
    True
    """


class PhaseError(SoonerError, RuntimeError):
    """An operator was asked for something that its phase does not allow: whoever drives it must mend that."""


class StateCorrupted(SoonerError):  # noqa: N818
    """Stored rows are not what was written. Nothing of them was used.

    >>> import sooner
    >>> issubclass(sooner.StateCorrupted, sooner.SoonerError)
    True
    """
