"""Disk work in quanta: each is small, and whatever happens between two of them, every pair comes once."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joins import PLENTY, arrive, flat, new_join, rows
from schedules import RowPairs
from sooner.kernels.array_types import Codes
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event, Merged
from sooner.operators.order import CodeRows
from sooner.operators.sweeping.sweep import Sweep
from sooner.operators.tasks import task as tasks
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.flush.largest import Largest
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never
from sooner.policies.view import BUSY, SETTLING, SILENT, EvictAll, ReactPolicy, Surroundings
from sooner.sides import SIDES
from sooner.testing.invariants import check_invariants

QUANTUM_BYTES = 2_000
PARTITIONS = 2
CROWD = 4
HOT = 7


@dataclass(frozen=True)
class Kind:
    """Which task is to be done, and how a join is brought to do it."""

    name: str
    react: ReactPolicy
    around: Surroundings
    crowd: int | None = None

    def __str__(self) -> str:
        return self.name


SCAN = Kind("scan", LargestMemoryDisk(), SILENT)
MERGE = Kind("merge", Merge(fan_in=3), SILENT)
REST = Kind("rest", Never(), SETTLING)
TIDYING = Kind("tidying", Never(), BUSY, CROWD)
CLEAN_UP = Kind("clean-up", Never(), SILENT)
LOOP = Kind("nested loop", ReactiveNestedLoop(max_outer_bytes=3_000), SILENT)
KINDS = [SCAN, MERGE, REST, TIDYING, CLEAN_UP, LOOP]
WHILE_ROWS_COME = [SCAN, MERGE, REST, TIDYING, LOOP]
FEW_SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))]


@dataclass
class Ongoing:
    """A join that is somewhere in the middle, and what has come out of it so far."""

    directory: Path
    kind: Kind
    budget_rows: int = PLENTY
    quantum_bytes: int = QUANTUM_BYTES
    code: CodeRows | None = None  # instead of the usual codes
    workers: int = 1
    keys: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    found: Counter[tuple[int, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.join = self._new_join()

    def _new_join(self) -> TwoWayJoin[RowPairs]:
        algorithm = Algorithm("in quanta", Largest(), self.kind.react)
        means = {"crowd": self.kind.crowd, "flush_fraction": 0.2, "workers": self.workers}
        join = new_join(self.directory, algorithm, self.budget_rows, PARTITIONS, **means)
        for side in join.inputs:
            side.code = self.code or side.code
        return join

    def arrive(self, *keys: list[int]) -> None:
        batches = []
        for side, new in enumerate(keys):
            first = len(self.keys[side])
            batches.append(rows(new, range(first, first + len(new))))
            self.keys[side].extend(new)
        self.found.update(arrive(self.join, *batches))
        check_invariants(self.join)

    def evict(self, *sides: int) -> None:
        """All rows of these sides."""
        self.join.evict([EvictAll(side, p) for side in sides for p in range(PARTITIONS)])

    def begin(self) -> None:
        """From now on the task is there to be done."""
        if self.kind is CLEAN_UP:
            for side in SIDES:
                self.join.end(side)
        assert self.has_work()
        self.work()
        assert [task.kind for task in self.join._tasks] == [self.kind.name], "it is in the middle of the task"

    def has_work(self) -> bool:
        return self.join.has_work(self.kind.around)

    def work(self) -> int:
        """A quantum of it; gives its bytes."""
        before = self.join.worked_bytes
        self.found.update(flat(self.join.work(self.quantum_bytes, self.kind.around)))
        check_invariants(self.join)
        return self.join.worked_bytes - before

    def restore(self, budget_rows: int | None = None) -> None:
        """Another process goes on, perhaps with another memory."""
        saved: dict[str, Any] = json.loads(json.dumps(self.join.snapshot()))
        self.join.close()
        self.budget_rows = budget_rows or self.budget_rows
        self.join = self._new_join()
        self.join.restore(saved)
        check_invariants(self.join)

    def finish(self) -> None:
        """All that is left, in quanta."""
        if self.kind is not CLEAN_UP:
            for side in SIDES:
                self.join.end(side)
        while self.join.phase != "done":
            self.found.update(flat(self.join.work(self.quantum_bytes, SILENT)))
            check_invariants(self.join)
        left, right = self.keys
        partners = defaultdict(list)
        for b, key in enumerate(right):
            partners[key].append(b)
        assert self.found == Counter((a, b) for a, key in enumerate(left) for b in partners[key])
        assert list(self.directory.iterdir()) == []


def much_on_disk(directory: Path, kind: Kind, seed: int = 0, workers: int = 1) -> Ongoing:
    """Several runs on disk of both sides that have not all met, and some rows in memory."""
    dice, ongoing = random.Random(seed), Ongoing(directory, kind, workers=workers)
    for step in range(2 * CROWD + 1):
        ongoing.arrive(some_keys(dice, 60), some_keys(dice, 60))
        ongoing.evict(step % 2)
    return ongoing


def hot_on_disk(directory: Path, kind: Kind) -> Ongoing:
    """As before, but most rows have one key: more of them than any slab holds. In memory there are others too."""
    dice, ongoing = random.Random(0), Ongoing(directory, kind)
    for step in range(2 * CROWD + 1):
        ongoing.arrive(*(some_keys(dice, 4) + [HOT] * 12 for _ in SIDES))
        ongoing.evict(step % 2)
    ongoing.arrive(*(some_keys(dice, 8) for _ in SIDES))
    return ongoing


def some_keys(dice: random.Random, n_rows: int) -> list[int]:
    return [dice.randrange(200) for _ in range(n_rows)]


# How large a quantum is


@pytest.fixture
def strides(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What a sweep had worked before each of its strides; to be emptied by who reads it."""
    noted: list[int] = []

    class Noting(Sweep):
        def __init__(self, *what: Any) -> None:
            *others, bench, begin = what

            def note() -> None:
                noted.append(self.worked_bytes)
                bench.breathe()

            super().__init__(*others, replace(bench, breathe=note), begin)

    monkeypatch.setattr(tasks, "Sweep", Noting)
    return noted


@pytest.mark.parametrize("kind", [REST, CLEAN_UP], ids=str)
def test_what_is_covered_grows_from_quantum_to_quantum_whoever_goes_on(tmp_path: Path, kind: Kind) -> None:
    """And not only when a partition is done: who waits wants to see that it goes on."""
    ongoing = much_on_disk(tmp_path, kind)
    ongoing.begin()
    covered = [ongoing.join.progress().covered_fraction]
    while ongoing.has_work():
        ongoing.work()
        covered.append(ongoing.join.progress().covered_fraction)
        if len(covered) % 3 == 0:
            ongoing.restore()
            assert ongoing.join.progress().covered_fraction == covered[-1]
    assert covered == sorted(covered)
    assert len({*covered}) > 4 * PARTITIONS
    assert covered[-1] == 1
    ongoing.finish()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("prepare", [much_on_disk, hot_on_disk])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_quantum_is_no_larger_than_asked_unless_it_is_a_single_stride(
    kind: Kind, prepare: Callable[[Path, Kind], Ongoing], strides: list[int], tmp_path: Path
) -> None:
    ongoing = prepare(tmp_path, kind)
    worked = []
    if kind is CLEAN_UP:
        for side in SIDES:
            ongoing.join.end(side)
    while ongoing.has_work():
        strides.clear()
        worked.append(ongoing.work())
        ends = [*strides[1:], strides[0] + worked[-1]]
        costs = [end - begin for begin, end in zip(strides, ends, strict=True)]
        assert worked[-1] <= QUANTUM_BYTES or len([cost for cost in costs if cost]) == 1
    assert len(worked) > 5
    assert sum(worked) > 5 * QUANTUM_BYTES
    ongoing.finish()


def test_a_large_quantum_is_a_whole_merge_and_a_disk_disk_task_is_done_merge_by_merge(tmp_path: Path) -> None:
    merges: list[Event] = []
    small, large = (much_on_disk(tmp_path, MERGE) for _ in range(2))
    large.join._state.shell._listener = merges.append
    quanta = 0
    while large.join._tasks or not quanta:
        flat(large.join.work(2**62, SILENT))
        quanta += 1
    assert quanta == sum(isinstance(event, Merged) for event in merges)
    while not small.join._tasks:
        small.work()
    while small.join._tasks:
        small.work()
    assert small.join.view().unmet_on_disk.tolist() == large.join.view().unmet_on_disk.tolist()


# What happens between two quanta


@pytest.mark.parametrize("seed", FEW_SEEDS)
@pytest.mark.parametrize("kind", WHILE_ROWS_COME, ids=str)
def test_rows_that_arrive_between_two_quanta_meet_all_others_once(kind: Kind, seed: int, tmp_path: Path) -> None:
    dice, ongoing = random.Random(seed), much_on_disk(tmp_path, kind, seed)
    ongoing.begin()
    quanta = 1
    while ongoing.has_work() and quanta < 60:
        if quanta < 15:
            ongoing.arrive(some_keys(dice, dice.randrange(9)), some_keys(dice, dice.randrange(9)))
        ongoing.work()
        quanta += 1
    assert quanta > 5
    ongoing.finish()


@pytest.mark.parametrize("seed", FEW_SEEDS)
@pytest.mark.parametrize("kind", WHILE_ROWS_COME, ids=str)
def test_rows_that_push_others_out_between_two_quanta_do_no_harm(kind: Kind, seed: int, tmp_path: Path) -> None:
    """Some of those that leave have met the disk already, up to the code at which the task is, and others have not."""
    dice, ongoing = random.Random(seed), much_on_disk(tmp_path, kind, seed)
    ongoing.restore(budget_rows=160)
    ongoing.begin()
    for _ in range(12):
        spilled = ongoing.join.view().spilled_rows.sum()
        ongoing.arrive(some_keys(dice, dice.randrange(40)), some_keys(dice, dice.randrange(40)))
        ongoing.work()
    assert ongoing.join.view().spilled_rows.sum() > spilled
    ongoing.finish()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("prepare", [much_on_disk, hot_on_disk])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_task_goes_on_in_another_process_after_any_quantum(
    kind: Kind, prepare: Callable[[Path, Kind], Ongoing], tmp_path: Path
) -> None:
    ongoing = prepare(tmp_path, kind)
    ongoing.begin()
    quanta = 1
    while ongoing.has_work():
        ongoing.restore()
        assert ongoing.work() > 0 or not ongoing.join._tasks
        quanta += 1
    assert quanta > 5
    ongoing.finish()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("prepare", [much_on_disk, hot_on_disk])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_task_goes_on_in_less_memory(kind: Kind, prepare: Callable[[Path, Kind], Ongoing], tmp_path: Path) -> None:
    """Rows leave memory in the middle of a task that has looked at some of them."""
    ongoing = prepare(tmp_path, kind)
    ongoing.begin()
    resident = ongoing.join.progress().resident_rows
    assert resident > 10
    ongoing.restore(budget_rows=resident // 2)
    assert ongoing.join.progress().resident_rows <= resident // 2
    ongoing.work()
    ongoing.restore(budget_rows=resident // 8)
    ongoing.finish()


@pytest.mark.parametrize("kind", [SCAN, MERGE, REST], ids=str)
def test_the_partition_of_a_task_that_is_half_done_at_the_end_is_cleaned_up_once(kind: Kind, tmp_path: Path) -> None:
    ongoing = much_on_disk(tmp_path, kind, workers=2)
    ongoing.begin()
    ongoing.finish()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", WHILE_ROWS_COME, ids=str)
def test_everything_at_once_between_two_quanta(kind: Kind, tmp_path: Path) -> None:
    for seed in range(6):
        dice, ongoing = random.Random(seed), much_on_disk(tmp_path, kind, seed)
        ongoing.restore(budget_rows=dice.randrange(120, 400))
        for _ in range(30):
            match dice.randrange(4):
                case 0:
                    ongoing.arrive(some_keys(dice, dice.randrange(30)), some_keys(dice, dice.randrange(30)))
                case 1:
                    ongoing.restore()
                case _:
                    ongoing.work()
        ongoing.finish()


# One key with more rows than a slab


@pytest.mark.parametrize("kind", [MERGE, REST, CLEAN_UP], ids=str)
def test_a_hot_key_is_worked_on_in_several_quanta(kind: Kind, tmp_path: Path) -> None:
    ongoing = hot_on_disk(tmp_path, kind)
    ongoing.begin()
    places = []
    while ongoing.join._tasks:
        places.append(ongoing.join._tasks[0]._begun.cursor)
        ongoing.work()
    within = [place for place in places if place.strides]
    assert len(within) > 3, "the code was never left in its middle"
    ongoing.finish()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", WHILE_ROWS_COME, ids=str)
def test_rows_of_a_hot_key_that_arrive_in_its_middle_come_once(kind: Kind, tmp_path: Path) -> None:
    ongoing = hot_on_disk(tmp_path, kind)
    ongoing.restore(budget_rows=120)
    ongoing.begin()
    for _ in range(12):
        ongoing.arrive([HOT] * 4 + [3], [HOT] * 5 + [3])
        ongoing.work()
    ongoing.finish()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("hot", SIDES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_hot_key_without_partners_finds_nothing(kind: Kind, hot: int, tmp_path: Path) -> None:
    """Blocks of the other side reach over its code and have no row of it."""
    dice, ongoing = random.Random(0), Ongoing(tmp_path, kind)
    for step in range(2 * CROWD + 2):
        others = [key for key in some_keys(dice, 12) if key != HOT]
        ongoing.arrive(*((others, [HOT] * 40) if hot else ([HOT] * 40, others)))
        ongoing.evict(*([step % 2] if step < 2 * CROWD else SIDES))
    ongoing.arrive(*(some_keys(dice, 12) for _ in SIDES))
    ongoing.begin()
    while ongoing.has_work():
        ongoing.work()
    ongoing.finish()


# Codes that lie side by side


def dense(batch: pa.RecordBatch) -> tuple[Codes, None]:
    """A slab may have one code although that is not hot."""
    return batch.column("key").to_numpy().astype(np.uint64), None


@pytest.mark.parametrize(("kind", "seed"), [(MERGE, 99), (MERGE, 133), (MERGE, 182), (REST, 1), (CLEAN_UP, 2)], ids=str)
def test_a_slab_of_one_code_goes_on_where_it_was_left(kind: Kind, seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    dice.choice([0, 1, 2])
    ongoing = Ongoing(tmp_path, kind, quantum_bytes=dice.choice([1300, 2000, 3000, 4000]), code=dense)
    domain = dice.choice([12, 30, 60])
    for step in range(5):
        ongoing.arrive(*([dice.randrange(domain) for _ in range(dice.randrange(5, 30))] for _ in SIDES))
        ongoing.evict(step % 2)
    if kind is CLEAN_UP:
        for side in SIDES:
            ongoing.join.end(side)
    while ongoing.has_work():
        ongoing.restore()
        ongoing.work()
    ongoing.finish()
