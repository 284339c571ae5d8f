"""Wrong calls are refused before a query starts, in a sentence that names the culprit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from test_state_directory import IDENTITY, used_state

import sooner.spark as ss
from queries import refused
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.runs.formats.versions import Header
from sooner.spark.step.state_directory import location_of


@pytest.fixture(scope="module", params=["Spark's source", "packed"])
def rows(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Spark's own endless source, or one of ours; neither is ever started here."""
    if request.param == "packed":
        file = tmp_path_factory.mktemp("rows") / "rows.parquet"
        pq.write_table(pa.table({"k": [1, 2], "text": ["text"] * 2}), file)
        return ss.sources.parquet(spark, str(file))
    return spark.readStream.format("rate").load().select(col("value").alias("k"), lit("text").alias("text"))


@pytest.fixture(autouse=True)
def nothing_started(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    before = {query.id for query in spark.streams.active}
    yield
    assert {query.id for query in spark.streams.active} == before
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"on": None}, ["on=", "left_on="]),
        ({"on": "k", "left_on": "k"}, ["on=", "left_on="]),
        ({"on": None, "left_on": "k"}, ["right_on="]),
        ({"on": 5}, ["on=5"]),
        ({"on": []}, ["key column"]),
        ({"on": "key"}, ["left", "'key'", "k, text"]),
        ({"on": ["k", "k"]}, ["'k'", "twice"]),
        ({"on": None, "left_on": ["k"], "right_on": ["k", "text"]}, ["1 key columns", "2 on"]),
        ({"on": None, "left_on": "k", "right_on": "text"}, ["'k'", "int64", "string"]),
        ({"how": "otter"}, ["how='otter'", "did you mean", "'outer'"]),
        ({"how": "cross", "on": None}, ["how='cross'", "'inner'"]),
        ({"how": "semi", "suffixes": ("_a", "_b")}, ["suffixes=('_a', '_b')", "never", "how='semi'"]),
        ({"how": "full", "suffixes": ("", "")}, ["how='full'", "'text'", "suffixes"]),
        ({"algorithm": "xjion"}, ["'xjion'", "'xjoin'"]),
        ({"suffixes": "_"}, ["suffixes='_'"]),
        ({"suffixes": ("", "")}, ["'text'", "suffixes"]),
        ({"memory": "much"}, ["memory='much'"]),
        ({"memory": 0}, ["memory=0"]),
        ({"partitions": 0}, ["partitions=0"]),
        ({"partitions": 1.5}, ["partitions=1.5"]),
        ({"partitions": "2"}, ["partitions='2'"]),
        ({"partitions": True}, ["partitions=True", "whole number"]),
        ({"memory": "1" + "0" * 400}, ["more than any machine has"]),
        ({"shared_memory": "with\0nul"}, ["shared_memory=", "path of a directory"]),
        ({"by": "k"}, ["by='k'", "without within="]),
        ({"within": -1}, ["within=-1 is no distance"]),
        ({"within": 5, "on": "text"}, ["'text'", "no two are a number apart"]),
        ({"within": 5, "by": "colour"}, ["the left has no column 'colour'"]),
        ({"within": (5, None)}, ["within=(5, None)", "no high end", "give both ends", "by="]),
        ({"within": (None, 5), "how": "full"}, ["within=(None, 5)", "no low end", "by="]),
        ({"state": None}, ["state=None", "outlives the program", 'state="/data/join-state"']),
        ({"state": ""}, ["state=''"]),
        ({"state": "nowhere://there"}, ["nowhere://there"]),
        ({"state": "with\0nul"}, [r"state='with\x00nul'", "path of a directory"]),
        ({"state": "~nobody-of-this-name/state"}, ["state='~nobody-of-this-name/state'", "home"]),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(
    rows: DataFrame, tmp_path: Path, arguments: dict[str, Any], mentions: list[str]
) -> None:
    with refused(InvalidJoin, *mentions):
        ss.join(rows, rows, **{"on": "k", "state": tmp_path / "state"} | arguments)


def test_memory_that_gives_partitions_too_little_is_refused(rows: DataFrame, tmp_path: Path) -> None:
    with refused(BudgetTooSmall, "memory='1MB'", "17 partitions", "64.0 KB"):
        ss.join(rows, rows, on="k", memory="1MB", partitions=17, state=tmp_path / "state")


def test_what_is_no_stream_is_refused(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with refused(InvalidJoin, "right is a list", "DataFrames"):
        ss.join(rows, [1, 2], on="k", state=state)  # type: ignore[arg-type]
    with refused(InvalidJoin, "left is not a streaming DataFrame", "readStream"):
        ss.join(spark.range(5).toDF("k"), rows, on="k", state=state)


def test_columns_that_cannot_be_told_apart_are_refused(rows: DataFrame, tmp_path: Path) -> None:
    with refused(InvalidJoin, "right has the columns 'text' and 'text'"):
        ss.join(rows, rows.select("*", "text"), on="k", state=tmp_path / "state")
    with refused(InvalidJoin, "the result has the columns 'text' and 'TEXT'"):
        ss.join(rows, rows.toDF("k", "TEXT"), on="k", state=tmp_path / "state")


@pytest.mark.parametrize("key", ["array(k)", "struct(k)", "map(k, k)"])
def test_a_key_of_a_nested_type_is_refused(rows: DataFrame, tmp_path: Path, key: str) -> None:
    nested = rows.selectExpr(f"{key} as k")
    with refused(InvalidJoin, "'k'", "cannot be a key"):
        ss.join(nested, nested, on="k", state=tmp_path / "state")


def test_a_key_that_compares_by_a_collation_is_refused(rows: DataFrame, tmp_path: Path) -> None:
    collated = rows.selectExpr("k", "text collate UTF8_LCASE as text")
    with refused(InvalidJoin, "'text'", "left", "UTF8_LCASE"):
        ss.join(collated, rows, on="text", state=tmp_path / "state")
    ss.join(collated, rows, on="k", state=tmp_path / "state")


def test_a_state_with_a_newer_version_of_another_join_is_refused(rows: DataFrame, tmp_path: Path) -> None:
    used_state(tmp_path).publish(Header(5, IDENTITY | {"keys": [["x"], ["x"]]}, {}), {})
    with refused(InvalidJoin, location_of(tmp_path)):
        ss.join(rows, rows, on="k", partitions=2, state=tmp_path)


@pytest.mark.parametrize("interval", ["make_ym_interval(1, 2)", "make_interval(1)", "array(make_ym_interval(1, 2))"])
def test_an_interval_that_arrow_does_not_know_is_refused_with_its_column(
    rows: DataFrame, tmp_path: Path, interval: str
) -> None:
    intervals = rows.selectExpr("k", f"{interval} as age")
    with refused(InvalidJoin, "column 'age' on the right is", "interval", "cast it"):
        ss.join(rows, intervals, on="k", state=tmp_path / "state")


def test_a_query_without_a_join_is_refused(rows: DataFrame) -> None:
    with refused(InvalidJoin, "no join"):
        ss.start(rows.writeStream.format("noop"))


def test_a_dataframe_instead_of_a_writer_is_refused_with_what_to_give(rows: DataFrame, tmp_path: Path) -> None:
    joined = ss.join(rows, rows, on="k", state=tmp_path / "state")
    with refused(InvalidJoin, "start takes a writer", "DataFrame", "joined.writeStream"):
        ss.start(joined)  # type: ignore[arg-type]
    with refused(InvalidJoin, "start takes a writer", "NoneType"):
        ss.start(None)  # type: ignore[arg-type]


def test_two_joins_with_one_state_are_refused(rows: DataFrame, tmp_path: Path) -> None:
    """Each would take the rows of the other for its own."""
    other = rows.where("k > 5")
    some, others = (ss.join(rows, right, on="k", state=tmp_path / "state") for right in (rows, other))
    with refused(InvalidJoin, "one state", str(tmp_path / "state")):
        ss.start(some.union(others).writeStream.format("noop"))
