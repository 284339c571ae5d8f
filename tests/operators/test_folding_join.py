"""The join that adds up its pairs: its sums are those of pairs that are spelled out, however it got there."""

import gc
import json
import statistics
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from sooner.asked.joins import equi_join
from sooner.budget import Budget
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.estimation.estimate import Estimate
from sooner.estimation.question import question_of
from sooner.estimation.reading_off import estimate_of
from sooner.estimation.tags import InTurn
from sooner.estimation.workings import Workings, workings_of
from sooner.named_algorithms import ALGORITHMS, find_algorithm
from sooner.operators.folding.join import FoldingJoin, require_sampling
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.view import SILENT
from sooner.runs.formats.files import RunFiles
from sooner.sides import SIDES
from sooner.testing.invariants import check_invariants

SUMS: dict[str, Any] = {"n": "count", "s": ("sum", "x * y"), "a": ("avg", "x"), "c": ("count", "x")}
SPREADS: dict[str, Any] = {
    "n": "count",
    "s": ("sum", "x * y"),
    "v": ("variance", "x + 4000000000000000000"),
    "d": ("variance", "x + 1e15"),
}
MIXED: dict[str, Any] = {"n": "count", "s": ("sum", "abs(x - y)")}
PLENTY, LITTLE = 2**30, 20_000
ROWS, PIECE = 600, 60


def rows(dice: np.random.Generator, side: str, n: int, keys: Any) -> pa.RecordBatch:
    numbers = dice.integers(0, 60, n)
    numbers[: n // 5] = 7  # hot
    dice.shuffle(numbers)
    key = pa.array([None if number == 3 else keys(int(number)) for number in numbers])
    value = pa.array([None if one == 5 else int(one) for one in dice.integers(0, 100, n)], pa.int64())
    name, group = ("x", "g") if side == "left" else ("y", "h")
    return pa.record_batch({"k": key, name: value, group: pa.array(dice.choice(["a", "b"], n))})


class World:
    """Some rows of both sides, and a question about them."""

    def __init__(
        self,
        seed: int,
        aggregates: dict[str, Any],
        where: str | None,
        folder: Path,
        memory_bytes: int,
        keys: Any = int,
        algorithm: str = "pr_join",
    ) -> None:
        self.dice = np.random.default_rng(seed)
        self.tables = [rows(self.dice, side, ROWS, keys) for side in ("left", "right")]
        self.where, self.is_mixed = where, aggregates is MIXED
        join = equi_join("k", None, None, None, find_algorithm(algorithm))
        schemas = [table.schema for table in self.tables]
        question = question_of(aggregates, ["g", "h"], where, join.output(schemas))
        self.workings: Workings = workings_of(question, schemas, (("k",), ("k",)), joined_columns(join, schemas))
        self.plan = FoldingPlan(("k",), ("k",), join.algorithm, self.workings)
        self.folder, self.memory_bytes = folder, memory_bytes

    @contextmanager
    def operator(self) -> Iterator[FoldingJoin]:
        schemas = [one.schema for one in self.workings.sides]
        storage = Storage(4, lambda schema: RunFiles(pafs.LocalFileSystem(), str(self.folder), schema, 500))
        means = Means(Budget(self.memory_bytes).account("join"), crowd=4)
        operator = self.plan.make(INPUTS, schemas, storage, means)
        yield operator
        operator.close()

    def pieces(self) -> list[list[list[pa.RecordBatch]]]:
        """What arrives, call by call: of both sides, with tallies."""
        return [
            [
                one.prepared(table.slice(begin, PIECE), InTurn(begin, PIECE))
                for one, table in zip(self.workings.sides, self.tables, strict=True)
            ]
            for begin in range(0, ROWS, PIECE)
        ]

    def read_off(self, operator: FoldingJoin) -> Estimate:
        exact = operator.phase == "done"
        reckoning = operator.folds.reckoning([ROWS, ROWS], 0.95, exact=exact)
        return estimate_of(self.workings, operator.folds.groups, reckoning, [0, 0], [ROWS, ROWS], 0.0, exact=exact)

    def truth(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Count and sum of each group, the slow way."""
        lefts, rights = (table.to_pylist() for table in self.tables)
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for left in lefts:
            for right in rights:
                if left["k"] is None or left["k"] != right["k"] or not self.holds(left["x"], right["y"]):
                    continue
                n, total = found.get((left["g"], right["h"]), (0, 0))
                found[left["g"], right["h"]] = n + 1, total + self.value(left["x"], right["y"])
        return found

    def spreads(self) -> dict[tuple[str, str], float]:
        """The variance of x in each group, the slow way."""
        lefts, rights = (table.to_pylist() for table in self.tables)
        found: dict[tuple[str, str], list[int]] = {}
        for left in lefts:
            for right in rights:
                alike = left["k"] is not None and left["k"] == right["k"]
                if alike and left["x"] is not None and self.holds(left["x"], right["y"]):
                    found.setdefault((left["g"], right["h"]), []).append(left["x"])
        return {key: float(statistics.variance(map(Fraction, values))) for key, values in found.items()}

    def holds(self, x: int | None, y: int | None) -> bool:
        if self.where is None:
            return True
        if "+" in self.where:
            return x is not None and y is not None and x + y > 50
        return x is not None and x > 20 and y is not None and y < 80

    def value(self, x: int | None, y: int | None) -> int:
        if x is None or y is None:
            return 0
        return abs(x - y) if self.is_mixed else x * y


def finish(operator: FoldingJoin, quantum_bytes: int = 8_000) -> None:
    for side in (0, 1):
        operator.end(side)
    while operator.phase != "done":
        list(operator.work(quantum_bytes, SILENT))


CASES = {
    "products": (SUMS, None, int),
    "products, filtered": (SUMS, "x > 20 AND y < 80", int),
    "texts as keys": (SUMS, None, lambda number: f"key {number}"),
    "expressions over both": (MIXED, None, int),
    "a condition over both": (SUMS, "x + y > 50", int),
    "deviations": (SPREADS, "x > 20 AND y < 80", int),
    "deviations over both": (SPREADS, "x + y > 50", int),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("memory_bytes", [PLENTY, LITTLE])
@pytest.mark.parametrize("algorithm", ["pr_join", "ripple", "grace"])
def test_sums_are_those_of_all_pairs(case: str, memory_bytes: int, algorithm: str, tmp_path: Path) -> None:
    aggregates, where, keys = CASES[case]
    world = World(3, aggregates, where, tmp_path, memory_bytes, keys, algorithm)
    with world.operator() as operator:
        for piece in world.pieces():
            list(operator.arrive(piece, 0.0))
            check_invariants(operator._join)
            assert not world.read_off(operator).exact
        finish(operator)
        found = world.read_off(operator)
    assert found.exact
    require_truth(found, world)


def require_truth(found: Estimate, world: World) -> None:
    assert {key: (group["n"].value, group["s"].value) for key, group in found.values.items()} == world.truth()
    for name in {"v", "d"} & {*found.names}:
        assert {key: group[name].value for key, group in found.values.items()} == world.spreads()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("memory_bytes", [PLENTY, LITTLE])
def test_it_goes_on_from_any_snapshot(case: str, memory_bytes: int, tmp_path: Path) -> None:
    """Also from one in the middle of a task, with sums that are pending."""
    aggregates, where, keys = CASES[case]
    world = World(5, aggregates, where, tmp_path, memory_bytes, keys)
    state: dict[str, Any] | None = None
    for piece in [*world.pieces(), None]:
        with world.operator() as operator:
            if state is not None:
                operator.restore(json.loads(json.dumps(state)))
            if piece is not None:
                list(operator.arrive(piece, 0.0))
                list(operator.work(8_000, SILENT))
            else:
                for side in (0, 1):
                    operator.end(side)
            state = operator.snapshot()
    for _ in range(1_000):
        with world.operator() as operator:
            operator.restore(json.loads(json.dumps(state)))
            if operator.phase == "done":
                break
            list(operator.work(8_000, SILENT))
            state = operator.snapshot()
    found = world.read_off(operator)
    require_truth(found, world)


def test_rows_with_keys_are_counted_as_long_as_the_other_side_may_have_more(tmp_path: Path) -> None:
    world = World(5, SUMS, None, tmp_path, PLENTY)
    first, second, third = world.pieces()[:3]
    with world.operator() as operator:
        list(operator.arrive(first, 0.0))
        state = operator.snapshot()
    with world.operator() as operator:
        operator.restore(json.loads(json.dumps(state)))
        list(operator.arrive(second, 0.0))
        counted = operator.folds.keys.sum(axis=1)
        with_keys = [
            sum(batch.num_rows - batch.column("k").null_count for batch in [*first[at], *second[at]]) for at in (0, 1)
        ]
        operator.end(1)
        list(operator.arrive([third[0], []], 0.0))
        assert counted.tolist() == with_keys == operator.folds.keys.sum(axis=1).tolist()


def test_early_estimates_are_of_rectangles(tmp_path: Path) -> None:
    """With little memory too: what they say of a count is near the truth, with intervals around it."""
    world = World(7, SUMS, None, tmp_path, LITTLE)
    truth = sum(n for n, _ in world.truth().values())
    with world.operator() as operator:
        for piece in world.pieces()[:8]:
            list(operator.arrive(piece, 0.0))
        assert operator.folds.parts is not None, "memory was full"
        found = world.read_off(operator)
    counts = [group["n"] for group in found.values.values()]
    assert sum(float(one.value) for one in counts) == pytest.approx(truth, rel=0.3)
    assert all(one.low is not None and one.low < one.value < one.high for one in counts)


@pytest.mark.parametrize("name", [name for name, one in ALGORITHMS.items() if one.waits == "never"])
def test_what_is_no_random_sample_is_refused(name: str) -> None:
    with pytest.raises(InvalidJoin, match="no interval can be given; choose 'pr_join'"):
        require_sampling(ALGORITHMS[name])


def test_too_many_groups_for_the_memory_are_refused(tmp_path: Path) -> None:
    world = World(9, SUMS, None, tmp_path, LITTLE)
    world.tables[0] = world.tables[0].set_column(2, "g", pa.array([f"group {row}" for row in range(ROWS)]))
    world.tables[1] = world.tables[1].set_column(2, "h", pa.array([f"group {row}" for row in range(ROWS)]))
    with (
        world.operator() as operator,
        pytest.raises(BudgetTooSmall, match=r"groups so far, whose sums take .* each; give memory="),
    ):
        for piece in world.pieces():
            list(operator.arrive(piece, 0.0))


def test_runs_that_blocks_have_met_are_free_when_they_leave_memory(tmp_path: Path) -> None:
    world = World(1, SUMS, None, tmp_path, 20_000)
    world.plan = replace(world.plan, guided=0)
    with world.operator() as operator:
        partitions = operator.inputs[1].partitions
        met: list[weakref.ref[Any]] = []
        for left, right in world.pieces():
            list(operator.arrive([[], right], 0.0))
            list(operator.arrive([left, []], 0.0))
            met += [weakref.ref(run.codes) for partition in partitions for run in partition.resident]
        assert any(partition.spilled for partition in partitions)
        gc.collect()
        there = {id(run.codes) for partition in partitions for run in partition.resident}
        assert {id(codes) for ref in met if (codes := ref()) is not None} <= there


# What a rectangle says that it is of

MORE_THAN_THERE_IS = 2 * PLENTY


@pytest.fixture
def counting(tmp_path: Path) -> World:
    return World(11, {"n": "count"}, None, tmp_path, LITTLE)


def require_rectangles(world: World, operator: FoldingJoin) -> list[list[int]]:
    """Of how many first rows of both sides each of them is."""
    rectangles = operator.folds.rectangles(done=False)
    first = [[int(rows.sum()) for rows in counts] for _, counts in rectangles]
    for p, (sums, _) in enumerate(rectangles):
        left, right = (codes_of(world, operator, side, first[p][side], p, len(first)) for side in SIDES)
        assert sums.wholes[..., 0].sum() == sum(n * right[code] for code, n in left.items()), f"{p} of {first}"
    return first


def codes_of(world: World, operator: FoldingJoin, side: int, first: int, p: int, partitions: int) -> Counter[int]:
    """Of the first rows of a side, those in this one of so many partitions."""
    input_ = operator.inputs[side]
    codes, wanted = input_.code(world.tables[side].slice(0, first))
    codes = codes if wanted is None else codes[wanted]
    places = np.searchsorted(input_.bounds, codes, side="right")
    return Counter(codes[places == p].tolist() if partitions > 1 else codes.tolist())


def test_rectangles_of_partitions_say_what_had_come_when_they_were_whole(counting: World) -> None:
    """Memory becomes full in the middle of a piece; tasks begin and end, and pieces come in the middle of them."""
    seen = []
    with counting.operator() as operator:
        for piece in counting.pieces():
            list(operator.arrive(piece, 0.0))
            seen.append(require_rectangles(counting, operator))
            list(operator.work(1_000, SILENT))
            seen.append(require_rectangles(counting, operator))
    assert any(len({*map(tuple, some)}) > 1 for some in seen), "no partition was ahead of another"


@pytest.mark.parametrize("guided", [None, 0])
def test_what_comes_after_more_was_expected_than_there_is_room_for_is_in_none(
    counting: World, guided: int | None
) -> None:
    counting.plan = replace(counting.plan, guided=guided)
    first, *others = counting.pieces()
    with counting.operator() as operator:
        list(operator.arrive([[], first[1]], 0.0))
        list(operator.arrive([first[0], []], 0.0))
        before = require_rectangles(counting, operator)
        operator.expect(MORE_THAN_THERE_IS)
        for piece in others[:3]:
            list(operator.arrive(piece, 0.0))
        assert {*map(tuple, require_rectangles(counting, operator))} == {*map(tuple, before)}
