"""What a policy sees, and what it may say.

A policy is a pure function of a view, so it has no state of its own to save, replay or disagree about.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DeviceCosts:
    """What the disk asks for a page. The defaults resemble a solid-state disk; the lab sets a 2005 disk."""

    page_bytes: int = 64 * 1024
    random_seconds: float = 100e-6
    sequential_seconds: float = 30e-6

    def pages(self, n_bytes: "Counts") -> "Numbers":
        pages: Numbers = np.ceil(n_bytes / self.page_bytes)
        return pages

    def scan_seconds(self, runs: "Counts", n_bytes: "Counts") -> "Numbers":
        """Reading runs one after the other: a seek each, then pages in sequence (RPJ sec. 5.3, md-task)."""
        return runs * self.random_seconds + np.maximum(0.0, self.pages(n_bytes) - runs) * self.sequential_seconds

    def merge_seconds(self, n_bytes: "Counts") -> "Numbers":
        """Reading runs side by side and writing them merged: each page costs a seek, twice (RPJ sec. 5.3)."""
        return 2 * self.random_seconds * self.pages(n_bytes)


SOLID_STATE: Final = DeviceCosts()


@dataclass(frozen=True)
class Surroundings:
    """What whoever drives an operator sees of its inputs."""

    silent: bool = False  # nothing came for a while, nor is anything waiting
    waiting_rows: tuple[int, ...] = ()  # of each input, or nothing where nobody counts
    settling: bool = False  # all that has arrived is to be joined now, although more may come
    after_silence: bool = False  # rows have begun to come in the middle of the work of a silence, and wait
    now: float = 0.0  # in seconds, as when rows arrive; for what is told, not for what is decided


BUSY: Final = Surroundings()
SILENT: Final = Surroundings(silent=True)
SETTLING: Final = Surroundings(silent=True, settling=True)


@dataclass(frozen=True)
class View:
    """Read-only statistics of an operator. Arrays are indexed [input, partition], [input] or [partition]."""

    tick: int
    ended: tuple[bool, ...]
    around: Surroundings
    arrived_rows: Counts
    resident_rows: Counts
    resident_bytes: Counts
    spilled_rows: Counts
    spilled_bytes: Counts
    spilled_runs: Counts
    recent_rows: Numbers  # [input], with exponential decay over time


LOWER: Final = 0
MIDDLE: Final = 1
UPPER: Final = 2
REGIONS: Final = (LOWER, MIDDLE, UPPER)


@dataclass(frozen=True)
class RegionsView:
    """Three regions of codes in each partition of an input (DINER sec. 3.3), indexed [input, partition, region].

    Joins are results that rows in memory took part in since the last flush of their input.
    """

    rows: Counts
    joins: Counts


@dataclass(frozen=True)
class JoinView(View):
    """Of a two-way join."""

    unmet_with_disk: Numbers  # [input, partition]: pairs that a memory-disk task would bring together
    unmet_on_disk: Numbers  # [partition]: pairs that only a disk-disk task can bring together
    selectivity: Numbers  # [partition]: results per pair, as observed
    last_merge: Counts  # [partition]: tick of the last disk-disk task
    whole_rows: Counts  # [partition]: that had arrived when nothing was open in it the last time
    device: DeviceCosts
    memory_bytes: int  # that rows may take
    expected_rows: int | None  # of both inputs, if their sources know
    full_since: int | None = None  # since when rows wait, if they do
    regions: RegionsView | None = None  # for a flush policy whose algorithm asks for them


CodesFrom = Literal["lowest", "highest", "the clock's hand"]


class EvictAll(NamedTuple):
    """Let all rows of an input in a partition leave memory; of the operator that is asked, or of the one it names.

    `why`, here and in what follows, is the policy's own score in words, for whoever looks on.
    """

    input: int
    partition: int
    operator: str = ""
    why: str = ""


class EvictUpTo(NamedTuple):
    """Let rows leave up to so many bytes: those with the lowest or the highest codes, or from the clock's hand on.

    The clock takes rows of the middle region whose join bit is unset, and clears the bits that it passes (DINER 3.3).
    """

    input: int
    partition: int
    at_most_bytes: int
    codes_from: CodesFrom = "lowest"
    operator: str = ""
    why: str = ""


class EvictCodes(NamedTuple):
    """Let rows of these codes leave; of a single one, where the algorithm splits codes, up to so many bytes."""

    input: int
    partition: int
    codes: Codes
    at_most_bytes: int | None = None
    operator: str = ""
    why: str = ""


class EvictSince(NamedTuple):
    """Let rows leave that came after a tick."""

    input: int
    partition: int
    tick: int
    operator: str = ""
    why: str = ""


Evict = EvictAll | EvictUpTo | EvictCodes | EvictSince
Together = Sequence[Evict]  # evictions that belong together: all of them are done, or none


class MemoryDisk(NamedTuple):
    """Join what is in memory of an input with what is on disk of the other, in one partition."""

    input: int
    partition: int


class DiskDisk(NamedTuple):
    """Join and merge the next runs of both inputs in one partition, at most `fan_in` of each."""

    partition: int
    fan_in: int


class NestedLoop(NamedTuple):
    """Join what is on disk in one partition: chunks of at most so many bytes of the outer side with all runs of the
    other that they have not met, until each has had its turn as the outer side and nothing is open.
    """

    partition: int
    outer: int
    max_outer_bytes: int


class WholePartitions(NamedTuple):
    """Bring together all that has not met in these partitions, in memory and on disk. If a policy wants it while rows
    come, it is done before more of them are taken in (PR-Join sec. 4.2).
    """

    partitions: tuple[int, ...]

    @property
    def partition(self) -> int:
        """The first of them."""
        return self.partitions[0]


def require_fan_in(fan_in: int) -> None:
    if fan_in < 2:
        raise InvalidJoin(f"fan_in={fan_in} merges nothing; give 2 or more.")


Task = MemoryDisk | DiskDisk | NestedLoop | WholePartitions


class FlushPolicy(Protocol):
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        """Groups of evictions, best first, that together free at least `needed_bytes` if so much is resident.

        The operator takes them in order and stops after the group with which enough is free.
        """


class RoomPolicy(Protocol):
    def choose(self, views: Mapping[str, View], asking: str, needed_bytes: int) -> Iterable[Together]:
        """The same for operators that share a budget, by their names: evictions name the operator they are of."""


class ReactPolicy(Protocol):
    def choose(self, view: JoinView) -> Task | None:
        """The next piece of disk work, or None if nothing is worth doing now.

        Asked after every action, also while rows come: `view.around` tells. A task that has begun goes on, a quantum at
        a time, as long as the policy wants any, and is finished before another begins.
        """
