"""Runs on disk that are alike become one, and nothing else changes."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from joins import VARIANTS, arrive, end, new_join, react, rows
from schedules import (
    PARTITIONS,
    ROW_BYTES,
    RowPairs,
    Schedule,
    Silence,
    batches_of,
    dense_schedule,
    oracle,
    wide_schedule,
)
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.events import Event, Tidied
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import BUSY, SILENT
from sooner.testing.invariants import check_invariants

ALL_SPILLING = sorted(set(ALGORITHMS) - {"symmetric_hash"})
SPILLING = [name for name in ALL_SPILLING if name not in VARIANTS]
CROWD = 8
BATCHES = 150


def tidy(join: TwoWayJoin[RowPairs]) -> None:
    """All that can become one does, and nothing is joined on the way."""
    while join.has_work(BUSY):
        assert react(join, BUSY) == []
        check_invariants(join)


def run_tidily(algorithm: str, schedule: Schedule, directory: Path, events: list[Event]) -> RowPairs:
    """All results, with runs merged after every action as soon as two are alike."""

    def fresh() -> TwoWayJoin[RowPairs]:
        budget_bytes = schedule.budget_rows * (ROW_BYTES + 1)
        return new_join(
            directory, algorithm, partitions=PARTITIONS, budget_bytes=budget_bytes, crowd=2, listener=events.append
        )

    join, found = fresh(), []
    for number, (step, left, right) in enumerate(zip(schedule.steps, *batches_of(schedule), strict=True)):
        if number == schedule.cut_after:
            saved, join = json.loads(json.dumps(join.snapshot())), fresh()
            join.restore(saved)
        if isinstance(step, Silence):
            for _ in range(step.tasks):
                found += react(join, SILENT)
                tidy(join)
        else:
            found += arrive(join, left, right, float(number))
            tidy(join)
    return found + end(join)


@cache
def with_answer(make: Callable[[int], Schedule], seed: int) -> tuple[Schedule, dict[tuple[int, int], int]]:
    """The same for every algorithm."""
    schedule = make(seed)
    return schedule, dict(oracle(schedule))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("algorithm", SPILLING)
def test_every_pair_comes_once_whenever_runs_are_merged(algorithm: str, tmp_path: Path) -> None:
    """Half of the schedules for each; all of them in the long set."""
    which = SPILLING.index(algorithm) % 2
    require_every_pair_once(algorithm, (which, which + 2), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALL_SPILLING)
def test_every_pair_comes_once_whenever_runs_are_merged_for_long(algorithm: str, tmp_path: Path) -> None:
    require_every_pair_once(algorithm, range(12), tmp_path)


def require_every_pair_once(algorithm: str, seeds: Iterable[int], tmp_path: Path) -> None:
    events: list[Event] = []
    for seed in seeds:
        for make in (dense_schedule, wide_schedule):
            schedule, expected = with_answer(make, seed)
            found = run_tidily(algorithm, schedule, tmp_path, events)
            # As dicts: Python compares Counters key by key, and these have no key without a count.
            assert dict(Counter(found)) == expected, f"{algorithm}, seed {seed}"
            assert list(tmp_path.iterdir()) == []
    assert any(isinstance(event, Tidied) for event in events)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("algorithm", ["pmj", "random", "rpj"])
def test_a_stream_that_is_never_silent_leaves_few_runs(algorithm: str, tmp_path: Path) -> None:
    dice = random.Random(0)
    join = new_join(tmp_path, algorithm, budget_rows=60, partitions=2, crowd=CROWD)
    found = 0
    most = []
    for batch in range(BATCHES):
        left, right = ([dice.randrange(1000) for _ in range(20)] for _ in range(2))
        found += len(arrive(join, rows(left), rows(right)))
        tidy(join)
        if batch in (BATCHES // 3 - 1, BATCHES - 1):
            most.append(int(join.statistics.spilled_runs.max()))
    assert most[1] <= most[0] + CROWD // 2
    assert most[1] < 2 * CROWD
    assert len(list(tmp_path.iterdir())) < 200
    assert found + len(end(join)) > BATCHES * BATCHES * 400 / 1000 * 0.8


def test_who_did_not_ask_for_few_runs_keeps_them(tmp_path: Path) -> None:
    join = new_join(tmp_path, "pmj", budget_rows=20)
    for _ in range(40):
        arrive(join, rows(list(range(8))), rows(list(range(8))))
    assert join.statistics.spilled_runs.min() > CROWD
    assert not join.has_work(BUSY)
    assert react(join, BUSY) == []
    assert join.worked_bytes == 0


def test_only_what_was_merged_is_told(tmp_path: Path) -> None:
    events: list[Event] = []
    join = new_join(tmp_path, "pmj", budget_rows=20, crowd=CROWD, listener=events.append)
    while not join.has_work(BUSY):
        arrive(join, rows(list(range(8))), rows(list(range(8))))
    tidy(join)
    while not join.has_work(BUSY):
        arrive(join, rows(list(range(8))), rows(list(range(8))))
    runs = [sorted(side.partitions[0].spilled, key=lambda run: run.n_rows) for side in join.inputs]
    assert [len(side) for side in runs] == [CROWD] * 2
    react(join, BUSY)
    tidied = [event for event in events if isinstance(event, Tidied)][-1]
    assert tidied.n_runs == 2 * (CROWD - 1), "the run of the first time is as large as all others together"
    assert tidied.n_bytes == sum(run.n_bytes for side in runs for run in side[:-1])
