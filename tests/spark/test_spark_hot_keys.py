"""Hot keys on real Spark: their rows are spread over all partitions, and the answer is Spark's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from queries import refused
from sooner.errors import InvalidJoin
from spark_joins import JoinCase, Way, failing_once_in

HOT = 3
PACKED: tuple[Way, Way] = ("packed", "packed")


def hot_rows(rows: int, share: float, name: str, seed: int) -> pa.Table:
    dice = np.random.default_rng(seed)
    keys = np.where(dice.random(rows) < share, HOT, dice.integers(0, 3000, rows))
    return pa.table({"k": keys, name: np.arange(rows)})


FACTS, DIMENSION = hot_rows(24_000, 0.5, "a", 1), hot_rows(2_000, 0.002, "b", 2)


def case_in(spark: SparkSession, folder: Path, ways: tuple[Way, Way] = PACKED, **arguments: Any) -> JoinCase:
    given = {"partitions": 3, "memory": "1MB", **arguments}
    return JoinCase(spark, folder, FACTS, DIMENSION, 8, arguments=given, ways=ways)


def require_spread_answer(case: JoinCase) -> None:
    assert case.written() == case.expected()
    last = case.progress[-1]
    assert [(key.name, key.dealt, key.since) for key in last.hot_keys] == [(str(HOT), 0, 4)]  # enough rows in batch 2
    assert f"hot keys: {HOT} since batch 4" in str(last)
    arrived = [part.arrived_rows[0] for part in last.partitions]
    assert sum(arrived) == FACTS.num_rows
    assert max(arrived) < 0.55 * sum(arrived), "at home there would be two thirds of all"


@pytest.mark.parametrize("how", ["full", pytest.param("inner", marks=pytest.mark.long)])
def test_a_hot_key_is_spread_while_tasks_fail(spark: SparkSession, tmp_path: Path, how: str) -> None:
    case = case_in(spark, tmp_path, how=how)
    case.run(then=failing_once_in({1, 3, 4, 5}))
    require_spread_answer(case)


@pytest.mark.parametrize("how", ["anti", pytest.param("left", marks=pytest.mark.long)])
def test_a_query_goes_on_with_keys_that_it_has_spread(spark: SparkSession, tmp_path: Path, how: str) -> None:
    """In Spark's rows, which are packed for it; stopped where the key is decided, and where rows are handed over."""
    case = case_in(spark, tmp_path, ("Spark's source", "Spark's source"), how=how, hot_keys="spread")
    for batch in (3, 5):
        case.run_until_batch(batch)
    case.run(hot_keys="auto")  # is that of the state
    require_spread_answer(case)


def test_keys_stay_at_home_where_they_are_told_to(spark: SparkSession, tmp_path: Path) -> None:
    case = case_in(spark, tmp_path, hot_keys="home")
    case.run()
    assert case.written() == case.expected()
    assert case.progress[-1].hot_keys == ()
    with refused(InvalidJoin, "was made with another choice of hot_keys"):
        case.joined(hot_keys="spread")


def test_what_cannot_be_spread_is_said(spark: SparkSession, tmp_path: Path) -> None:
    case = case_in(spark, tmp_path, ("packed", "Spark's source"))
    told = ss.explain(case.joined())
    assert "hot keys: each stays in one partition, since the right would have to be packed" in told
    assert "hot keys" not in ss.explain(case.joined(partitions=1))
    near = {"on": None, "left_on": "k", "right_on": "k", "within": 1}
    assert "hot keys: each stays in one partition, since rows match by a range" in ss.explain(case.joined(**near))
    with refused(InvalidJoin, "hot_keys='spread' cannot be, since rows match by a range"):
        case.joined(hot_keys="spread", **near)
    with refused(InvalidJoin, "hot_keys='salted' is not known"):
        case.joined(hot_keys="salted")
