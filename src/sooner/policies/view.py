"""What a policy sees, and what it may say.

A policy is a pure function of a `JoinView`, so it has no state of its own to save, replay or disagree about.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sooner.errors import InvalidJoin
from sooner.kernels.matching import Codes

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DeviceCosts:
    """What the disk asks for a page. The defaults resemble a solid-state disk; the lab sets a 2005 disk."""

    page_bytes: int = 64 * 1024
    random_seconds: float = 100e-6
    sequential_seconds: float = 30e-6

    def pages(self, n_bytes: float) -> float:
        return float(np.ceil(n_bytes / self.page_bytes))

    def scan_seconds(self, runs: int, n_bytes: float) -> float:
        """Reading runs one after the other: a seek each, then pages in sequence (RPJ sec. 5.3, md-task)."""
        return runs * self.random_seconds + max(0.0, self.pages(n_bytes) - runs) * self.sequential_seconds

    def merge_seconds(self, n_bytes: float) -> float:
        """Reading runs side by side and writing them merged: each page costs a seek, twice (RPJ sec. 5.3)."""
        return 2 * self.random_seconds * self.pages(n_bytes)


@dataclass(frozen=True)
class JoinView:
    """Read-only statistics of a two-way join. Arrays are indexed [side, partition], [side] or [partition]."""

    tick: int
    ended: tuple[bool, bool]
    arrived_rows: Counts
    resident_rows: Counts
    resident_bytes: Counts
    spilled_rows: Counts
    spilled_bytes: Counts
    spilled_runs: Counts
    recent_rows: Numbers  # [side], with exponential decay over time
    unmet_with_disk: Numbers  # [side, partition]: pairs that a memory-disk task would bring together
    unmet_on_disk: Numbers  # [partition]: pairs that only a disk-disk task can bring together
    selectivity: Numbers  # [partition]: results per pair, as observed
    last_merge: Counts  # [partition]: tick of the last disk-disk task
    device: DeviceCosts


@dataclass(frozen=True)
class Evict:
    """Let rows of one side and partition leave memory.

    All of them, or the lowest codes up to so many bytes, or those of certain codes. With `and_next` the eviction that
    follows belongs to this one, and is done even if enough is free by then.
    """

    side: int
    partition: int
    at_most_bytes: int | None = None
    codes: Codes | None = None
    and_next: bool = False


@dataclass(frozen=True)
class MemoryDisk:
    """Join what is in memory of `side` with what is on disk of the other side, in one partition."""

    side: int
    partition: int


@dataclass(frozen=True)
class DiskDisk:
    """Join and merge the next runs of both sides in one partition, at most `fan_in` of each."""

    partition: int
    fan_in: int


def require_fan_in(fan_in: int) -> None:
    if fan_in < 2:
        raise InvalidJoin(f"fan_in={fan_in} merges nothing; give 2 or more.")


Task = MemoryDisk | DiskDisk


class FlushPolicy(Protocol):
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Evict]:
        """Evictions, best first, that together free at least `needed_bytes` if so much is resident.

        The operator takes them in order and stops as soon as enough is free.
        """


class ReactPolicy(Protocol):
    def choose(self, view: JoinView) -> Task | None:
        """The next piece of disk work, or None if nothing is worth doing now."""
