"""What a join whose rows are only counted has in memory: which rows an eviction takes, join bits, regions, and ages.

Rows of a key that leave before the others are those that came first. So it is enough to know how many came when, and
only of algorithms that split codes.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.lab.counted_partition import KeyCounts
from sooner.operators.statistics.regions import RegionStatistics, go_round
from sooner.policies.view import Counts, Evict, EvictCodes, EvictUpTo, RegionsView
from sooner.runs.run import NEVER
from sooner.sides import SIDES


class Group(NamedTuple):
    """Rows of a side and key that came together."""

    tick: int
    rows: int
    unmet_pairs: int  # of each of them: rows on disk of the other side when it came


class CountedMemory:
    """Arrays of counts are indexed [side, partition, key], codes [key, partition]."""

    def __init__(
        self, counts: KeyCounts, codes: Codes, row_bytes: int, regions: RegionStatistics | None, *, splits_codes: bool
    ) -> None:
        self._counts = counts
        self._codes = codes
        self._regions = regions
        self._splits_codes = splits_codes
        self.row_bytes = row_bytes if regions is None else row_bytes + 1  # with a join bit
        self._joined = np.zeros_like(counts.memory, np.bool_)
        self._ages: dict[tuple[int, ...], deque[Group]] = {}  # by side, partition and key
        self._met_disk = np.full(counts.memory.shape[:2], NEVER)  # [side, partition]: the last memory-disk task

    # Rows that come

    def note_ages(self, places: Positions, unmet_pairs: Counts, tick: int) -> None:
        """Rows came, at these places in counts, and so many on disk each of them has not met."""
        if self._splits_codes:
            each, first, rows = np.unique(places, return_index=True, return_counts=True)
            indexes = zip(*(axis.tolist() for axis in np.unravel_index(each, self._joined.shape)), strict=True)
            for index, n, unmet in zip(indexes, rows.tolist(), unmet_pairs[first].tolist(), strict=True):
                self._ages.setdefault(index, deque()).append(Group(tick, n, unmet))

    def note_joins(self, joins: Counts, are_kept: Flags) -> None:
        """Rows of these partitions and keys came and gave so many results: of each both rows have the same key."""
        if self._regions is None:
            return
        for side in SIDES:
            self._joined[side] |= (joins > 0) & are_kept[side][:, None]
            for p in np.flatnonzero(joins.any(axis=1)).tolist():
                self._regions.count_joins(side, p, self._codes[:, p], joins[p])

    def met_disk(self, side: int, p: int, tick: int) -> None:
        self._met_disk[side, p] = tick

    # Rows that leave

    def leaving(self, eviction: Evict) -> Counts:
        """How many rows of each key of the partition leave; the clock moves."""
        side, p = eviction.input, eviction.partition
        rows = self._counts.memory[side, p]
        if isinstance(eviction, EvictCodes):
            return self._of_codes(eviction)
        n_bytes = int(rows.sum()) * self.row_bytes
        by_clock = isinstance(eviction, EvictUpTo) and eviction.codes_from == "the clock's hand"
        if not isinstance(eviction, EvictUpTo) or (eviction.at_most_bytes >= n_bytes and not by_clock):
            everything: Counts = rows.copy()
            return everything
        wanted_rows = max(1, -(-eviction.at_most_bytes // self.row_bytes))
        if by_clock:
            return self._by_clock(side, p, wanted_rows)
        in_order = rows if eviction.codes_from == "lowest" else rows[::-1]
        up_to = in_order.cumsum()
        last = int(up_to.searchsorted(wanted_rows))
        leaving = np.where(np.arange(len(rows)) <= last, in_order, 0)
        key = last if eviction.codes_from == "lowest" else len(rows) - 1 - last
        if self._splits_codes:
            leaving[last] = self._oldest((side, p, key), wanted_rows - int(up_to[last] - in_order[last]))
            self._joined[side, p, key] = False
        return leaving if eviction.codes_from == "lowest" else leaving[::-1]

    def _of_codes(self, eviction: EvictCodes) -> Counts:
        side, p = eviction.input, eviction.partition
        leaving = np.where(np.isin(self._codes[:, p], eviction.codes), self._counts.memory[side, p], 0)
        if eviction.at_most_bytes is not None and self._splits_codes:
            [key] = np.flatnonzero(leaving)
            leaving[key] = self._oldest((side, p, int(key)), -(-eviction.at_most_bytes // self.row_bytes))
            self._joined[side, p, key] = False
        return leaving

    def _by_clock(self, side: int, p: int, wanted_rows: int) -> Counts:
        regions, codes, rows = self._regions, self._codes[:, p], self._counts.memory[side, p]
        assert regions is not None
        first, last = regions.bounds[side, p]
        middle = (codes >= first) & (codes <= last) & (rows > 0)
        hand, joined = int(regions.hands[side, p]), self._joined[side, p]
        found = go_round(codes[middle], rows[middle], joined[middle], hand, wanted_rows)
        joined[np.isin(codes, found.passed)] = False
        leaving = np.where(np.isin(codes, found.going), rows, 0)
        key = int(codes.searchsorted(np.uint64(found.last)))
        if self._splits_codes:
            leaving[key] = self._oldest((side, p, key), found.last_rows)
        regions.hands[side, p] = found.last if leaving[key] < rows[key] else found.next_code
        return leaving

    def _oldest(self, place: tuple[int, int, int], wanted_rows: int) -> int:
        """How many rows leave if so many are wanted of a key, the oldest: all that came with the last of them do."""
        rows = 0
        for group in self._ages[place]:
            rows += group.rows
            if rows >= wanted_rows:
                break
        return rows

    def take_out(self, side: int, p: int, leaving: Counts) -> Counts:
        """These rows leave; how many pairs with rows on disk those of each key have not met."""
        rows, unmet_pairs = self._counts.memory[side, p], self._counts.unmet_pairs[side, p]
        unmet: Counts = np.where(leaving == rows, unmet_pairs, 0)
        self._joined[side, p][(leaving == rows) & (rows > 0)] = False
        for key in np.flatnonzero(leaving).tolist() if self._splits_codes else ():
            ages, left = self._ages[side, p, key], int(leaving[key])
            taken: list[Group] = []
            while left:
                taken.append(ages.popleft())
                left -= taken[-1].rows
            if ages:
                fresh = [group for group in taken if group.tick > self._met_disk[side, p]]
                unmet[key] = sum(group.rows * group.unmet_pairs for group in fresh)
        return unmet

    # Regions

    def seen_regions(self) -> RegionsView | None:
        if (regions := self._regions) is None:
            return None
        rows = np.zeros_like(regions.joins)
        for side, p in np.ndindex(*rows.shape[:2]):
            codes, memory, (first, last) = self._codes[:, p], self._counts.memory[side, p], regions.bounds[side, p]
            lower, upper = int(memory[codes < first].sum()), int(memory[codes > last].sum())
            rows[side, p] = lower, int(memory.sum()) - lower - upper, upper
        return regions.view(rows)

    def renew_regions(self, side: int) -> None:
        if (regions := self._regions) is None:
            return
        regions.begin_anew(side)
        for p, memory in enumerate(self._counts.memory[side]):
            up_to, codes = memory.cumsum(), self._codes[:, p]
            n_rows = int(up_to[-1])
            if n_rows:
                rows = min(n_rows, max(1, -(-regions.outer_bytes // self.row_bytes)))
                lowest, highest = (codes[up_to.searchsorted(at)] for at in (rows, n_rows - rows + 1))
                regions.set_outer_codes(side, p, int(lowest), int(highest))
            else:
                regions.forget_bounds(side, p)
