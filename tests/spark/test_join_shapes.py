"""Queries of other shapes: joins of joins, and of a stream with itself. Their sources end, and so do they."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from patience import HANG_SECONDS
from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark.sources import parquet
from spark_joins import JoinCase, ended, rows_of, skewed

TABLES = {name: skewed(600, 400, seed, name) for seed, name in enumerate("abc")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, table in TABLES.items():
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=300)
    return tmp_path


def stream(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    return parquet(spark, str(folder / f"{name}.parquet"), rows_per_batch=300)


def batch(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    return spark.read.parquet(str(folder / f"{name}.parquet"))


def run(joined: DataFrame, folder: Path) -> ss.Query:
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = ss.start(writer, str(folder / "output"))
    ended(query)
    assert query.is_complete
    return query


def test_a_join_of_a_join_ends_by_itself(spark: SparkSession, folder: Path) -> None:
    inner, outer = folder / "inner", folder / "outer"
    a, b, c = (stream(spark, folder, name) for name in "abc")
    first = ss.join(a, b, on="k", partitions=2, memory="128KB", algorithm="xjoin", state=inner)
    query = run(ss.join(c, first, on="k", partitions=2, memory="128KB", state=outer), folder)
    a, b, c = (batch(spark, folder, name) for name in "abc")
    assert rows_of(spark.read.parquet(str(folder / "output"))) == rows_of(c.join(a.join(b, on="k"), on="k"))
    for state in (inner, outer):
        progress = query.progress_of(str(state))
        assert progress is not None
        assert progress.total.phase == "done"
    with refused(InvalidJoin, "several joins", str(inner), str(outer)):
        query.finish("left")
    with refused(InvalidJoin, "no join", "elsewhere"):
        query.finish("left", "elsewhere")
    with refused(InvalidJoin, "side='top'"):
        query.finish("top")  # type: ignore[arg-type]


def test_a_stream_joined_with_itself_and_columns_of_intervals(spark: SparkSession, folder: Path) -> None:
    """Of days to seconds: others are refused, see `test_spark_refusals`."""
    aged = ("*", "make_dt_interval(a) as age")
    a = stream(spark, folder, "a").selectExpr(*aged)
    run(ss.join(a, a, on="k", partitions=2, memory="128KB", algorithm="hmj", state=folder / "state"), folder)
    a = batch(spark, folder, "a").selectExpr(*aged)
    expected = a.join(a.withColumnsRenamed({"a": "again", "age": "age again"}), on="k")
    assert rows_of(spark.read.parquet(str(folder / "output"))) == rows_of(expected)


def test_columns_are_told_apart_by_case_as_the_session_says_and_the_handle_shows_how_far_it_is(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    left = TABLES["a"].append_column("K", TABLES["a"]["a"])
    right = TABLES["b"].append_column("K", TABLES["b"]["k"]).append_column("A", TABLES["b"]["b"])
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        case = JoinCase(spark, tmp_path, left, right, batches=1)
        query = case.run(state="~/nowhere/../state")
        assert case.joined().columns == ["k", "a", "K_left", "b", "K_right", "A"]
        assert case.written() == case.expected()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert query.progress is not None
    assert repr(query) == f"<sooner.spark.Query ended, {query.progress.total}; state {tmp_path / 'state'}>"


def test_a_query_over_all_that_is_available_passes_batches_without_a_row(spark: SparkSession, tmp_path: Path) -> None:
    """A filter before the join can leave nothing of many batches."""
    case = JoinCase(spark, tmp_path, TABLES["a"], TABLES["b"], batches=4)
    left, right = (rows.where(f"{name} >= 550") for rows, name in zip(case.streams(), "ab", strict=True))
    joined = ss.join(left, right, on="k", partitions=1, memory="1MB", state=case.state)
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(case.checkpoint))
    for _ in ("all that is there", "and nothing more"):
        assert writer.trigger(availableNow=True).start(str(case.output)).awaitTermination(HANG_SECONDS)
    assert sum(case.written().values()) == case.spark_join().where("a >= 550 and `right b` >= 550").count()
