"""The columns of a join on Spark are PySpark's own: names, order, types, and which may be null."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from sooner.how import KINDS, How

KEYS = {
    "of one type": ("int", "int"),
    "of two widths": ("int", "bigint"),
    "small": ("tinyint", "smallint"),
    "decimals": ("decimal(12,2)", "decimal(30,5)"),
    "decimal and long": ("decimal(12,2)", "bigint"),
    "decimal and int": ("decimal(5,1)", "int"),
    "floats": ("float", "double"),
    "long and double": ("bigint", "double"),
    "int and float": ("int", "float"),
    "date and time": ("date", "timestamp_ntz"),
    "texts": ("string", "string"),
}


def columns_of(rows: DataFrame, key: str, key_type: str, value: str, other_key: str) -> DataFrame:
    """Keys that are not first, of which one may be null and one may not; and so for values."""
    number = F.col(rows.columns[-1]).cast("int")
    return rows.select(
        F.coalesce(number, F.lit(1)).alias(value),
        F.lit(None).cast(key_type).alias(key),
        F.when(number > 1, "text").alias(f"{value}_or_null"),
        F.lit("not null").alias(other_key),
    )


def both_ways(spark: SparkSession, **arguments: str) -> tuple[DataFrame, DataFrame]:
    """A stream, and rows that are there, with the same columns."""
    endless = spark.readStream.format("rate").load()
    return columns_of(endless, **arguments), columns_of(spark.range(1), **arguments)


# Only in a full join a key has a type that may be neither the left's nor the right's.
@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("types", "how"),
    [*((types, "full") for types in KEYS), *(("of two widths", how) for how in KINDS if how != "full")],
)
def test_by_one_name_for_both_sides(spark: SparkSession, tmp_path: Path, types: str, how: How) -> None:
    left, left_batch = both_ways(spark, key="k", key_type=KEYS[types][0], value="a", other_key="k2")
    right, right_batch = both_ways(spark, key="k", key_type=KEYS[types][1], value="b", other_key="k2")
    joined = ss.join(left, right, on=["k", "k2"], how=how, state=tmp_path / "state")
    assert joined.schema == left_batch.join(right_batch, on=["k", "k2"], how=how).schema


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", KINDS)
def test_by_a_name_for_each_side(spark: SparkSession, tmp_path: Path, how: How) -> None:
    left, left_batch = both_ways(spark, key="k", key_type="int", value="a", other_key="x")
    right, right_batch = both_ways(spark, key="l", key_type="bigint", value="b", other_key="y")
    names: dict[str, list[str]] = {"left_on": ["k", "x"], "right_on": ["l", "y"]}
    joined = ss.join(left, right, **names, how=how, state=tmp_path / "state")  # type: ignore[arg-type]
    condition = (left_batch.k == right_batch.l) & (left_batch.x == right_batch.y)
    assert joined.schema == left_batch.join(right_batch, condition, how).schema
