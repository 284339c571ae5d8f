"""An operator that nobody made the engines for runs in process and in the lab, by the contract alone."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from small_worlds import small_laboratory, small_trace
from sooner.lab.experiments.rpj import PANELS
from sooner.lab.simulator import simulate_operator
from sooner.lab.subject import ROW_BYTES, SCHEMA
from sooner.local.query import Query
from sooner.local.starting import parts_of
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.sources.opening import open_source
from sooner.trace import Entry, Tracing
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
    tracing = Tracing(entries.append, "a union", [plan])
    parts = parts_of(plan, NAMES, sources, memory_bytes, 4, 1, tmp_path, tracing)
    query = Query(parts, plan.output([source.schema for source in sources]), 0.025)
    found = Counter(query.to_table()["k"].to_pylist())
    assert found == Counter({key for table in inputs for key in table["k"].to_pylist()})
    kinds = {type(entry.event).__name__ for entry in entries}
    assert ("Flushed" in kinds) == (memory_bytes < 2**30)
    assert query.progress.phase == "done"
    assert not list(tmp_path.iterdir())


def test_in_the_lab() -> None:
    trace = small_trace(PANELS[0], "unreliable", seed=2)

    def union(storage: Storage, means: Means) -> DistinctUnion:
        return DistinctUnion(storage.inputs(trace.order(), NAMES[:2], (SCHEMA, SCHEMA)), "key", means)

    laboratory = small_laboratory("unreliable")
    small = replace(laboratory, machine=replace(laboratory.machine, memory_bytes=50 * ROW_BYTES))
    history = simulate_operator(trace, union, small)
    assert history.total_results == len(np.unique(trace.keys))
    assert history.events["Flushed"] > 0
    assert 0 < history.early_results <= history.total_results
