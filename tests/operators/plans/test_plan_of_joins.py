"""A plan of joins call by call: what it does at the edges of memory, in silences, and when inputs end."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from sooner.budget import Budget
from sooner.errors import BudgetTooSmall
from sooner.operators.inputs import Storage
from sooner.operators.multiway.graph import ColumnOf
from sooner.operators.operator import Means
from sooner.operators.plans.algorithms import plan_algorithm
from sooner.operators.plans.join import PlanOfJoins
from sooner.operators.plans.plan import JoinsPlan, JoinWith
from sooner.operators.statistics.distinct import DistinctCodes
from sooner.policies.view import BUSY, SILENT
from sooner.runs.formats.files import RunFiles

NAMES = ("a", "b", "c", "d")
JOINS = tuple(JoinWith(name, ((ColumnOf("a", "k"), "k"),)) for name in NAMES[1:])
SCHEMA = pa.schema([("k", pa.int64()), ("row", pa.int64())])
QUANTUM = 2**14


def made(directory: Path, memory_bytes: int, algorithm: str = "agf", **changes: Any) -> PlanOfJoins:
    directory.mkdir(exist_ok=True)
    storage = Storage(4, lambda schema: RunFiles(pafs.LocalFileSystem(), str(directory), schema, block_bytes=1024))
    plan = JoinsPlan(NAMES, JOINS, plan_algorithm(algorithm))
    join = plan.make(NAMES, [SCHEMA] * len(NAMES), storage, Means(Budget(memory_bytes).account("the plan")))
    for name, value in changes.items():
        setattr(join, name, value)
    return join


def rows(keys: Any, first: int = 0) -> pa.RecordBatch:
    keys = np.asarray(keys, np.int64)
    return pa.record_batch([pa.array(keys), pa.array(np.arange(first, first + len(keys)))], schema=SCHEMA)


def given(join: PlanOfJoins, which: int, batch: pa.RecordBatch, now: float = 0.0) -> list[pa.RecordBatch]:
    return list(join.arrive([[batch] if at == which else [] for at in range(len(NAMES))], now))


def cleaned_up(join: PlanOfJoins) -> list[pa.RecordBatch]:
    found: list[pa.RecordBatch] = []
    while join.phase != "done":
        found += join.work(QUANTUM, SILENT)
    return found


def counted(batches: list[pa.RecordBatch]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def expected(tables: list[list[int]]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for key in {*tables[0]}:
        numbers = ([number for number, one in enumerate(keys) if one == key] for keys in tables)
        found.update((key, *some) for some in itertools.product(*numbers))
    return found


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_inputs_that_stall_and_end_in_any_order(order: tuple[int, ...], tmp_path: Path) -> None:
    """Each gives all it has and ends, with a silence after it, before the next begins."""
    dice = np.random.default_rng(sum(place * at for at, place in enumerate(order)))
    tables = [dice.integers(0, 30, 60).tolist() for _ in NAMES]
    join, found = made(tmp_path / "spill", 12_000), []
    for which in order:
        found += given(join, which, rows(tables[which][:30]))
        found += join.work(QUANTUM, SILENT)
        found += given(join, which, rows(tables[which][30:], 30))
        join.end(which)
        for _ in range(2):
            found += join.work(QUANTUM, SILENT)
    found += cleaned_up(join)
    assert counted(found) == expected(tables)
    assert join.account.budget.used_bytes == 0
    join.close()
    assert not list((tmp_path / "spill").iterdir())


@pytest.mark.parametrize(("seed", "pairs_at_once"), [(0, 16), (1, 65_536)])
def test_a_join_is_held_in_the_middle_of_a_call_that_gives_much(
    seed: int, pairs_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The joins above have the passage then; and each call gives the same, in whichever order its rows come."""
    monkeypatch.setattr("sooner.operators.pairs.PAIRS_AT_ONCE", pairs_at_once)
    dice = np.random.default_rng(seed)
    tables = [dice.integers(0, 5, 40).tolist() for _ in NAMES]
    of_calls, states = [], []
    for number, order in enumerate((slice(None), slice(None, None, -1))):
        join, found = made(tmp_path / str(number), 9_000, _landing_bytes=500), []
        for begin, which in itertools.product((0, 20), range(len(NAMES))):
            batch = rows(tables[which][begin : begin + 20], begin)
            found.append(counted(given(join, which, batch.take(pa.array(np.arange(20)[order])))))
        of_calls.append(found)
        states.append([stage.join.statistics.to_plain() for stage in join._stages])
        for which in range(len(NAMES)):
            join.end(which)
        assert sum(found, counted(cleaned_up(join))) == expected(tables)
        assert join.account.budget.peak_bytes <= 9_000
        join.close()
    assert of_calls[0] == of_calls[1]
    assert states[0] == states[1]


def test_a_merge_blocks_what_comes_for_it_and_below(tmp_path: Path) -> None:
    """Inputs above go on; and the state is saved in the middle of it."""
    dice = np.random.default_rng(5)
    tables = [dice.integers(0, 40, 400).tolist() for _ in NAMES]
    join, found = made(tmp_path / "spill", 10_000), []
    for begin in range(0, 400, 20):
        for which in range(len(NAMES)):
            if join.port(which) == "ready":
                found += given(join, which, rows(tables[which][begin : begin + 20], begin), begin / 10)
        if (merging := join._merging) is not None:
            break
        join._stages[1].merge(int(join._stages[1].join.statistics.unmet_on_disk.argmax()))
        if not join._stages[1].join.statistics.unmet_on_disk.any():
            join._stages[1]._directed.wanted = None
    assert merging == 1
    assert [join.port(which) for which in range(4)] == ["blocked", "blocked", "blocked", "ready"]
    assert join.has_work(BUSY)
    other = made(tmp_path / "spill", 10_000)
    other.restore(join.snapshot())
    assert other._merging == 1
    while other._merging is not None:
        found += other.work(2_000, BUSY)
    assert [other.port(which) for which in range(4)] == ["ready"] * 4


def test_what_no_memory_can_hold_is_refused_before_it_is_taken_in(tmp_path: Path) -> None:
    join = made(tmp_path / "spill", 4_000)
    with pytest.raises(BudgetTooSmall, match="arrived at once; raise `memory`"):
        given(join, 0, rows(range(500)))
    found = [*given(join, 0, rows([1])), *given(join, 1, rows([1])), *given(join, 2, rows([1]))]
    found += given(join, 3, rows([1]))
    assert counted(found) == Counter({(1, 0, 0, 0, 0): 1})


@pytest.mark.parametrize("n_codes", [1, 10, 300, 5_000, 200_000])
def test_distinct_codes_are_counted_about_right(n_codes: int) -> None:
    dice = np.random.default_rng(n_codes)
    codes = dice.integers(0, 2**63, n_codes).astype(np.uint64)
    distinct, again = DistinctCodes(2), DistinctCodes(2)
    for _ in range(2):
        distinct.add(np.zeros(n_codes, np.int64), dice.permutation(codes))
    again.load_plain(distinct.to_plain())
    none, some = sorted(again.counts.tolist())
    assert none == 0
    assert some == pytest.approx(n_codes, rel=0.2)
