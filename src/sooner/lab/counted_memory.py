"""What a join whose rows are only counted has in memory: which rows an eviction takes, join bits, regions, and ages.

Rows of a key that leave before the others are those that came first. So it is enough to know how many came when, and
only of algorithms that split codes.
"""

from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.lab.counted_partition import KeyCounts, LeftRows
from sooner.operators.statistics.regions import RegionStatistics, go_round
from sooner.policies.view import Counts, Evict, EvictCodes, EvictUpTo, RegionsView
from sooner.runs.run import NEVER
from sooner.sides import SIDES


@dataclass(slots=True)
class Group:
    """Rows of a side and key that came together."""

    tick: int
    rows: int
    unmet_pairs: int  # of each of them: rows on disk of the other side when it came
    unmet_matches: int  # and those with the same key


class CountedMemory:
    """Arrays of counts are indexed [side, partition, key]; codes are given [key, partition]."""

    def __init__(
        self,
        counts: KeyCounts,
        codes: Codes,
        row_bytes: int,
        regions: RegionStatistics | None,
        *,
        splits_codes: bool,
        counts_joins: bool,
    ) -> None:
        self._counts = counts
        self._flat = counts.in_one_row()
        self._codes_of = [*np.ascontiguousarray(codes.T)]  # each partition, sorted
        self._regions = regions
        self.splits_codes = splits_codes  # then ages are noted
        self.row_bytes = row_bytes if regions is None else row_bytes + 1  # with a join bit
        self._joined = np.zeros_like(counts.memory, np.bool_)
        self._joined_flat = self._joined.reshape(-1)
        self._joins = np.zeros_like(counts.memory) if counts_joins else None  # in the place of join bits
        self._ages: defaultdict[int, deque[Group]] = defaultdict(deque)  # by the place in counts
        self._met_disk = np.full(counts.memory.shape[:2], NEVER)  # [side, partition]: the last memory-disk task

    # Rows that come

    def note_ages(self, places: Positions, unmet_pairs: Counts, unmet_matches: Counts, tick: int) -> None:
        """Rows came, at these places in counts, and so many on disk each of them has not met, or would match."""
        for place, *unmet in zip(places.tolist(), unmet_pairs.tolist(), unmet_matches.tolist(), strict=True):
            ages = self._ages[place]
            if ages and ages[-1].tick == tick:
                ages[-1].rows += 1
            else:
                ages.append(Group(tick, 1, *unmet))

    def _place(self, side: int, p: int, key: int) -> int:
        """In counts, if these are in one row."""
        return (side * len(self._codes_of) + p) * len(self._codes_of[p]) + key

    def note_joins(self, places: Positions, results: Counts, are_kept: Flags) -> None:
        """Rows came, at these places in counts, and gave so many results each: of each both rows have the same key."""
        if self._regions is None:
            return
        has_joined = np.flatnonzero(results)
        partitions, keys = np.divmod(places[has_joined] % self._joined[0].size, self._joined.shape[2])
        results = results[has_joined]
        for p in np.unique(partitions).tolist():
            here = partitions == p
            keys_here, codes, results_here = keys[here], self._codes_of[p][keys[here]], results[here]
            for side in SIDES:
                self._joined[side, p, keys_here] |= are_kept[side, p]
                if self._joins is not None and are_kept[side, p]:
                    np.add.at(self._joins[side, p], keys_here, results_here)
                self._regions.count_joins(side, p, codes, results_here)

    def met_disk(self, side: int, p: int, tick: int) -> None:
        self._met_disk[side, p] = tick

    # Rows that leave

    def leaving(self, eviction: Evict) -> Counts:
        """How many rows of each key of the partition leave; the clock moves."""
        side, p = eviction.input, eviction.partition
        rows: Counts = self._counts.memory[side, p]
        if isinstance(eviction, EvictCodes):
            return self._of_codes(eviction)
        if not isinstance(eviction, EvictUpTo):
            return rows
        wanted_rows = max(1, -(-eviction.at_most_bytes // self.row_bytes))
        if eviction.codes_from == "the clock's hand":
            return self._by_clock(side, p, wanted_rows)
        in_order = rows if eviction.codes_from == "lowest" else rows[::-1]
        up_to = in_order.cumsum()
        if wanted_rows >= up_to[-1]:
            return rows
        last = int(up_to.searchsorted(wanted_rows))
        leaving = np.where(np.arange(len(rows)) <= last, in_order, 0)
        key = last if eviction.codes_from == "lowest" else len(rows) - 1 - last
        if self.splits_codes:
            leaving[last] = self._oldest((side, p, key), wanted_rows - int(up_to[last] - in_order[last]))
            self._joined[side, p, key] = False
        return leaving if eviction.codes_from == "lowest" else leaving[::-1]

    def _of_codes(self, eviction: EvictCodes) -> Counts:
        side, p = eviction.input, eviction.partition
        rows = self._counts.memory[side, p]
        leaving: Counts = np.zeros_like(rows)
        going = self._codes_of[p].searchsorted(eviction.codes)
        leaving[going] = rows[going]
        if eviction.at_most_bytes is not None and self.splits_codes:
            [key] = np.flatnonzero(leaving)
            leaving[key] = self._oldest((side, p, int(key)), -(-eviction.at_most_bytes // self.row_bytes))
            self._joined[side, p, key] = False
        return leaving

    def _by_clock(self, side: int, p: int, wanted_rows: int) -> Counts:
        regions, codes, rows = self._regions, self._codes_of[p], self._counts.memory[side, p]
        assert regions is not None
        begin, end = self._middle(side, p)
        middle = begin + np.flatnonzero(rows[begin:end])
        if self._joins is not None:
            return self._by_counters(side, p, middle, wanted_rows)
        hand, joined = int(regions.hands[side, p]), self._joined[side, p]
        found = go_round(codes[middle], rows[middle], joined[middle], hand, wanted_rows)
        joined[codes.searchsorted(found.passed)] = False
        leaving: Counts = np.zeros_like(rows)
        going = codes.searchsorted(found.going)
        leaving[going] = rows[going]
        key = int(codes.searchsorted(np.uint64(found.last)))
        if self.splits_codes:
            leaving[key] = self._oldest((side, p, key), found.last_rows)
        regions.hands[side, p] = found.last if leaving[key] < rows[key] else found.next_code
        return leaving

    def _by_counters(self, side: int, p: int, middle: Positions, wanted_rows: int) -> Counts:
        """The rows of the middle region with the fewest joins each; what is counted of the others fades."""
        assert self._joins is not None
        joins, rows = self._joins[side, p], self._counts.memory[side, p]
        order = middle[np.argsort(joins[middle] / rows[middle], kind="stable")]
        up_to = rows[order].cumsum()
        going = order[: int(up_to.searchsorted(wanted_rows)) + 1]
        leaving: Counts = np.zeros_like(rows)
        leaving[going] = rows[going]
        if self.splits_codes:
            last = int(going[-1])
            before_last = int(leaving.sum()) - int(rows[last])
            leaving[last] = self._oldest((side, p, last), wanted_rows - before_last)
        joins[middle] //= 2
        joins[leaving == rows] = 0
        return leaving

    def _oldest(self, place: tuple[int, int, int], wanted_rows: int) -> int:
        """How many rows leave if so many are wanted of a key, the oldest: all that came with the last of them do."""
        rows = 0
        for group in self._ages[self._place(*place)]:
            rows += group.rows
            if rows >= wanted_rows:
                break
        return rows

    def take_out(self, places: Positions, keys: Positions, rows: Counts) -> tuple[LeftRows, Counts]:
        """So many rows of each of these keys leave, at these places in counts; and how many pairs with rows on disk
        they have not met.
        """
        counts, other = self._flat, (places + self._flat.memory.size // 2) % self._flat.memory.size
        self._counts.settle(np.unique(places // len(self._codes_of[0]) % len(self._codes_of)))
        unmet_pairs, unmet_matches = self._unmet(places, rows, rows == counts.memory[places])
        seen = np.minimum(rows, counts.seen[places])
        up_to, came = counts.on_disk[places] + rows, counts.on_disk[other] + counts.memory[other]
        counts.on_disk[places] = up_to
        counts.memory[places] -= rows
        counts.seen[places] -= seen
        counts.unmet_matches[places] -= unmet_matches
        counts.unmet_pairs[places] -= unmet_pairs
        return LeftRows(keys, rows, rows - seen, up_to, came), unmet_pairs

    def _unmet(self, places: Positions, rows: Counts, are_all: Flags) -> tuple[Counts, Counts]:
        """Pairs and results with rows on disk that rows which leave have not met: all of a key, or the oldest."""
        pairs, matches = self._flat.unmet_pairs[places], self._flat.unmet_matches[places]
        self._joined_flat[places[are_all]] = False
        if self.splits_codes:
            for place in places[are_all].tolist():
                del self._ages[place]
            for at in np.flatnonzero(~are_all).tolist():
                pairs[at], matches[at] = self._unmet_of_oldest(int(places[at]), int(rows[at]))
        return pairs, matches

    def _unmet_of_oldest(self, place: int, rows: int) -> tuple[int, int]:
        ages, met_disk = self._ages[place], self._met_disk.flat[place // self._joined.shape[2]]
        pairs = matches = 0
        while rows:
            group = ages.popleft()
            rows -= group.rows
            if group.tick > met_disk:
                pairs += group.rows * group.unmet_pairs
                matches += group.rows * group.unmet_matches
        return pairs, matches

    # Regions

    def seen_regions(self) -> RegionsView | None:
        if (regions := self._regions) is None:
            return None
        rows = np.zeros_like(regions.joins)
        for side, p in np.ndindex(*rows.shape[:2]):
            memory, (begin, end) = self._counts.memory[side, p], self._middle(side, p)
            rows[side, p] = memory[:begin].sum(), memory[begin:end].sum(), memory[end:].sum()
        return regions.view(rows)

    def _middle(self, side: int, p: int) -> tuple[int, int]:
        """From which key up to which those of the middle region are."""
        assert self._regions is not None
        codes, (first, last) = self._codes_of[p], self._regions.bounds[side, p]
        return int(codes.searchsorted(first)), int(codes.searchsorted(last, "right"))

    def renew_regions(self, side: int) -> None:
        if (regions := self._regions) is None:
            return
        regions.begin_anew(side)
        for p, memory in enumerate(self._counts.memory[side]):
            up_to, codes = memory.cumsum(), self._codes_of[p]
            n_rows = int(up_to[-1])
            if n_rows:
                rows = min(n_rows, max(1, -(-regions.outer_bytes // self.row_bytes)))
                lowest, highest = (codes[up_to.searchsorted(at)] for at in (rows, n_rows - rows + 1))
                regions.set_outer_codes(side, p, int(lowest), int(highest))
            else:
                regions.forget_bounds(side, p)
