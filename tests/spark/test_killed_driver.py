"""A driver that is killed at any moment has lost nothing: the next one goes on from the checkpoint."""

import contextlib
import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import estimate_driver
import small_operators_driver
import spark_driver
from patience import HANG_SECONDS, until
from sooner.how import KINDS
from spark_joins import Way, ended, start_driver

BATCHES = 6
OURS: list[Way] = ["packed", "not packed"]  # of one source, and so with one checkpoint
KILL_WITHIN_SECONDS = 3.0


def kill_in_a_batch(
    folder: Path, dice: random.Random, program: ModuleType, *arguments: object, log: Path | None = None
) -> None:
    """Start a driver, let it begin a batch, and kill it and its Java a random time later."""
    driver, java = start_driver(folder, program, *arguments)
    offsets = (log or folder / "checkpoint") / "offsets"
    before = batches_in(offsets)
    try:
        until(lambda: driver.poll() is not None or batches_in(offsets) != before, "no batch begins")
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(dice.uniform(0, KILL_WITHIN_SECONDS))
    finally:
        for group in (java, driver.pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(group), signal.SIGKILL)
        driver.communicate()


def batches_in(log: Path) -> int:
    return len(list(log.glob("[0-9]*")))


def require_right_answer_after_kills(
    spark: SparkSession, folder: Path, ways: Sequence[Way], how: str, seed: int
) -> None:
    """Each driver but the last is killed, and each takes rows in its own way."""
    dice = random.Random(seed)
    for way in ways[:-1]:
        kill_in_a_batch(folder, dice, spark_driver, "local[2,4]", BATCHES, way, how)
    case = spark_driver.case_in(spark, folder, BATCHES, ways[-1], how)
    case.run(then=spark_driver.noting_workers(str(folder)))
    assert case.written() == case.expected(), f"seed {seed}"


def test_a_driver_that_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    """In a full join: pairs, and rows of both sides that match nothing. Others, and more kills, are in the long set."""
    require_right_answer_after_kills(spark, tmp_path, ["packed", "not packed"], "full", seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 124))  # three kills each, each join twice, once by a range, once by PR-Join
def test_a_driver_that_is_killed_again_and_again_for_long(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    ways = OURS if seed % 2 else ["Spark's source"]
    how = list(KINDS)[seed % len(KINDS)] + (" pr_join" if seed >= 118 else " near" if seed >= 112 else "")
    require_right_answer_after_kills(spark, tmp_path, random.Random(seed).choices(ways, k=4), how, seed)


def test_other_operators_go_on_after_a_kill_by_the_contract_alone(spark: SparkSession, tmp_path: Path) -> None:
    kill_in_a_batch(tmp_path, random.Random(2), small_operators_driver, log=tmp_path / "guarded" / "checkpoint")
    for name, query in small_operators_driver.start(spark, tmp_path).items():
        ended(query)
        assert query.is_complete
        found = Counter(map(tuple, spark.read.parquet(str(tmp_path / name / "output")).collect()))
        assert found == small_operators_driver.expected(name), name


def require_exact_end_after_kills(spark: SparkSession, folder: Path, kills: int, seed: int) -> None:
    """Two kills at least: the second driver has finished what the first one began, so there is an estimate by then."""
    dice, case = random.Random(seed), estimate_driver.EstimateCase(spark, folder)
    for _ in range(kills):
        kill_in_a_batch(folder, dice, estimate_driver)
    before = case.written()
    query = case.start(case.estimates())
    ended(query)
    case.require_exact(query.estimate)
    after = case.written()
    assert before
    assert set(before) == {row for row in after if row.batch <= max(one.batch for one in before)}, f"seed {seed}"
    last = max(row.batch for row in after)
    groups = {(row.g, row.h) for row in after}
    assert Counter((row.batch, row.g, row.h) for row in after) == Counter(
        (batch, *group) for batch in range(last + 1) for group in groups
    )
    assert {row.batch for row in after if row.exact} == {last}


def test_an_estimate_ends_exactly_after_kills_and_none_is_lost_or_given_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    require_exact_end_after_kills(spark, tmp_path, kills=2, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 208))
def test_an_estimate_ends_exactly_after_many_kills(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    require_exact_end_after_kills(spark, tmp_path, kills=4, seed=seed)


@pytest.mark.long  # nodes and limits in process: tests/runs/test_shared_memory.py
def test_two_executors_share_the_work_the_state_and_one_limit_of_shared_memory(
    spark: SparkSession, tmp_path: Path
) -> None:
    driver, _ = start_driver(tmp_path, spark_driver, "local-cluster[2,1,1024]", 2, "Spark's source", "inner")
    said, _ = driver.communicate(timeout=HANG_SECONDS)
    assert driver.returncode == 0, (tmp_path / "errors").read_text()[-2000:]
    daemons = {path.name for path in (tmp_path / "daemons").iterdir()}
    assert len(daemons) == 2
    seen = json.loads(said)
    assert {name.split("-")[1] for name in seen["owners"]} == daemons
    assert 0 < max(seen["copies_bytes"]) <= spark_driver.MEMORY_BYTES
    case = spark_driver.case_in(spark, tmp_path, batches=2)
    assert case.written() == case.expected()
