"""Room in memory for a join of many inputs: what its flush policy chooses becomes runs on disk.

Rows weigh what they are and what their indexes take. There is one for each attribute by which rows may still be looked
up: by those that come, or by those that are on disk and are read again. So when an input has ended and is in memory as
a whole, its neighbours become lighter, and by the attributes that are left rows leave in ranges of codes.

An input has its rows once, in the order of its first attribute, and an index for each of the others. Rows that leave by
one of them leave all, so regions are cut anew by each attribute of the input.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from sooner.errors import BudgetTooSmall
from sooner.kernels.array_types import Flags
from sooner.kernels.codes import spread
from sooner.kernels.sorting import Places
from sooner.operators.events import Flushed
from sooner.operators.inputs import Input
from sooner.operators.leaving.choosing import choice_among, has_one_of
from sooner.operators.leaving.room import enough_of
from sooner.operators.multiway.accesses import Accesses, index_bytes
from sooner.operators.multiway.algorithms import MultiAlgorithm
from sooner.operators.multiway.combining import Combinations
from sooner.operators.multiway.graph import Graph
from sooner.operators.operator import Means
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Counts, Statistics
from sooner.operators.statistics.regions import RegionStatistics, rows_by_region
from sooner.operators.whole_inputs import count_in_memory, view_of
from sooner.policies.multi_view import EvictBuckets, EvictInput, EvictRegion, MultiEvict, MultiView
from sooner.policies.view import BUSY, EvictUpTo, RegionsView
from sooner.runs.resident import ResidentRuns
from sooner.runs.run import NEVER, Run, merge
from sooner.runs.store import SpilledRun

BUCKET_BITS: Final = 6  # of codes
BUCKETS: Final = 2**BUCKET_BITS


class Leaving:
    """`regions` are indexed [input, attribute], by the attribute's place among those of the input."""

    def __init__(
        self,
        inputs: Sequence[Input],
        accesses: Sequence[Accesses],
        algorithm: MultiAlgorithm,
        graph: Graph,
        statistics: Statistics,
        means: Means,
        shell: Shell,
    ) -> None:
        self._inputs = inputs
        self._accesses = accesses
        self._algorithm = algorithm
        self._graph = graph
        self._statistics = statistics
        self._account = means.account
        self._flush_bytes = int(means.flush_fraction * means.account.share_bytes)
        self._shell = shell
        self._beyond = [[graph.beyond(which, at) for at in graph.of_input(which)] for which in range(len(graph.inputs))]
        self.regions = self._new_regions() if algorithm.sees == "regions" else None

    def _new_regions(self) -> RegionStatistics:
        most = max(map(len, self._beyond))
        return RegionStatistics(len(self._inputs), most, self._flush_bytes * most)

    def weight(self, which: int, *runs: Run) -> int:
        """What these rows of an input take in memory, with their indexes."""
        bytes_of_row = index_bytes(self.asked(which))
        return sum(run.n_bytes + bytes_of_row * len(run) for run in runs)

    def weight_of(self, which: int) -> int:
        """What an input takes in memory."""
        return self.weight(which, *self._inputs[which].partitions[0].resident)

    def asked(self, which: int) -> list[int]:
        """The attributes by which rows of an input may still be looked up, by their places among those that it has."""
        asking = [not one.ended or bool(one.partitions[0].spilled) for one in self._inputs]
        return [place for place, others in enumerate(self._beyond[which]) if any(asking[other] for other in others)]

    @contextmanager
    def weighed_anew(self) -> Iterator[None]:
        """Something is done that changes what rows in memory weigh, of any input."""
        before = sum(map(self.weight_of, range(len(self._inputs))))
        yield
        self._account.release(before)
        self._account.take(sum(map(self.weight_of, range(len(self._inputs)))))
        self.forget_indexes()

    def forget_indexes(self) -> None:
        """Of what is in memory no more, and those that nobody asks for."""
        for which, accesses in enumerate(self._accesses):
            accesses.keep_only(list(self._inputs[which].partitions[0].resident), self.asked(which))

    def reserve(self, needed: Callable[[], int]) -> None:
        """Let rows leave until as many bytes are free as are needed, and take them."""
        account = self._account
        needed_bytes = needed()
        while (short_bytes := needed_bytes - account.free_bytes) > 0:
            if not any(one.resident_bytes for one in self._inputs):
                raise BudgetTooSmall(
                    f"{needed_bytes:,} bytes of rows and their indexes arrived at once, and {account.free_bytes:,} are "
                    "free for them; raise `memory`."
                )
            goal_bytes = max(short_bytes, self._flush_bytes)
            chosen = self._algorithm.flush.choose(self._view(), goal_bytes)
            self.evict(enough_of(chosen, goal_bytes, self._freed_by))
            needed_bytes = needed()  # those that left may be looked for, or look for others
        account.reserve(needed_bytes)

    def _view(self) -> MultiView:
        view = view_of(self._statistics, self._inputs, self._shell.tick, BUSY)
        weights = np.array([[self.weight_of(which)] for which in range(len(self._inputs))])
        sizes = None
        if self._algorithm.sees == "buckets":
            sizes = np.array([self._bytes_of_buckets(which) for which in range(len(self._inputs))])
        seen = vars(view) | {"resident_bytes": weights}
        return MultiView(**seen, n_attributes=len(self._graph.attributes), buckets=sizes, regions=self._seen_regions())

    def _seen_regions(self) -> RegionsView | None:
        if (regions := self.regions) is None:
            return None
        rows = np.zeros_like(regions.joins)
        for which, accesses in enumerate(self._accesses):
            for place in self.asked(which):
                codes = [accesses.of(run, place).codes for run in self._inputs[which].partitions[0].resident]
                rows[which, place] = rows_by_region(codes, *regions.bounds[which, place])
        return regions.view(rows)

    def _bytes_of_buckets(self, which: int) -> npt.NDArray[np.float64]:
        sizes = np.zeros(BUCKETS)
        for run in self._inputs[which].partitions[0].resident:
            sizes += np.bincount(self._buckets_of(which, run), minlength=BUCKETS) * (self.weight(which, run) / len(run))
        return sizes

    def _buckets_of(self, which: int, run: Run) -> npt.NDArray[np.int64]:
        """By the highest bits of codes; values of a range would all be in one bucket, and are in one by chance."""
        is_range = self._graph.attributes[self._graph.of_input(which)[0]].near is not None
        codes = spread(run.codes) if is_range else run.codes
        return (codes >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)

    def _freed_by(self, eviction: MultiEvict) -> int:
        match eviction:
            case EvictInput(which):
                return self.weight_of(which)
            case EvictBuckets(which, buckets):
                return int(self._bytes_of_buckets(which)[buckets].sum())
            case EvictRegion(at_most_bytes=at_most_bytes):
                return at_most_bytes

    def note_joins(self, found: Combinations, runs: Sequence[Sequence[Run]]) -> None:
        """For algorithms that look at regions and join bits: rows are credited with results of the whole join."""
        if (regions := self.regions) is None:
            return
        for which, places in found.items():
            for number, run in enumerate(runs[which]):
                at = places.positions if len(runs[which]) == 1 else places.positions[places.parts == number]
                times: Counts | None = None
                if len(at) > len(run):  # a row may have thousands of results
                    counts = np.bincount(at)
                    at = np.flatnonzero(counts)
                    times = counts[at]
                if run.joined is not None:
                    run.joined[at] = True
                for place in self.asked(which):
                    regions.count_joins(which, place, self._accesses[which].codes_at(Places(at), [run], place), times)

    # What is chosen leaves

    def evict(self, evictions: Sequence[MultiEvict]) -> None:
        """These rows become runs on disk, one for each input; memory changes when they are safe there."""
        self._shell.advance()
        by_input: dict[int, list[MultiEvict]] = {}
        for eviction in evictions:
            by_input.setdefault(eviction.input, []).append(eviction)
        for which, some in by_input.items():
            goes = [np.logical_or.reduce(flags) for flags in zip(*(self._goes(one) for one in some), strict=True)]
            if any(flags.any() for flags in goes):
                self._spill(which, goes, some[0].why)

    def evict_some(self, which: int, n_bytes: int) -> None:
        """About so many bytes of an input."""
        self.evict([EvictRegion(which, 0, n_bytes, "lowest")])

    def evict_all(self) -> None:
        self.evict([EvictInput(which) for which, one in enumerate(self._inputs) if one.resident_bytes])

    def reduce(self, which: int, kept_of: Callable[[int, Run], Run]) -> bool:
        """Keep of each run in memory of an input what is still needed; whether that is less."""
        resident = self._inputs[which].partitions[0].resident
        n_rows = resident.n_rows
        with self.weighed_anew():
            resident.reduce(partial(kept_of, which))
        if resident.n_rows < n_rows:
            self._renew_regions(which)
        return resident.n_rows < n_rows

    def forget(self, which: int) -> None:
        """Nobody needs the rows of this input in memory any more."""
        with self.weighed_anew():
            self._inputs[which].partitions[0].resident.clear()
        self._renew_regions(which)

    def _goes(self, eviction: MultiEvict) -> list[Flags]:
        """Which rows of each run in memory of the input leave."""
        resident = self._inputs[eviction.input].partitions[0].resident
        match eviction:
            case EvictInput():
                return [np.ones(len(run), np.bool_) for run in resident]
            case EvictBuckets(_, buckets):
                return [np.isin(self._buckets_of(eviction.input, run), buckets) for run in resident]
            case EvictRegion():
                return self._goes_of_region(eviction)

    def _goes_of_region(self, eviction: EvictRegion) -> list[Flags]:
        """As DINER chooses rows (sec. 3.3), by an attribute that need not be the one in whose order they lie."""
        which, place = eviction.input, eviction.attribute
        resident, accesses = self._inputs[which].partitions[0].resident, self._accesses[which]
        in_order = ResidentRuns()
        for run in resident:
            in_order.add(accesses.in_order(run, place))
        at_most_bytes = max(eviction.at_most_bytes * resident.n_bytes // self.weight_of(which), 1)
        chosen = EvictUpTo(which, place, at_most_bytes, eviction.codes_from)
        choice = choice_among(in_order, chosen, self.regions, splits_codes=True)
        if choice.hand is not None and self.regions is not None:
            self.regions.hands[which, place] = choice.hand
        as_they_lie = [replace(run, codes=accesses.codes_of(run, place)) for run in resident]
        for run in as_they_lie:
            if run.joined is not None and len(choice.cleared):
                run.joined[has_one_of(choice.cleared, run)] = False
        return [np.ones(len(run), np.bool_) if choice.goes is None else choice.goes(run) for run in as_they_lie]

    def _spill(self, which: int, goes: Sequence[Flags], why: str) -> None:
        one = self._inputs[which]
        partition = one.partitions[0]
        going = [_without(run, ~flags) for run, flags in zip(partition.resident, goes, strict=True) if flags.any()]
        run = replace(merge(going), departed=self._shell.tick, met_disk=NEVER, joined=None)
        with one.store.writer(shares_stamps=True) as writer:
            writer.append(one.store.encode(run, shares_stamps=True))
            segment = writer.end_segment((self._shell.tick, NEVER))
        spilled = SpilledRun(partition.new_number(), 0, (segment,))
        flags_of_each = iter(goes)
        with self.weighed_anew():
            partition.resident.reduce(lambda run: _without(run, next(flags_of_each)))
            partition.spilled.append(spilled)
        self._renew_regions(which)
        self._statistics.add_spilled(which, 0, spilled)
        count_in_memory(self._statistics, self._inputs)
        what = spilled.n_rows, spilled.n_bytes, spilled.number, why
        self._shell.report(Flushed(self._shell.tick, which, 0, *what))

    def _renew_regions(self, which: int) -> None:
        if (regions := self.regions) is None:
            return
        regions.begin_anew(which)
        resident, accesses = self._inputs[which].partitions[0].resident, self._accesses[which]
        for place in self.asked(which):
            regions.cut_anew(which, place, [accesses.of(run, place).codes for run in resident], self.weight_of(which))


def _without(run: Run, leaving: Flags) -> Run:
    return run.take(np.flatnonzero(~leaving)) if leaving.any() else run
