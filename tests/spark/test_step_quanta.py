"""A step never does more disk work than its budget of bytes, and looks at it after every quantum."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner.spark.step.step as step
from join_steps import Arriving, Lane, new_step, nothing, plan_of, summary_of
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import SILENT, Surroundings

ROWS, KEYS, BATCHES = 3_000, 300_000, 12  # many keys: rows of one code are never cut apart
LEFT = pa.schema([("k", pa.int64()), ("a", pa.int64())])
RIGHT = pa.schema([("k", pa.int64()), ("b", pa.int64())])


def rows(schema: pa.Schema, batch: int, rng: np.random.Generator, keys: int) -> pa.Table:
    numbers = np.arange(batch * ROWS, (batch + 1) * ROWS)
    return pa.table([rng.integers(0, keys, ROWS), numbers], schema=schema)


def lane_with_much_on_disk(folder: Path, algorithm: str, keys: int = KEYS) -> Lane:
    rng = np.random.default_rng(7)
    lane = Lane(plan_of(LEFT, RIGHT, folder, algorithm=algorithm, memory_bytes=2**17))
    for batch in range(BATCHES):
        lane.step(Arriving(rows(LEFT, batch, rng, keys), rows(RIGHT, batch, rng, keys)))
    return lane


class Quanta:
    """Counts the calls of `work`, and what each of them read and wrote."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.worked: list[int] = []
        work = TwoWayJoin.work

        def counted(join: TwoWayJoin[Any], quantum_bytes: int, around: Surroundings) -> Iterator[Any]:
            before = join.worked_bytes
            yield from work(join, quantum_bytes, around)
            self.worked.append(join.worked_bytes - before)

        monkeypatch.setattr(TwoWayJoin, "work", counted)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("algorithm", ["rpj", "hmj", "xjoin", "pmj"])
def test_the_end_of_a_step_is_seen_within_a_quantum(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = lane_with_much_on_disk(tmp_path, algorithm)
    quantum, budget = 2**16, 3 * 2**16
    monkeypatch.setattr(step, "QUANTUM_BYTES", quantum)
    monkeypatch.setattr(step, "WORK_BYTES", budget)
    steps = 0
    for _ in range(400):
        quanta = Quanta(monkeypatch)
        lane.step(nothing(lane.plan, (True, True)))
        steps += 1
        assert max(quanta.worked, default=0) <= quantum, "a step of the work was larger than the quantum"
        assert sum(quanta.worked) <= budget
        if summary_of(lane.plan, lane.version - 1)["progress"]["phase"] == "done":
            break
    assert steps >= 5, "there was too little work to cut"
    pairs = lane.end().tolist()
    assert len({*pairs}) == len(pairs) > 0


def hot(schema: pa.Schema, batch: int) -> pa.Table:
    return pa.table([np.full(ROWS, 5), np.arange(batch * ROWS, (batch + 1) * ROWS)], schema=schema)


def test_one_key_that_is_larger_than_the_budget_takes_many_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, with its rows in another order: what each step gives is the same, as a task that is retried needs."""
    quantum, budget = 2**16, 2**17
    found = []
    for seed in (1, 2):
        lane = Lane(plan_of(LEFT, RIGHT, tmp_path / str(seed), algorithm="xjoin", memory_bytes=2**16))
        for batch in range(5):
            lane.step(Arriving(hot(LEFT, batch), hot(RIGHT, batch).slice(0, 30)), seed)
        with monkeypatch.context() as small:
            small.setattr(step, "QUANTUM_BYTES", quantum)
            small.setattr(step, "WORK_BYTES", budget)
            of_steps = []
            while summary_of(lane.plan, lane.version - 1)["progress"]["phase"] != "done":
                quanta = Quanta(small)
                of_steps.append(Counter(lane.step(nothing(lane.plan, (True, True))).tolist()))
                assert sum(quanta.worked) <= budget
        found.append(of_steps)
    assert len(found[0]) > 5
    assert found[0] == found[1]


def test_merging_runs_that_are_alike_counts_like_any_other_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "QUANTUM_BYTES", 2**16)
    monkeypatch.setattr(step, "WORK_BYTES", 2**16)
    monkeypatch.setattr(step, "TIDYING", 0)
    monkeypatch.setattr(step, "CROWD", 2)
    quanta = Quanta(monkeypatch)
    lane = lane_with_much_on_disk(tmp_path, "pmj", keys=10 * KEYS)  # so that no two blocks begin with the same
    assert any(quanta.worked), "nothing was merged"
    assert max(quanta.worked) <= 2**16
    open_tasks = new_step(lane.plan, lane.version, nothing(lane.plan))._operator
    assert open_tasks.has_work(SILENT), "what one step leaves, the next goes on with"
