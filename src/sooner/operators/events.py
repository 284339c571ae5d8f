"""What an operator reports of its work, for traces, simulated devices and views. Reading them changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from sooner.operators.phases import Phase


@dataclass(frozen=True, slots=True)
class Arrived:
    tick: int
    rows: tuple[int, int]
    compared: int  # pairs of rows that a nested loop over the partitions would have looked at


@dataclass(frozen=True, slots=True)
class Flushed:
    tick: int
    side: int
    partition: int
    n_rows: int
    n_bytes: int  # as written


@dataclass(frozen=True, slots=True)
class Scanned:
    """A memory-disk task read these runs one after the other."""

    tick: int
    side: int
    partition: int
    n_runs: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Merged:
    """A disk-disk task read these runs side by side, and wrote them as one run a side."""

    tick: int
    partition: int
    n_runs: int
    n_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Entered:
    tick: int
    phase: Phase


Event = Arrived | Flushed | Scanned | Merged | Entered
Listener = Callable[[Event], None]
