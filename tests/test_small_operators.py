"""Operators that nobody made the engines for run in process and in the lab, by the contract alone."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from guarded import GuardedJoin, GuardedPlan
from small_worlds import small_laboratory
from sooner.lab.races.rpj import PANELS, PARTITIONS
from sooner.lab.simulator import simulate_operator
from sooner.lab.subject import ROW_BYTES, SCHEMA
from sooner.lab.traces import Pushed, Trace
from sooner.local.arguments import Settings
from sooner.local.query import Query
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.events import Flushed
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means, Port
from sooner.sources.arrival_patterns import Fixed
from sooner.sources.opening import open_source
from sooner.sources.pacing import paced
from sooner.trace import Entry
from union import DistinctUnion, UnionPlan

NAMES = ("first", "second", "third")


def tables(rows: int, keys: int) -> list[pa.Table]:
    rng = np.random.default_rng(3)
    return [pa.table({"k": rng.integers(0, keys, rows), "row": np.arange(rows)}) for _ in NAMES]


@pytest.mark.parametrize("memory_bytes", [2**20, 2**30])
def test_in_process(memory_bytes: int, tmp_path: Path) -> None:
    inputs = tables(50_000, 60_000)
    sources = [open_source(table, name) for table, name in zip(inputs, NAMES, strict=True)]
    entries: list[Entry] = []
    plan = UnionPlan("k")
    query = Query(plan, sources, Settings(memory_bytes, 4, 1, tmp_path), NAMES, entries.append)
    found = Counter(query.to_table()["k"].to_pylist())
    assert found == Counter({key for table in inputs for key in table["k"].to_pylist()})
    kinds = {type(entry.event).__name__ for entry in entries}
    assert ("Flushed" in kinds) == (memory_bytes < 2**30)
    assert query.progress.phase == "done"
    assert not list(tmp_path.iterdir())


def allowed_pairs(left: pa.Table, right: pa.Table, allowed: pa.Table) -> Counter[tuple[int, ...]]:
    keys = pa.compute.unique(allowed["k"])
    pairs = left.join(right, "k", join_type="inner", left_suffix="_left", right_suffix="_right")
    kept = pairs.filter(pa.compute.is_in(pairs["k"], keys)).select(["k", "row_left", "row_right"])
    return Counter(zip(*(column.to_pylist() for column in kept.columns), strict=True))


@pytest.mark.parametrize("memory_bytes", [2**20, 2**30])
def test_one_with_blocked_ports_in_process(memory_bytes: int, tmp_path: Path) -> None:
    """Rows of the others wait at their sources until the list has ended, however slow it is."""
    left, right, allowed = tables(50_000, 60_000)
    allowed = allowed.slice(0, 20_000)
    slow = paced(allowed, Fixed(1e-5))
    sources = [open_source(one, name) for one, name in zip((left, right, slow), NAMES, strict=True)]
    plan, entries = GuardedPlan("k", ALGORITHMS["rpj"]), list[Entry]()
    query = Query(plan, sources, Settings(memory_bytes, 4, 2, tmp_path), NAMES, entries.append)
    budget = query._operator.account.budget
    assert [*budget.accounts] == ["rows that wait", "the operator", "the operator, join"]
    found = query.to_table()
    assert Counter(zip(*(c.to_pylist() for c in found.columns), strict=True)) == allowed_pairs(left, right, allowed)
    assert query.progress.arrived_rows == (len(left), len(right), len(allowed))
    assert any(isinstance(entry.event, Flushed) for entry in entries) == (memory_bytes < 2**30)
    assert budget.peak_bytes <= memory_bytes
    assert [*budget.accounts] == ["rows that wait"], "the others are gone with their owners"
    assert not list(tmp_path.iterdir())


class Stuck(GuardedJoin):
    """It waits for an end that nobody is told of."""

    def port(self, which: int) -> Port:  # noqa: ARG002
        return "blocked"


def test_an_operator_that_waits_for_nothing_is_an_error_and_no_hang(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class StuckPlan(GuardedPlan):
        def make(self, names, schemas, storage, means):  # type: ignore[no-untyped-def]
            sound = super().make(names, schemas, storage, means)
            return Stuck(sound._inner, sound._allowed, sound.account)

    sources = [open_source(table, name) for table, name in zip(tables(10, 10), NAMES, strict=True)]
    plan = StuckPlan("k", ALGORITHMS["rpj"])
    with pytest.raises(RuntimeError, match="Stuck takes rows of no input, and has no work"):
        Query(plan, sources, Settings(2**20, 1, 1, tmp_path), NAMES).to_table()


def test_in_the_lab() -> None:
    trace = PANELS[0].arrivals("unreliable").draw(600, PARTITIONS * 10, 20, seed=2)

    def union(storage: Storage, means: Means) -> DistinctUnion:
        return DistinctUnion(storage.inputs(trace.order(), NAMES[:2], (SCHEMA, SCHEMA)), "key", means)

    laboratory = small_laboratory("unreliable")
    small = replace(laboratory, machine=replace(laboratory.machine, memory_bytes=50 * ROW_BYTES))
    history = simulate_operator(trace, union, small)
    assert history.total_results == len(np.unique(trace.keys))
    assert history.events["Flushed"] > 0
    assert 0 < history.early_results <= history.total_results


def test_one_with_blocked_ports_in_the_lab() -> None:
    dice = np.random.default_rng(4)
    pushed = [
        Pushed(np.sort(dice.uniform(0, seconds, rows)), dice.integers(0, 400, rows).astype(np.int32), 0.5)
        for rows, seconds in ((2_000, 10.0), (2_000, 10.0), (100, 5.0))
    ]
    trace = Trace.of_inputs(pushed, domain=400, partitions=3)
    plan = GuardedPlan("key", ALGORITHMS["hmj"])
    laboratory = small_laboratory("unreliable")
    small = replace(laboratory, machine=replace(laboratory.machine, memory_bytes=800 * ROW_BYTES))
    history = simulate_operator(trace, partial(plan.make, NAMES, (SCHEMA,) * 3), small)
    left, right, allowed = (np.bincount(one.keys, minlength=400) for one in pushed)
    assert history.total_results == int((left * right)[allowed > 0].sum())
    assert history.events["Flushed"] > 0
