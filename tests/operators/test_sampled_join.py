"""The join of many inputs of which one is a sample: when its rows come, and what is kept of them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from sooner.budget import Budget
from sooner.estimation.estimate import Estimate
from sooner.estimation.preparation import Preparation
from sooner.estimation.question import question_of
from sooner.estimation.reading_off import estimate_of
from sooner.estimation.tags import InTurn
from sooner.operators.folding.running_groups import group_workings_of
from sooner.operators.folding.sampled import SampledJoin, SampledPlan
from sooner.operators.inputs import Storage
from sooner.operators.multiway.graph import ColumnOf, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.operator import Means
from sooner.policies.view import SILENT
from sooner.runs.formats.files import RunFiles

NAMES = ("facts", "a", "b")
FACTS, KEYS, PIECE = 3_000, 50, 500
AGGREGATES: dict[str, Any] = {"n": "count", "s": ("sum", "x"), "v": ("variance", "x"), "r": ("sum", "x * y")}


class World:
    """Facts with two dimensions, and sums of what they join to."""

    def __init__(self, folder: Path, n_groups: int = 3) -> None:
        dice = np.random.default_rng(1)
        self.facts = pa.record_batch(
            {
                "k": dice.integers(0, KEYS + 5, FACTS),
                "j": dice.integers(0, KEYS, FACTS),
                "x": dice.integers(0, 99, FACTS),
            }
        )
        self.a = pa.record_batch({"ak": np.arange(KEYS), "y": dice.random(KEYS)})
        self.b = pa.record_batch({"bj": np.arange(n_groups) % KEYS, "g": np.arange(n_groups)})
        equal = [(ColumnOf("facts", "k"), ColumnOf("a", "ak")), (ColumnOf("facts", "j"), ColumnOf("b", "bj"))]
        join = MultiPlan(graph_of(NAMES, equal))
        columns = tuple((name, name) for name in self.facts.schema.names)
        self.preparation = Preparation((), self.facts.schema, columns=columns)
        self.schemas = [self.preparation.schema, self.a.schema, self.b.schema]
        joined = join.output(self.schemas)
        self.plan = SampledPlan(join, 0, group_workings_of(question_of(AGGREGATES, "g", None, joined), joined))
        self.folder = folder

    def operator(self) -> SampledJoin:
        files = pafs.LocalFileSystem(), str(self.folder)
        storage = Storage(1, lambda schema: RunFiles(*files, schema, 2**16))
        means = Means(Budget(2**26).account("the join"))
        return self.plan.make(NAMES, self.schemas, storage, means)

    def pieces(self) -> Iterator[list[pa.RecordBatch]]:
        for begin in range(0, FACTS, PIECE):
            yield self.preparation.prepared(self.facts.slice(begin, PIECE), InTurn(begin, PIECE))

    def estimate(self, operator: SampledJoin) -> Estimate:
        exact, folds = operator.phase == "done", operator.folds
        sizes, read = [FACTS, KEYS, len(self.b)], folds.tallies.sum(axis=1).tolist()
        reckoning = folds.reckoning(sizes, 0.95, exact=exact)
        return estimate_of(folds.workings, folds.groups, reckoning, read, sizes, 0.0, exact=exact)

    def final(self, operator: SampledJoin) -> Estimate:
        operator.end(0)
        while operator.phase != "done":
            list(operator.work(2**20, SILENT))
        found = self.estimate(operator)
        operator.close()
        return found

    def expected(self) -> dict[int, tuple[int, int]]:
        """Counts and sums, one after the other."""
        found: dict[int, tuple[int, int]] = {}
        groups = [self.b.column("g").to_pylist()[j::KEYS] for j in range(KEYS)]
        for row in self.facts.to_pylist():
            for group in groups[row["j"]] if row["k"] < KEYS else ():
                n, s = found.get(group, (0, 0))
                found[group] = n + 1, s + row["x"]
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def with_dimensions(world: World) -> SampledJoin:
    operator = world.operator()
    list(operator.arrive([[], [world.a], [world.b]], 0.0))
    operator.end(1)
    operator.end(2)
    return operator


def sums_in(found: Estimate) -> dict[Any, Any]:
    return {key: (of["n"].value, of["s"].value) for (key,), of in found.values.items()}


def test_the_sample_waits_for_all_others(world: World) -> None:
    operator = world.operator()
    assert [operator.port(which) for which in range(3)] == ["blocked", "ready", "ready"]
    operator.end(1)
    assert [operator.port(which) for which in range(3)] == ["blocked", "done", "ready"]
    operator.end(2)
    assert [operator.port(which) for which in range(3)] == ["ready", "done", "done"]
    operator.close()


def test_a_guide_waits_with_the_sample_and_comes_in_step_with_it(world: World) -> None:
    """What the rows of the sample can match comes in the same call."""
    world.plan = replace(world.plan, join=replace(world.plan.join, guided=0), guide=1)  # type: ignore[type-var]
    operator = world.operator()
    assert [operator.port(which) for which in range(3)] == ["blocked", "blocked", "ready"]
    list(operator.arrive([[], [], [world.b]], 0.0))
    operator.end(2)
    assert [operator.port(which) for which in range(3)] == ["ready", "ready", "done"]
    guided, found = world.facts.sort_by("k"), []
    for key in range(0, KEYS + 5, 5):
        at = [row for row, one in enumerate(guided["k"].to_pylist()) if key <= one < key + 5]
        piece = world.preparation.prepared(guided.slice(at[0], len(at)), InTurn(at[0], len(at)))
        list(operator.arrive([piece, [world.a.slice(key, 5)], []], 0.0))
        assert operator.inputs[0].resident_bytes == 0
        found.append(world.estimate(operator))
    assert all(value.low is not None for value in found[2]["n"].values())
    operator.end(1)
    assert sums_in(world.final(operator)) == world.expected()


def test_what_waited_comes_in_steps_that_double(world: World) -> None:
    operator = with_dimensions(world)
    pieces = [batch for piece in world.pieces() for batch in piece]
    read = [int(folds.tallies[0].sum()) for folds in operator.arrive([pieces, [], []], 0.0)]
    assert read == [500, 1000, 2000, 3000]
    assert sums_in(world.final(operator)) == world.expected()


def test_it_goes_on_from_a_snapshot(world: World) -> None:
    operator = with_dimensions(world)
    first, second, *others = world.pieces()
    list(operator.arrive([[*first, *second], [], []], 0.0))
    before = world.estimate(operator)
    state = json.loads(json.dumps(operator.snapshot()))
    again = world.operator()
    again.restore(state)
    assert world.estimate(again).values == before.values
    assert all(value.low is not None for value in before["s"].values())
    for piece in others:
        list(again.arrive([piece, [], []], 0.0))
    operator.close()
    assert sums_in(world.final(again)) == world.expected()


def test_sums_of_many_groups_are_kept_by_fewer_tags(tmp_path: Path) -> None:
    """At first there are few of them: their sums are halved, and not lost."""
    world = World(tmp_path, n_groups=2_000)
    operator = with_dimensions(world)
    for piece in world.pieces():
        list(operator.arrive([piece, [], []], 0.0))
    assert 4 <= operator.folds._n_tags < 32
    assert all(value.low is not None for value in world.estimate(operator)["n"].values())
    assert sums_in(world.final(operator)) == world.expected()
