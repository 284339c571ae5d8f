"""Rows that nothing will match any more are forgotten while inputs go on: late rows alone are lost, state is level."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from run_building import files_in
from sooner.budget import Budget
from sooner.how import KINDS, kind_of
from sooner.kernels.ranges import Near
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.policies.view import BUSY, SILENT, Surroundings
from sooner.sides import SIDES
from sooner.testing.invariants import check_invariants

BATCHES, ROWS, STEP = 30, 40, 100  # values rise by a step with each batch
LATENESS = 400
WITHIN = (-20, 30)
PADDING = "x" * 500
LITTLE = 60_000  # bytes: what is alive does not fit
PLENTY = 10**9
SPILLING = ["rpj", "xjoin", "hmj", "pmj", "diner"]
SCHEMA = pa.schema([("v", pa.int64()), ("g", pa.int64()), ("id", pa.int64()), ("padding", pa.string())])


def batches(seed: int, groups: int) -> list[pa.RecordBatch]:
    """Some rows come more than LATENESS behind."""
    dice = np.random.default_rng(seed)
    return [
        pa.record_batch(
            [
                pa.array(number * STEP + dice.integers(-LATENESS - 60, STEP, ROWS), mask=dice.random(ROWS) < 0.02),
                pa.array(dice.integers(0, max(groups, 1), ROWS)),
                pa.array(np.arange(ROWS) + number * ROWS),
                pa.array([PADDING] * ROWS),
            ],
            schema=SCHEMA,
        )
        for number in range(BATCHES)
    ]


def new_join(folder: Path, plan: TwoWayPlan, memory: int) -> TwoWayJoin[pa.RecordBatch]:
    schemas = [SCHEMA] * len(SIDES)
    storage = Storage(3, lambda schema: files_in(folder, schema, 4_096))
    return plan.make(INPUTS, schemas, storage, Means(Budget(memory).account("join"), crowd=8))


def in_time(batches: list[pa.RecordBatch]) -> pa.Table:
    """Without the rows that are too far behind what came before their batch."""
    kept, newest = [], -(10**9)
    for batch in batches:
        values = batch["v"].fill_null(10**9).to_numpy()
        kept.append(batch.filter(pa.array(values >= newest - LATENESS)))
        newest = max(
            newest, *(value for value in batch["v"].to_pylist() if value is not None and value >= newest - LATENESS)
        )
    return pa.Table.from_batches(kept)


def ids(results: Iterator[pa.RecordBatch]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for batch in results:
        found.update(
            zip(*(batch[name].to_pylist() for name in batch.schema.names if name.startswith("id")), strict=True)
        )
    return found


def work(join: TwoWayJoin[pa.RecordBatch], around: Surroundings) -> Counter[Any]:
    found: Counter[Any] = Counter()
    while join.has_work(around):
        found.update(ids(join.work(20_000, around)))
    return found


@pytest.mark.one_in(12)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize(("groups", "memory"), [(0, PLENTY), (3, LITTLE), (0, LITTLE), (500, LITTLE)])
def test_nothing_but_late_rows_is_lost_and_the_state_is_level(
    tmp_path: Path, how: str, groups: int, memory: int
) -> None:
    seed = [*KINDS].index(how) + groups
    keys, algorithm = ("g",) if groups else (), ALGORITHMS[SPILLING[seed % len(SPILLING)]]
    plan = TwoWayPlan(keys, keys, ("_left", "_right"), algorithm, kind_of(how), Near("v", "v", WITHIN), LATENESS)
    lefts, rights = batches(seed, groups), batches(seed + 1, groups)
    join, found, held, at_half = new_join(tmp_path, plan, memory), Counter[Any](), [], Counter[Any]()
    for number, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        found.update(ids(join.arrive([[left], [right]], now=float(number))))
        found.update(work(join, BUSY))
        if number % 7 == 0:
            found.update(work(join, SILENT))
        if number % 9 == 4:  # it goes on elsewhere
            saved, join = join.snapshot(), new_join(tmp_path, plan, memory)
            join.restore(saved)
        check_invariants(join)
        progress = join.progress()
        held.append(progress.resident_rows + progress.spilled_rows)
        at_half = at_half or (found.copy() if number == BATCHES // 2 else at_half)
    spilled = join.progress().spilled_rows
    for side in SIDES:
        join.end(side)
    while join.phase != "done":
        found.update(ids(join.work(10**6, SILENT)))

    kept = [in_time(some) for some in (lefts, rights)]
    late = tuple(BATCHES * ROWS - one.num_rows for one in kept)
    assert min(late) > 10, "no row came too late"
    assert join.progress().late_rows == late
    names = "l.id" if how in ("semi", "anti") else "l.id, r.id"
    condition = f"r.v - l.v BETWEEN {WITHIN[0]} AND {WITHIN[1]}" + (" AND l.g = r.g" if groups else "")
    with duckdb.connect() as connection:
        for name, table in zip("lr", kept, strict=True):
            connection.register(name, table.drop(["padding"]))
        expected = Counter(connection.sql(f"SELECT {names} FROM l {how} JOIN r ON {condition}").fetchall())
    assert found == expected, f"seed {seed}"
    alive = 2 * ROWS * (LATENESS + 60 + STEP + WITHIN[1] - WITHIN[0]) / STEP
    assert max(held) < 2.5 * alive
    assert max(held[BATCHES // 2 :]) < 1.3 * max(held[BATCHES // 4 : BATCHES // 2]) + ROWS
    assert (spilled > 0) == (memory == LITTLE)
    alone = [row for row in at_half if None in row]
    assert alone or how not in ("left", "right", "full"), "rows that match nothing come while inputs go on"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("memory", [PLENTY, LITTLE])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_rows_are_kept_so_long_after_their_arrival(tmp_path: Path, how: str, memory: int) -> None:
    """A key comes twice on either side: soon, which is found, and long after it was forgotten, which is not."""
    retention = 5.0
    plan = TwoWayPlan(
        ("g",), ("g",), ("_left", "_right"), ALGORITHMS["rpj"], kind_of(how), retention=dt.timedelta(seconds=retention)
    )
    join, held, found = new_join(tmp_path, plan, memory), [], Counter[Any]()
    for number in range(60):
        left, right = (rows_with_keys(number - later) for later in (0, 3))
        found.update(ids(join.arrive([[left], [right]], now=float(number))))
        found.update(work(join, BUSY))
        check_invariants(join)
        held.append(join.progress().resident_rows + join.progress().spilled_rows)
    pairs = {row for row in found if None not in row}
    assert {(number, number) for number in range(57 * ROWS)} <= pairs, "within the retention"
    assert max(held) < ROWS * (2 * retention + 2) * 2.5
    assert max(held[30:]) <= 1.2 * max(held[:30])
    if how == "left":
        assert found.total() == len(pairs), "all of them matched"


def rows_with_keys(number: int) -> pa.RecordBatch:
    keys = np.arange(ROWS) + number * ROWS
    return pa.record_batch([pa.array(keys), pa.array(keys), pa.array(keys), pa.array([PADDING] * ROWS)], schema=SCHEMA)
