"""The area that is not covered, against a count of pairs; and the recent arrivals of RPJ's section 4.2."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from joins import arrive, new_join, perform, rows
from schedules import PARTITIONS, SCHEMA, Batch, RowPairs, Schedule, batches_of, dense_schedule
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Arrived, Event, Flushed, Merged, Scanned
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.order import by_hashes
from sooner.operators.statistics.arrivals import RecentArrivals
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.flush.balanced import Balanced
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.random import Random
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.never import Never
from sooner.policies.view import BUSY, SILENT, DeviceCosts, DiskDisk, EvictUpTo, JoinView, Task, Together
from sooner.sides import LEFT, RIGHT, SIDES, opposite


@dataclass(frozen=True)
class Halves:
    """Half of each partition, in a random order: flushes that leave rows of many ages behind."""

    order: Random

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        for group in self.order.choose(view, needed_bytes):
            places = [(eviction.input, eviction.partition) for eviction in group]
            half_bytes = [int(view.resident_bytes[place]) // 2 for place in places]
            yield [EvictUpTo(*place, half) for place, half in zip(places, half_bytes, strict=True)]


ALL_RUNS = 1000
EXACT = [
    Algorithm("xjoin", Largest(), LargestMemoryDisk()),
    Algorithm("hmj", Balanced(), Merge(fan_in=ALL_RUNS)),
    Algorithm("rpj", RateOptimal(tolerance=0), BestRate(fan_in=ALL_RUNS)),
    Algorithm("random, memory-disk", Random(), LargestMemoryDisk()),
    Algorithm("halves, memory-disk", Halves(Random()), LargestMemoryDisk()),
    Algorithm("halves, nothing from disk", Halves(Random(seed=1)), Never()),
    Algorithm("halves, merge", Halves(Random(seed=2)), Merge(fan_in=ALL_RUNS)),
    Algorithm("random, best rate", Random(seed=1), BestRate(fan_in=ALL_RUNS)),
]
CODERS = by_hashes(plan_keys(SCHEMA, SCHEMA, ["key"], ["key"])).coders


@dataclass(eq=False)
class Row:
    partition: int
    code: int
    resident: bool = True


class Shadow:
    """Which pairs of rows have met, row by row, from nothing but the events of a join and the rows that arrive."""

    def __init__(self) -> None:
        self.rows: tuple[list[Row], list[Row]] = ([], [])
        self.met: set[tuple[Row, Row]] = set()
        self.coming: tuple[list[Row], list[Row]] = ([], [])

    def expect(self, batches: tuple[pa.RecordBatch, pa.RecordBatch]) -> None:
        for side, batch in enumerate(batches):
            codes, valid = CODERS[side](batch)
            complete = np.ones(len(codes), bool) if valid is None else valid
            self.coming[side][:] = [Row(int(c) * PARTITIONS >> 64, int(c)) for c in codes[complete].tolist()]

    def listen(self, event: Event) -> None:
        match event:
            case Arrived():
                for side in SIDES:
                    self.rows[side].extend(self.coming[side])
                for p in range(PARTITIONS):
                    self.meet(self.some(LEFT, p, resident=True), self.some(RIGHT, p, resident=True))
            case Flushed(_, side, p, n_rows):  # partial flushes take the lowest codes
                for row in sorted(self.some(side, p, resident=True), key=lambda row: row.code)[:n_rows]:
                    row.resident = False
            case Scanned(_, side, p):
                mine, others = self.some(side, p, resident=True), self.some(opposite(side), p, resident=False)
                self.meet(*((mine, others) if side == LEFT else (others, mine)))
            case Merged(_, p):  # the first of a task; all of it is done before anyone looks
                self.meet(self.some(LEFT, p, resident=False), self.some(RIGHT, p, resident=False))

    def some(self, side: int, p: int, resident: bool) -> list[Row]:
        return [row for row in self.rows[side] if row.partition == p and row.resident is resident]

    def meet(self, left: list[Row], right: list[Row]) -> None:
        self.met.update(itertools.product(left, right))

    def unmet(self, left: list[Row], right: list[Row]) -> int:
        return sum(pair not in self.met for pair in itertools.product(left, right))

    def check(self, join: TwoWayJoin[RowPairs]) -> None:
        statistics = join.statistics
        pairs = 0
        for p in range(PARTITIONS):
            here, gone = ([self.some(side, p, resident) for side in SIDES] for resident in (True, False))
            assert statistics.unmet_with_disk[LEFT, p] == self.unmet(here[LEFT], gone[RIGHT])
            assert statistics.unmet_with_disk[RIGHT, p] == self.unmet(gone[LEFT], here[RIGHT])
            assert statistics.unmet_on_disk[p] == self.unmet(gone[LEFT], gone[RIGHT])
            assert self.unmet(here[LEFT], here[RIGHT]) == 0
            for side in SIDES:
                assert statistics.resident_rows[side, p] == len(here[side])
                assert statistics.spilled_rows[side, p] == len(gone[side])
                assert statistics.arrived_rows[side, p] == len(here[side]) + len(gone[side])
            pairs += statistics.arrived_rows[LEFT, p] * statistics.arrived_rows[RIGHT, p]
        assert statistics.covered_fraction == pytest.approx(len(self.met) / pairs if pairs else 1.0)


def run_with_shadow(
    algorithm: Algorithm, schedule: Schedule, directory: Path
) -> Iterator[tuple[TwoWayJoin[RowPairs], Shadow]]:
    """The join and its shadow after every action."""
    shadow = Shadow()
    join = new_join(directory, algorithm, schedule.budget_rows + 4, PARTITIONS, listener=shadow.listen)
    for step, *batches in zip(schedule.steps, *batches_of(schedule), strict=True):
        if isinstance(step, Batch):
            shadow.expect((batches[LEFT], batches[RIGHT]))
            arrive(join, *batches)
            yield join, shadow
        for _ in range(0 if isinstance(step, Batch) else step.tasks):
            if (task := algorithm.react.choose(join.view(SILENT))) is not None:
                perform_whole(join, task)
                yield join, shadow


def perform_whole(join: TwoWayJoin[RowPairs], task: Task) -> None:
    """A disk-disk task takes a merge for each level of runs, and between them the numbers are estimates."""
    for _ in range(20):
        perform(join, task)
        if not join._tasks:
            return
    pytest.fail("a disk-disk task does not come to an end")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("algorithm", EXACT, ids=lambda algorithm: algorithm.name)
def test_unmet_pairs_are_counted_exactly_after_every_action(algorithm: Algorithm, tmp_path: Path) -> None:
    for seed in range(12):
        for join, shadow in run_with_shadow(algorithm, dense_schedule(seed), tmp_path):
            shadow.check(join)


@pytest.mark.parametrize("seed", range(8))
def test_a_task_of_several_merges_spreads_its_share_and_ends_exactly(seed: int, tmp_path: Path) -> None:
    *_, (join, shadow) = run_with_shadow(EXACT[0], dense_schedule(seed), tmp_path)
    assert join.statistics.unmet_on_disk.any()
    for p in range(PARTITIONS):
        open_pairs, merges = [join.statistics.unmet_on_disk[p]], 0
        while join._tasks or not merges:
            perform(join, DiskDisk(p, fan_in=2))
            open_pairs.append(join.statistics.unmet_on_disk[p])
            merges += 1
        assert open_pairs == sorted(open_pairs, reverse=True)
        assert open_pairs[-1] == 0
        shadow.meet(shadow.some(LEFT, p, resident=False), shadow.some(RIGHT, p, resident=False))
    shadow.check(join)


def test_a_view_has_every_field_that_a_policy_may_look_at() -> None:
    """It is filled in one go, so nothing but this test tells that a new field was forgotten."""
    view = JoinStatistics(3).view(1, (False, False), BUSY, DeviceCosts(), 1000)
    assert vars(view).keys() == {field.name for field in fields(JoinView)}


def test_an_empty_join_is_covered() -> None:
    assert JoinStatistics(partitions=4).covered_fraction == 1


def test_statistics_survive_as_plain_data(tmp_path: Path) -> None:
    join = new_join(tmp_path, "xjoin", budget_rows=40, partitions=2)
    for _ in range(6):
        arrive(join, rows(list(range(20))), rows(list(range(20))))
    copy = JoinStatistics(partitions=2)
    copy.load_plain(join.statistics.to_plain())
    assert copy.to_plain() == join.statistics.to_plain()
    assert copy.covered_fraction == join.statistics.covered_fraction < 1


# Section 4.2: recent arrivals


def test_the_first_time_unit_is_the_first_estimate() -> None:
    recent = RecentArrivals(len(SIDES), decay=0.5, unit_seconds=1.0)
    recent.add(LEFT, 30, now=0.0)
    recent.add(RIGHT, 10, now=0.9)
    assert recent.rows.tolist() == [30, 10]


def test_each_later_unit_is_blended_in_with_lambda() -> None:
    # At time 2: lambda * alpha(0) + (1 - lambda) * alpha(1).
    recent = RecentArrivals(len(SIDES), decay=0.25, unit_seconds=1.0)
    for now, n_rows in ((0.5, 100), (1.5, 20), (2.5, 7)):
        recent.add(LEFT, n_rows, now)
    assert recent.rows.tolist() == [0.25 * 100 + 0.75 * 20, 0]


def test_the_influence_of_a_unit_decays_exponentially_through_silence() -> None:
    # The contribution of alpha(0) at time t is lambda ** (t - 1) * alpha(0).
    recent = RecentArrivals(len(SIDES), decay=0.5, unit_seconds=1.0)
    recent.add(LEFT, 64, now=0.0)
    recent.add(LEFT, 0, now=4.5)
    assert recent.rows.tolist() == [64 * 0.5**3, 0]
