"""What happens in an operator, as plain data: for traces, simulated devices and views. Reading them changes nothing."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from sooner.phases import Phase
from sooner.runs.ledger import Rectangle

MergingTask = Literal["merge", "rest", "parting", "forget", "winnow", "clean-up"]


class Arrived(NamedTuple):
    tick: int
    rows: tuple[int, ...]  # of each input
    compared: int  # pairs of rows that a nested loop over the partitions would have looked at


class Flushed(NamedTuple):
    """Rows left memory, and are a run on disk now."""

    tick: int
    side: int
    partition: int
    n_rows: int
    n_bytes: int  # as written
    run: int = 0  # its number
    why: str = ""  # the policy's own score, in words


class Scanned(NamedTuple):
    """A memory-disk task read these runs one after the other: what was in memory of `side` has met them."""

    tick: int
    side: int
    partition: int
    n_runs: int
    n_bytes: int
    runs: tuple[int, ...] = ()


class Merged(NamedTuple):
    """Runs were read side by side: those of `cells` have met. What was merged is written as one run a side.

    Which task it was: a merge; the rest of a partition; one at the parting of a side that has ended; one to forget dead
    rows; a winnow; the clean-up. Traces of versions before do not say.
    """

    tick: int
    partition: int
    n_runs: int
    n_bytes: int
    written_bytes: int
    cells: tuple[Rectangle, ...] = ()
    task: MergingTask | None = None


class Looped(NamedTuple):
    """A chunk of the outer side's runs was joined with runs of the other: those of `cells` have met. Of more than two
    inputs, these are of each two in turn.
    """

    tick: int
    partition: int
    outer: int
    n_runs: int
    n_bytes: int
    cells: tuple[Rectangle, ...] = ()


class Tidied(NamedTuple):
    """Runs of one partition that were alike became one, with nothing joined."""

    tick: int
    partition: int
    n_runs: int
    n_bytes: int


class Entered(NamedTuple):
    tick: int
    phase: Phase


class Reached(NamedTuple):
    """After an action: how many results there are by now, and what is in memory, [input][partition]."""

    tick: int
    results: int
    resident_bytes: tuple[tuple[int, ...], ...]


OwnEvent = Arrived | Flushed | Scanned | Merged | Looped | Tidied | Entered | Reached


class Inside(NamedTuple):
    """It happened in one of the joins of a plan: the one that adds this input to the joins below it."""

    join: str
    event: OwnEvent


Event = OwnEvent | Inside
Listener = Callable[[Event], None]
