"""Rows that are counted by key, not kept: what the lab's twin of a join knows of them, and the loops that change it.

Rows of a key that leave before the others are those that came first. So where the age of rows matters it is enough to
know, of each side and key, how many came when: they are groups in one table, each with the place of the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.kernels.native import address, loop, prototypes
from sooner.kernels.native.prototypes import Address

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

_FIRST_ROOM: Final = 1024  # groups
_OF_A_GROUP: Final = 5  # numbers

_count_arrivals: Final = loop(prototypes.count_arrivals)
_count_meeting_disk: Final = loop(prototypes.count_meeting_disk)
_count_leaving: Final = loop(prototypes.count_leaving)
_count_oldest: Final = loop(prototypes.count_oldest)
_count_in_order: Final = loop(prototypes.count_in_order)
_count_regions: Final = loop(prototypes.count_regions)


class LeftRows(NamedTuple):
    """Rows of a side that left memory, those of a key together; each array has a number for each time and key."""

    keys: Positions
    rows: Counts
    unseen: Counts  # of these, the last: those that came after the last memory-disk task
    up_to: Counts  # rows of this side and key that had left by then, with these
    came: Counts  # rows of the other side and of this key that had come by then


@dataclass(frozen=True)
class KeyCounts:
    """Arrays are indexed [side, ..., key]."""

    memory: Counts  # rows
    on_disk: Counts  # rows
    seen: Counts  # rows in memory that took part in a memory-disk task: the oldest
    settled: Counts  # rows that had come when these were brought up to date:
    unmet_matches: Counts  # results of the other rows in memory with rows on disk of the other side
    unmet_pairs: Counts  # the same, whatever the keys of the rows on disk

    @staticmethod
    def of_nothing(*shape: int) -> "KeyCounts":
        return KeyCounts(*(np.zeros(shape, np.int64) for _ in fields(KeyCounts)))

    def __iter__(self) -> Iterator[Counts]:
        return (getattr(self, field.name) for field in fields(KeyCounts))

    def of_partition(self, p: int) -> "KeyCounts":
        """The counts of one partition, not a copy."""
        return KeyCounts(*(counts[:, p] for counts in self))


@dataclass(frozen=True)
class CountedArrays:
    """What is known of a join, as its compiled loops have it. They change all of these but the read-only ones."""

    # By side, partition and key
    counts: KeyCounts
    joined: Flags | None  # join bits, if anybody looks at regions
    joins: Counts | None  # and in their place counters, if there are
    first_group: Counts | None  # of rows by age, if anybody asks for it
    last_group: Counts | None
    # By side and partition
    arrived: Counts
    resident: Counts
    resident_bytes: Counts
    forgotten: Counts
    spilled: Counts
    spilled_bytes: Counts
    spilled_runs: Counts
    met_disk: Counts  # only read: the last memory-disk task
    unmet_with_disk: Numbers
    bounds: Codes | None  # only read: of the middle region
    region_joins: Counts | None
    # By partition
    compared: Numbers
    matched: Numbers
    selectivity: Numbers
    unmet_on_disk: Numbers
    whole_rows: Counts
    codes: Codes  # only read: of the keys


class CountedRows:
    def __init__(self, arrays: CountedArrays, row_bytes: int, disk_row_bytes: int) -> None:
        _, self._partitions, self._keys = arrays.counts.memory.shape
        counts, *others = vars(arrays).values()
        self._arrays = [*counts, *others, np.zeros(2 * self._partitions, np.int64)]
        sizes = self._partitions, self._keys, row_bytes, disk_row_bytes
        self._sizes = np.array([*sizes, *map(address, self._arrays)], np.uint64)
        self._join = address(self._sizes)
        self._groups = _free_groups(1, _FIRST_ROOM) if arrays.first_group is not None else None
        self._in_groups = 0  # rows at most: so many groups may be in use
        self._compared = np.zeros(1, np.int64)
        self._to_compared = address(self._compared)
        self._to_groups = address(self._groups)

    def arrive(
        self, lefts: npt.NDArray[np.int32], rights: npt.NDArray[np.int32], kept: Flags, tick: int
    ) -> tuple[int, int]:
        """Rows with these keys meet what is in memory, those of the right the left ones that come with them too. They
        are in memory then, where their side and partition is kept. Gives the results, and what a nested loop over
        partitions would compare.
        """
        n_lefts, n_rights = len(lefts), len(rights)
        if self._groups is not None:
            self._make_room_for_groups(n_lefts + n_rights)
        rows = address(lefts), n_lefts, address(rights), n_rights
        results = _count_arrivals(
            n_lefts + n_rights, self._join, *rows, address(kept), self._to_groups, tick, self._to_compared
        )
        return results, int(self._compared[0])

    def meet_disk(self, side: int, p: int) -> int:
        """Rows in memory of this side meet the disk of the other; how many results that gives."""
        return _count_meeting_disk(self._keys, self._join, side, p)

    def leave(self, places: Counts, leaving: Counts, left: Counts, column: int) -> Counts:
        """So many rows of each key of some sides and partitions leave memory, of each as a run; their places count
        partitions of the left and then of the right. What is told of each key is put into a table that has a row for
        each field of `LeftRows`, from this column on, and room for a number for each key. Gives of each place how many
        keys it is of, and how many rows.
        """
        totals = np.empty((len(places), 2), np.int64)
        parts = address(places), len(places), address(leaving), self._to_groups
        begin = Address(address(left) + column * left.itemsize)
        _count_leaving(leaving.size, self._join, *parts, begin, left.shape[1], address(totals))
        self._in_groups -= int(totals[:, 1].sum())
        return totals

    def oldest(self, place: int, wanted_rows: int) -> int:
        """How many rows leave if so many are wanted of a key, the oldest: all that came with the last of them do."""
        return _count_oldest(0, self._join, self._to_groups, place, wanted_rows)

    def in_order(self, places: Counts, wanted_rows: Counts, downwards: Flags) -> Counts:
        """How many rows of each key leave if so many are wanted of some places, from the lowest key up or from the
        highest down. Where ages are noted, only the oldest of the last key do, and its join bit is cleared.
        """
        leaving = np.empty((len(places), self._keys), np.int64)
        wanted = address(places), address(wanted_rows), address(downwards), len(places)
        _count_in_order(leaving.size, self._join, self._to_groups, *wanted, address(leaving))
        return leaving

    def by_region(self) -> Counts:
        """[side, partition, region]: rows in memory."""
        rows = np.empty((2, self._partitions, 3), np.int64)
        _count_regions(2 * self._partitions * self._keys, self._join, address(rows))
        return rows

    def _make_room_for_groups(self, rows: int) -> None:
        assert self._groups is not None
        self._in_groups += rows
        if self._in_groups >= len(self._groups):
            more = _free_groups(len(self._groups), 2 * (len(self._groups) + rows))
            more[-1, 0], self._groups = self._groups[0, 0], np.concatenate((self._groups, more))
            self._groups[0, 0] = len(self._groups) - len(more)
            self._to_groups = address(self._groups)


def _free_groups(begin: int, end: int) -> Counts:
    """Groups in a chain from `begin` on; before the first of all there is one that only tells which is free."""
    groups = np.zeros((end - begin, _OF_A_GROUP), np.int64)
    groups[:-1, 0] = np.arange(begin + 1, end)
    return np.concatenate((np.eye(1, _OF_A_GROUP, dtype=np.int64), groups)) if begin == 1 else groups
