"""Steps that forget rows are pure too: the same set of rows and the same word of the driver give the same state."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from join_steps import Arriving, Lane, meaning, nothing, pairs_in, plan_of, run, same, summary_of, with_packs
from sooner.how import KINDS
from sooner.kernels.ranges import Near
from sooner.named_algorithms import ALGORITHMS
from sooner.sides import SIDES
from sooner.spark.step.plan import StepPlan

STEPS, ROWS, RISE = 14, 40, 100  # values rise with each step
LATENESS = 250
SCHEMAS = [pa.schema([("k", pa.int64()), ("v", pa.int64()), (name, pa.int64())]) for name in "ab"]
SOME = [name for name in ALGORITHMS if name != "symmetric_hash"]


def rows(dice: np.random.Generator, step: int, side: int) -> pa.Table:
    values = step * RISE + dice.integers(-LATENESS - 50, RISE, ROWS)
    numbers = np.arange(ROWS) + step * ROWS
    return pa.table([pa.array(dice.integers(0, 6, ROWS)), pa.array(values), pa.array(numbers)], schema=SCHEMAS[side])


def attempts_agree(plan: StepPlan, steps: list[Arriving], dice: random.Random) -> list[int]:
    """How many rows are held after each step."""
    lane, held = Lane(plan), []
    for arriving in steps:
        lane.plan = with_packs(plan, *(side for side in SIDES if dice.random() < 0.5))
        version, found = lane.version, lane.step(arriving)
        first = meaning(plan, version)
        for _ in range(2):
            again = run(with_packs(plan, *SIDES[: dice.randrange(3)]), version, arriving, seed=dice.randrange(10**6))
            assert same(pairs_in(again), found)
            assert meaning(plan, version) == first
        told = summary_of(plan, version)["progress"]
        held.append(sum(told["resident_rows_by_side"]) + sum(told["spilled_rows_by_side"]))
    return held


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(len(KINDS)))
def test_lateness(number: int, tmp_path: Path) -> None:
    dice, how = np.random.default_rng(number), [*KINDS][number]
    near = Near("v", "v", (-20, 30))
    what = {"how": how, "near": near, "lateness": LATENESS, "algorithm": SOME[number % len(SOME)]}
    plan = plan_of(*SCHEMAS, tmp_path, **what)
    tables = [[rows(dice, step, side) for side in SIDES] for step in range(STEPS)]
    newest = [
        [max(t[side]["v"].to_numpy().max() for t in tables[: step + 1]) for side in SIDES] for step in range(STEPS)
    ]
    told = [(None, None), *(tuple(map(int, values)) for values in newest)]
    steps = [Arriving(*table, newest=told[step]) for step, table in enumerate(tables)]
    held = attempts_agree(plan, steps, random.Random(number))
    assert max(held[STEPS // 2 :]) <= 1.3 * max(held[: STEPS // 2]) < STEPS * ROWS, "the state is level"
    assert sum(summary_of(plan, STEPS - 1)["late_rows"]) > 0


def test_retention(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    plan = plan_of(*SCHEMAS, tmp_path, how="left", retention=timedelta(seconds=3))
    steps = [Arriving(*(rows(dice, step, side) for side in SIDES), seconds=1e9 + step) for step in range(STEPS)]
    held = attempts_agree(plan, steps, random.Random(1))
    assert max(held[STEPS // 2 :]) <= 1.2 * max(held[: STEPS // 2]) + ROWS


def test_time_passes_where_no_row_comes(tmp_path: Path) -> None:
    """A partition without rows forgets what it has, and gives the rows that matched nothing."""
    plan = plan_of(*SCHEMAS, tmp_path, how="left", retention=timedelta(seconds=3))
    left, right = (rows(np.random.default_rng(1), 0, side) for side in SIDES)
    lane, silence = Lane(plan), replace(nothing(plan), seconds=1e9 + 2)
    assert not len(lane.step(Arriving(left, right.slice(0, 0), seconds=1e9)))
    assert not len(lane.step(silence))
    assert len(lane.step(replace(silence, seconds=1e9 + 4))) == ROWS
    assert not len(lane.step(replace(silence, seconds=1e9 + 60)))
    assert summary_of(plan, 3)["progress"]["resident_rows_by_side"] == [0, 0]


# Against a model: rows that come too late are left out, and all others are joined as if nothing were ever forgotten


def in_order(step: int, side: int) -> int:  # noqa: ARG001 - the contract
    return step * RISE


def in_reverse(step: int, side: int) -> int:  # noqa: ARG001
    return -step * RISE


def one_far_ahead(step: int, side: int) -> int:
    return step * RISE + side * 1_000_000 * (step > STEPS // 2)


def to_and_fro(step: int, side: int) -> int:
    return (7 * step + 3 * side) % STEPS * RISE


def joined(tables: list[list[pa.Table]], how: str) -> set[tuple[int, int]]:
    """Pairs by their numbers; -1 where there is none."""
    left, right = ([row for step in tables for row in step[side].to_pylist()] for side in SIDES)
    pairs = {
        (one["a"], other["b"])
        for one in left
        for other in right
        if one["k"] == other["k"] and -20 <= other["v"] - one["v"] <= 30
    }
    alone = {(one["a"], -1) for one in left} - {(a, -1) for a, _ in pairs}
    others = {(-1, one["b"]) for one in right} - {(-1, b) for _, b in pairs}
    return {"inner": pairs, "left": pairs | alone, "full": pairs | alone | others, "anti": alone}[how]


ORDERS = [in_order, in_reverse, one_far_ahead, to_and_fro]
HOWS = ["inner", "left", "full", "anti"]


@pytest.mark.parametrize(
    ("order", "how"),
    [
        pytest.param(order, how, marks=[] if ORDERS.index(order) == HOWS.index(how) else pytest.mark.long)
        for order in ORDERS
        for how in HOWS
    ],
)
def test_what_is_not_late_is_joined_whatever_the_order(
    order: Callable[[int, int], int], how: str, tmp_path: Path
) -> None:
    """Each step is a process of its own as far as the state goes, and is tried twice."""
    dice = np.random.default_rng(STEPS)
    plan = plan_of(*SCHEMAS, tmp_path, how=how, near=Near("v", "v", (-20, 30)), lateness=LATENESS)
    lane, in_time, late = Lane(plan), list[list[pa.Table]](), [0, 0]
    newest: list[int | None] = [None, None]
    for step in range(STEPS):
        tables = [rows(dice, 0, side) for side in SIDES]
        for side, table in enumerate(tables):
            values = pa.array(order(step, side) + dice.integers(0, RISE, ROWS))
            numbers = pa.array(np.arange(ROWS) + step * ROWS)
            tables[side] = table.set_column(1, "v", values).set_column(2, "ab"[side], numbers)
        arriving = Arriving(*tables, newest=(newest[0], newest[1]))
        run(plan, step, arriving, seed=step)
        lane.step(arriving)
        kept = []
        for side, table in enumerate(tables):
            floor, told = None if newest[side] is None else newest[side] - LATENESS, newest[side]
            kept.append(table if floor is None else table.filter(pa.compute.greater_equal(table["v"], floor)))
            late[side] += ROWS - len(kept[side])
            highest = pa.compute.max(table["v"]).as_py()
            newest[side] = highest if told is None else max(told, highest)
        in_time.append(kept)
    lane.end()
    assert summary_of(plan, lane.version - 1)["late_rows"] == late
    found = [divmod(int(pair), 2**32) for pair in pairs_in(lane.results)]
    assert sorted((left - 1, right - 1) for left, right in found) == sorted(joined(in_time, how))
