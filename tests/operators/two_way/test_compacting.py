"""Runs on disk that are alike become one, and nothing else changes."""

import random
from collections import Counter
from pathlib import Path

import pytest

from joins import arrive, end, new_join, rows
from schedules import Driver, dense_schedule, oracle, wide_schedule
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.two_way import compacting

SPILLING = sorted(set(ALGORITHMS) - {"symmetric_hash"})


@pytest.mark.parametrize("algorithm", SPILLING)
def test_every_pair_comes_once_whenever_runs_are_merged(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "CROWD", 2)
    for seed in range(4):
        for schedule in (dense_schedule(seed), wide_schedule(seed)):
            driver = Driver(ALGORITHMS[algorithm], schedule, compacting=True).run()
            assert Counter(driver.results) == oracle(schedule), f"{algorithm}, seed {seed}"
            assert not driver.left_behind


@pytest.mark.parametrize("algorithm", ["pmj", "random", "rpj"])
def test_a_stream_that_is_never_silent_leaves_few_runs(algorithm: str, tmp_path: Path) -> None:
    dice = random.Random(0)
    join = new_join(tmp_path, algorithm, budget_rows=60, partitions=2)
    found = 0
    most = []
    for batch in range(300):
        left, right = ([dice.randrange(1000) for _ in range(20)] for _ in range(2))
        found += len(arrive(join, rows(left), rows(right)))
        join.compact()
        if batch in (99, 299):
            most.append(int(join.statistics.spilled_runs.max()))
    assert most[1] <= most[0] + 2 * compacting.CROWD
    assert most[1] < 4 * compacting.CROWD
    assert len(list(tmp_path.iterdir())) < 200
    assert found + len(end(join)) > 300 * 300 * 400 / 1000 * 0.8
