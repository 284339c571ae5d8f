"""What PySpark users hand in: conditions on columns, and no state."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark.joins.column_conditions import in_names


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    rate = spark.readStream.format("rate").load()
    left = rate.selectExpr("value as k", "cast(value as int) as small", "cast(value as string) as text", "value as a")
    return left, rate.selectExpr("value as k", "value as id", "cast(value as string) as other", "value as b")


Both = tuple[DataFrame, DataFrame]
Condition = Callable[[DataFrame, DataFrame], Any]

MEANT: dict[str, tuple[Condition, tuple[list[str], list[str]]]] = {
    "one": (lambda left, right: left.a == right.b, (["a"], ["b"])),
    "of one name": (lambda left, right: left.k == right.k, (["k"], ["k"])),
    "the right first": (lambda left, right: right.id == left.k, (["k"], ["id"])),
    "several": (
        lambda left, right: (left.a == right.b) & (left["text"] == right["other"]),
        (["a", "text"], ["b", "other"]),
    ),
    "a list": (lambda left, right: [left.a == right.b, left.k == right.id], (["a", "k"], ["b", "id"])),
    "by names": (lambda left, right: F.col("a") == F.col("b"), (["a"], ["b"])),  # noqa: ARG005
    "two widths": (lambda left, right: left.small == right.id, (["small"], ["id"])),
}


@pytest.mark.parametrize("case", MEANT)
def test_a_condition_is_the_names_of_its_columns(sides: Both, case: str) -> None:
    condition, names = MEANT[case]
    assert in_names(*sides, condition(*sides), None, None) == (None, *names)


def test_both_sides_may_be_made_of_one_frame(sides: Both) -> None:
    left = sides[0].alias("l")
    right = sides[0].alias("r")
    assert in_names(left, right, F.col("l.k") == F.col("r.a"), None, None) == (None, ["k"], ["a"])


@pytest.mark.parametrize(
    ("condition", "mentions"),
    [
        (lambda left, right: left.k > right.k, ["within="]),
        (lambda left, right: (left.k == right.k) & (left.a < 5), ["&", "within="]),
        (lambda left, right: left.k + 1 == right.k, ["compute others before the join"]),
        (lambda left, right: left.k == 5, ["is no column of the left that equals one of the right"]),  # noqa: ARG005
        (lambda left, right: left.k.cast("int") == right.id, ["compute others before the join"]),
        (lambda left, right: left.k.eqNullSafe(right.k), ["is no column of the left that equals"]),
        (lambda left, right: (left.k == right.k) | (left.a == right.b), ["is no column of the left"]),
        (lambda left, right: ["k", left.a == right.b], ["names and conditions"]),
    ],
)
def test_a_condition_that_is_no_equality_of_columns_is_refused(
    sides: Both, tmp_path: Path, condition: Condition, mentions: list[str]
) -> None:
    with refused(InvalidJoin, *mentions):
        ss.join(*sides, on=condition(*sides), state=tmp_path / "state")


def test_a_state_that_is_missing_is_asked_for_everywhere(sides: Both) -> None:
    left, right = sides
    with refused(InvalidJoin, "state=None", "outlives the program", 'state="/data/join-state"'):
        ss.join(left, right, "k")
    with refused(InvalidJoin, "state=None"):
        ss.estimate(left, right, "k", aggregates={"n": "count(*)"}, sampling="rows")
    with refused(InvalidJoin, "state=None"):
        ss.multijoin({"a": left, "b": right}, on="k")
    with refused(InvalidJoin, "state=None"):
        ss.enrich(left, right, "k")
