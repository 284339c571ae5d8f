"""Random schedules for a two-way join, and a driver that holds every promise to account while it runs one."""

import atexit
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from sooner.budget import Budget
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.kernels.matching import Codes
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event
from sooner.operators.sorted_runs import CodeRows, coder
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.pairs import Pairs
from sooner.runs.files import RunFiles
from sooner.runs.ledger import Mask
from sooner.runs.run import HELPER_BYTES
from sooner.sides import LEFT, RIGHT, SIDES

SCHEMA = pa.schema([("key", pa.int64()), ("row", pa.int64())])
ROW_BYTES = 8 + 8 + HELPER_BYTES  # the two columns, and what a run adds
PARTITIONS = 3
_DATABASE = [duckdb.connect()]  # to open one takes longer than most joins here
atexit.register(lambda: _DATABASE.pop().close())  # one that is still open in the end makes DuckDB complain


@dataclass(frozen=True)
class Batch:
    """Keys that arrive together on each side; a key of None is null."""

    left: list[int | None]
    right: list[int | None]


@dataclass(frozen=True)
class Silence:
    """The sources are silent long enough for so many tasks."""

    tasks: int


@dataclass(frozen=True)
class Schedule:
    steps: list[Batch | Silence]
    budget_rows: int
    cut_after: int | None = None  # save and go on after so many steps


def schedules() -> st.SearchStrategy[Schedule]:
    # Squaring small integers skews the keys: some have many duplicates, some none.
    keys = st.one_of(st.integers(0, 3), st.integers(0, 7).map(lambda k: k * k), st.none())
    side = st.lists(keys, min_size=2, max_size=9)
    step = st.one_of(st.builds(Batch, side, side), st.builds(Silence, st.integers(1, 4)))
    return st.builds(
        Schedule,
        st.lists(step, min_size=6, max_size=14),
        st.integers(18, 36),
        st.one_of(st.none(), st.integers(0, 13)),
    )


def dense_schedule(seed: int) -> Schedule:
    """A short schedule in which much happens: several keys in each partition, little memory, many flushes."""
    dice = random.Random(seed)

    def some_keys() -> list[int | None]:
        return [dice.randrange(12) for _ in range(dice.randrange(4, 10))]

    steps = [
        Silence(dice.randrange(1, 4)) if dice.random() < 0.3 else Batch(some_keys(), some_keys()) for _ in range(18)
    ]
    return Schedule(list(steps), budget_rows=dice.randrange(22, 40), cut_after=dice.choice([None, 3, 9]))


def wide_schedule(seed: int) -> Schedule:
    """Larger batches and more of them than hypothesis would make, from one number that names them all.

    Keys are skewed; a quarter of the steps are silences; memory holds a small part of the rows.
    """
    dice = random.Random(seed)
    domain = dice.choice([5, 40, 400])

    def some_keys() -> list[int | None]:
        n_rows = dice.choice([0, 10, 40, 90])
        return [None if dice.random() < 0.03 else int(domain * dice.random() ** 2) for _ in range(n_rows)]

    steps: list[Batch | Silence] = []
    for _ in range(dice.randrange(15, 25)):
        silent = dice.random() < 0.25
        steps.append(Silence(dice.choice([1, 5, 20])) if silent else Batch(some_keys(), some_keys()))
    return Schedule(steps, budget_rows=dice.randrange(190, 400), cut_after=dice.choice([None, None, 5]))


def batches_of(schedule: Schedule) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The batches of each side, with rows numbered."""
    both: tuple[list[pa.RecordBatch], list[pa.RecordBatch]] = ([], [])
    counts = [0, 0]
    for step in schedule.steps:
        for side in SIDES:
            keys = [] if isinstance(step, Silence) else (step.left, step.right)[side]
            rows = range(counts[side], counts[side] + len(keys))
            both[side].append(pa.record_batch([pa.array(keys, pa.int64()), pa.array(rows, pa.int64())], schema=SCHEMA))
            counts[side] += len(keys)
    return both


def oracle(schedule: Schedule) -> Counter[tuple[int, int]]:
    """DuckDB's answer, as numbers of left and right rows."""
    left, right = (pa.Table.from_batches(batches, SCHEMA) for batches in batches_of(schedule))
    [database] = _DATABASE
    database.register("l", left)
    database.register("r", right)
    return Counter(database.execute("select l.row, r.row from l join r on l.key = r.key").fetchall())


def colliding(code: CodeRows) -> CodeRows:
    """Codes with so few bits that different keys share them."""

    def few(batch: pa.RecordBatch) -> tuple[Codes, Mask | None]:
        codes, valid = code(batch)
        return codes & np.uint64(0xC000_0000_0000_0000), valid

    return few


RowPairs = list[tuple[int, int]]


def row_numbers(pairs: Pairs) -> RowPairs:
    left = pairs.left.rows.column("row").to_numpy()[pairs.at_left].tolist()
    right = pairs.right.rows.column("row").to_numpy()[pairs.at_right].tolist()
    return list(zip(left, right, strict=True))


@dataclass
class Driver:
    """Runs one algorithm over a schedule, in a spill directory of its own."""

    algorithm: Algorithm
    schedule: Schedule
    recode: Callable[[CodeRows], CodeRows] | None = None
    workers: int = 1
    compacting: bool = False
    events: list[Event] = field(default_factory=list)
    results: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> "Driver":
        with tempfile.TemporaryDirectory() as directory:
            self._directory = directory
            join = self._new_join()
            for number, step in enumerate(self._steps()):
                if number == self.schedule.cut_after:
                    join = self._saved_and_restored(join)
                self._take(join, step(join))
            join.end(LEFT)
            join.end(RIGHT)
            while join.phase != "done":
                if self.schedule.cut_after is not None:
                    join = self._saved_and_restored(join)
                self._take(join, join.clean_up())
            assert join.statistics.results == len(self.results)
            assert join.budget.used_bytes == 0
            assert join.statistics.covered_fraction == 1
            self.left_behind = pafs.LocalFileSystem().get_file_info(pafs.FileSelector(directory))
        return self

    def _keys(self) -> KeyPlan:
        plan = plan_keys(SCHEMA, SCHEMA, ["key"], ["key"])
        return plan if self.recode is None else KeyPlan(plan.left, plan.right, plan.types, exact=False)

    def _coders(self) -> tuple[CodeRows, CodeRows]:
        recode = self.recode or (lambda code: code)
        return recode(coder(self._keys(), LEFT)), recode(coder(self._keys(), RIGHT))

    def _new_join(self) -> TwoWayJoin[RowPairs]:
        files = [RunFiles(pafs.LocalFileSystem(), self._directory, SCHEMA, block_bytes=200) for _ in SIDES]
        budget = Budget(self.schedule.budget_rows * (ROW_BYTES + 1))
        return TwoWayJoin(
            self._keys(),
            self._coders(),
            (files[0], files[1]),
            self.algorithm,
            budget,
            PARTITIONS,
            row_numbers,
            listener=self.events.append,
            workers=self.workers,
        )

    def _saved_and_restored(self, join: TwoWayJoin[RowPairs]) -> TwoWayJoin[RowPairs]:
        plain: dict[str, Any] = json.loads(json.dumps(join.snapshot()))
        fresh = self._new_join()
        fresh.restore(plain)
        return fresh

    def _steps(self) -> Iterator[Callable[[TwoWayJoin[RowPairs]], Iterator[RowPairs]]]:
        left, right = batches_of(self.schedule)
        for now, step in enumerate(self.schedule.steps):
            if isinstance(step, Silence):
                yield lambda join, tasks=step.tasks: _react(join, tasks)
            else:
                yield lambda join, now=now: join.arrive([left[now]], [right[now]], float(now))

    def _take(self, join: TwoWayJoin[RowPairs], results: Iterator[RowPairs]) -> None:
        for pairs in results:
            self.results += pairs
            assert join.budget.used_bytes <= join.budget.limit_bytes
        if self.compacting:
            join.compact()
        resident = int(join.statistics.resident_bytes.sum())
        assert resident == join.budget.used_bytes
        assert join.budget.peak_bytes <= join.budget.limit_bytes


def _react(join: TwoWayJoin[RowPairs], tasks: int) -> Iterator[RowPairs]:
    for _ in range(tasks):
        task = join.choose_task()
        if task is not None:
            yield from join.perform(task)
