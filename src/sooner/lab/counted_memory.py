"""What a join whose rows are only counted has in memory: which rows an eviction takes, join bits, and regions."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.counting import CountedArrays, CountedRows, KeyCounts
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.statistics.regions import go_round
from sooner.policies.view import Counts, Evict, EvictCodes, EvictUpTo, RegionsView, Together
from sooner.runs.run import NEVER


class CountedMemory:
    """Arrays of counts are indexed [side, partition, key]; codes are given [key, partition]."""

    def __init__(
        self,
        counts: KeyCounts,
        statistics: JoinStatistics,
        codes: Codes,
        disk_row_bytes: int,
        *,
        splits_codes: bool,
        counts_joins: bool,
    ) -> None:
        self._counts = counts
        codes_of = np.ascontiguousarray(codes.T)
        self._codes_of = [*codes_of]  # each partition, sorted
        self._regions = regions = statistics.regions
        self.splits_codes = splits_codes  # then ages are noted
        self.row_bytes = disk_row_bytes if regions is None else disk_row_bytes + 1  # with a join bit
        self._partitions = len(self._codes_of)
        self._joined = np.zeros_like(counts.memory, np.bool_)
        self._joins = np.zeros_like(counts.memory) if counts_joins else None  # in the place of join bits
        self._met_disk = np.full(counts.memory.shape[:2], NEVER)  # [side, partition]: the last memory-disk task
        self.selectivity = statistics.selectivity  # as of the last arrival: only then it changes
        self.rows = CountedRows(
            CountedArrays(
                counts,
                joined=None if regions is None else self._joined,
                joins=self._joins,
                first_group=np.zeros_like(counts.memory) if splits_codes else None,
                last_group=np.zeros_like(counts.memory) if splits_codes else None,
                arrived=statistics.arrived_rows,
                resident=statistics.resident_rows,
                resident_bytes=statistics.resident_bytes,
                forgotten=statistics.forgotten_rows,
                spilled=statistics.spilled_rows,
                spilled_bytes=statistics.spilled_bytes,
                spilled_runs=statistics.spilled_runs,
                met_disk=self._met_disk,
                unmet_with_disk=statistics.unmet_with_disk,
                bounds=None if regions is None else regions.bounds,
                region_joins=None if regions is None else regions.joins,
                compared=statistics.compared_pairs,
                matched=statistics.matched_pairs,
                selectivity=self.selectivity,
                unmet_on_disk=statistics.unmet_on_disk,
                whole_rows=statistics.whole_rows,
                codes=codes_of,
            ),
            self.row_bytes,
            disk_row_bytes,
        )

    def met_disk(self, side: int, p: int, tick: int) -> None:
        self._met_disk[side, p] = tick

    # Rows that leave

    def leaving(self, evictions: Together) -> tuple[Counts, Counts]:
        """How many rows of each key leave which places; the clock moves. A place is a side and partition: those of the
        left come first.
        """
        places = np.array([one.input * self._partitions + one.partition for one in evictions])
        if all(_are_in_order(one) for one in evictions):  # an algorithm may let a few rows of each of many leave
            rows = self._in_order(places, cast(Sequence[EvictUpTo], evictions))
        else:
            rows = np.array([self._of_one(*one) for one in zip(places, evictions, strict=True)])
        if len({*places.tolist()}) == len(places):
            return places, rows
        once: dict[int, Counts] = {}
        for place, some in zip(places.tolist(), rows, strict=True):
            once[place] = np.maximum(once[place], some) if place in once else some
        return np.array([*once]), np.array([*once.values()])

    def _of_one(self, place: int, eviction: Evict) -> Counts:
        side, p = eviction.input, eviction.partition
        if isinstance(eviction, EvictCodes):
            return self._of_codes(eviction)
        if not isinstance(eviction, EvictUpTo):
            rows: Counts = self._counts.memory[side, p]
            return rows
        if eviction.codes_from == "the clock's hand":
            return self._by_clock(side, p, self._rows_in(eviction.at_most_bytes))
        return self._in_order(np.array([place]), [eviction])[0]

    def _in_order(self, places: Counts, evictions: Sequence[EvictUpTo]) -> Counts:
        wanted_rows = np.array([self._rows_in(one.at_most_bytes) for one in evictions])
        downwards = np.array([one.codes_from == "highest" for one in evictions])
        return self.rows.in_order(places, wanted_rows, downwards)

    def _rows_in(self, n_bytes: int) -> int:
        return max(1, -(-n_bytes // self.row_bytes))

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
        return self.rows.oldest(int(np.ravel_multi_index(place, self._joined.shape)), wanted_rows)

    # Regions

    def seen_regions(self) -> RegionsView | None:
        if (regions := self._regions) is None:
            return None
        return regions.view(self.rows.by_region())

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


def _are_in_order(eviction: Evict) -> bool:
    return isinstance(eviction, EvictUpTo) and eviction.codes_from != "the clock's hand"
