"""A program without Java: a client of Spark Connect, which does what it is told by lines of its standard input.

Each line has a name of `TRIED` and a folder; the answer is a line too: what failed, or nothing.
"""

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, timestamp_seconds

import sooner.spark as ss
from enrich_driver import EnrichCase
from estimate_driver import EstimateCase
from multijoin_driver import MultiCase
from patience import until
from queries import refused
from sooner.errors import InvalidCall, InvalidJoin
from sooner.spark.joins.column_conditions import in_equalities, in_names
from sooner.spark.session import prerequisites, versions
from sooner.spark.session.connect import UnfitSession
from sooner.spark.sources.pushed_down import reading_of
from spark_joins import JoinCase, batch_of, ended, rows_of, skewed

LEFT, RIGHT = skewed(2000, 900, 1, "a"), skewed(1500, 900, 2, "b")


def join(spark: SparkSession, folder: Path) -> None:
    """A source of ours and one of Spark's, which is told to end."""
    case = JoinCase(spark, folder, LEFT, RIGHT, 2, {"how": "full"}, ways=("packed", "Spark's source"))
    assert ss.local_session() is spark
    left, right = case.streams()
    assert in_names(left, right, right.k == left.k, None, None) == (None, ["k"], ["k"])
    few = left.where("a > 1")  # a column of what it is made from is a column of it
    assert in_names(few, right, (left.k == right.k) & (col("a") == col("b")), None, None) == (
        None,
        ["k", "a"],
        ["k", "b"],
    )
    with refused(InvalidJoin, "is no column of the left that equals one of the right"):
        in_names(left, right, left.k > right.k, None, None)
    three = {"l": left, "r": right, "third": right.selectExpr("k as n")}
    assert in_equalities(three, (left.k == right.k) & (three["third"].n == left.a)) == [
        ("l.k", "r.k"),
        ("third.n", "l.a"),
    ]
    looked_up = ss.enrich(left, three["third"], left.k == three["third"].n, state=folder / "looked-up")
    assert looked_up.columns == ["k", "a", "n"]
    joined = case.joined()
    assert "left: packed by sooner.parquet: k, a" in ss.explain(joined)
    started: list[ss.Query] = []

    def listen(progress: ss.JoinProgress) -> None:
        if started and progress.total.arrived_rows[1] == RIGHT.num_rows:
            started[0].finish("right")

    writer = joined.writeStream.option("checkpointLocation", str(case.checkpoint))
    started.append(ss.start(writer, str(case.output), listener=listen))
    ended(started[0])
    assert started[0].is_complete
    assert case.written() == case.expected()


def at_rest(spark: SparkSession, folder: Path) -> None:
    """A condition on columns, and rows that are all there already, with an instant among them."""
    case = JoinCase(spark, folder, LEFT, RIGHT, 2, ways=("packed", "packed"))
    left, right = case.streams()[0], batch_of(spark, folder / "right").withColumn("at", timestamp_seconds("b"))
    joined = ss.join(left, right, left.k == right.k, how="left", partitions=2, state=case.state)
    assert joined.schema["at"].dataType == right.schema["at"].dataType
    ended(query := ss.start(joined.writeStream.option("checkpointLocation", str(case.checkpoint)), str(case.output)))
    assert query.is_complete
    assert case.written() == rows_of(batch_of(spark, folder / "left").join(right, "k", "left"))


def files(spark: SparkSession, folder: Path) -> None:
    """That tasks write, and the server commits; a query that is stopped goes on."""
    case = JoinCase(spark, folder, LEFT, RIGHT, 4, ways=("packed", "packed"))

    def start() -> ss.Query:
        writer = ss.sinks.parquet(case.joined(), str(case.output))
        return ss.start(writer.option("checkpointLocation", str(case.checkpoint)))

    first = start()
    until(lambda: first.progress is not None and first.progress.batch > 0)
    first.stop()
    ended(start())
    assert case.written() == case.expected()
    assert not list((case.output / "_sooner").glob("*.parquet"))


def goes_on(spark: SparkSession, folder: Path) -> None:
    case = JoinCase(spark, folder, LEFT, RIGHT, 6, ways=("packed", "not packed"))
    case.run_until_batch(1)
    case.run()
    assert case.written() == case.expected()


def one_stream_twice(spark: SparkSession, folder: Path) -> None:
    case = JoinCase(spark, folder, LEFT, RIGHT, 2, ways=("packed", "packed"))
    rows = case.streams()[0]
    joined = ss.join(rows, rows.select("k", col("a").alias("c")), on="k", memory="4MB", state=case.state)
    assert ss.explain(joined).count(": as Spark's rows: its source feeds another input too") == 2
    ended(query := ss.start(joined.writeStream.option("checkpointLocation", str(case.checkpoint)), str(case.output)))
    assert query.is_complete
    table = spark.read.parquet(str(folder / "left"))
    assert case.written() == rows_of(table.join(table.withColumnRenamed("a", "c"), "k"))


def delta(spark: SparkSession, folder: Path) -> None:
    from deltalake import DeltaTable

    case = JoinCase(spark, folder, LEFT, RIGHT, 2, ways=("packed", "packed"))
    writer = ss.sinks.delta(case.joined(), str(case.output))
    ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint))))
    assert DeltaTable(str(case.output)).to_pyarrow_table().num_rows == case.expected().total()


def estimate(spark: SparkSession, folder: Path) -> None:
    case = EstimateCase(spark, folder)
    ended(query := case.start(case.estimates(memory="16MB")))
    case.require_exact(query.estimate)
    assert any(not row.exact for row in case.written())


def enrich(spark: SparkSession, folder: Path) -> None:
    case = EnrichCase(spark, folder, 2)
    case.run(case.batch("master"))
    expected = case.batch("stream").join(case.batch("master"), "k")
    assert rows_of(spark.read.parquet(str(folder / "output"))) == rows_of(expected)


def multijoin(spark: SparkSession, folder: Path) -> None:
    case = MultiCase(spark, folder, 2)
    case.run()
    assert case.written() == case.expected()


def readings(spark: SparkSession, folder: Path) -> None:
    """What stands between a source and a join is read from the plan, unless only Spark can do it."""
    pq.write_table(pa.table({"k": [1, 2], "a.b": ["x", "y"], "f": [1.0, 2.0]}), folder / "rows.parquet")
    rows = ss.sources.parquet(spark, str(folder / "rows.parquet"))
    renamed = rows.withColumnRenamed("a.b", "text").drop("f").toDF("key", "text").select("text", col("key").alias("n"))
    wanted = renamed.where((col("n") > 1) & ~col("n").isin(5, 6) & (col("text") == "y") & col("text").isNotNull())
    described = "where (((k > 1 and not (k = 5 or k = 6)) and a.b = y) and a.b is not null)"
    assert str(reading_of(wanted)) == f"sooner.parquet: a.b, k, {described}"
    in_turn = rows.withColumnsRenamed({"k": "n", "n": "m"}).drop("m")
    assert in_turn.columns == ["a.b", "f"]
    assert str(reading_of(in_turn)) == "sooner.parquet: a.b, f"
    assert rows.select("`a.b`", "*").columns == ["a.b", "k", "a.b", "f"]
    for frame, why in (
        (rows.select("`a.b`", "*"), "two of its columns have one name"),
        (rows.select((col("k") + 1).alias("k")), "computed by Spark"),
        (rows.drop("K"), "its column 'K' is computed by Spark"),
        (rows.withColumnRenamed("K", "n").drop("n"), "its column 'K' is computed by Spark"),
        (rows.where("k > 1"), "Spark filters its rows"),
        (rows.where(col("f") > 1), "by a integer, and the column is double"),
        (rows.withWatermark("k", "1 second"), "a step of Spark's plan (with_watermark)"),
        (rows.union(rows), "a step of Spark's plan (set_op)"),
        (spark.readStream.format("rate").load(), "Spark's own source"),
    ):
        assert why in str(reading_of(frame)), (why, reading_of(frame))


def refusals(spark: SparkSession, folder: Path) -> None:
    """A worker without the package; a state that is elsewhere; `foreachBatch`, which runs outside of its query."""
    case = JoinCase(spark, folder, LEFT, RIGHT, 1, ways=("packed", "packed"))
    joined = case.joined()
    query = case.start(state=folder / "of-server")
    query._joins = [replace(query._joins[0], state=str(folder / "here"))]
    with refused(InvalidJoin, str(folder / "here"), "path or URI that means the same place"):
        query.awaitTermination()

    def write(rows: DataFrame, _: int) -> None:
        rows.collect()

    query = ss.start(joined.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "log")))
    with refused(InvalidJoin, "Under Spark Connect foreachBatch", "sooner.spark.sinks.parquet"):
        query.awaitTermination()
    told, versions.SETS_LIMITS = versions.SETS_LIMITS, False
    try:
        writer = joined.writeStream.option("checkpointLocation", str(folder / "to-stop"))
        with refused(InvalidJoin, "trigger(availableNow=True)", "leave it out"):
            ss.start(writer.trigger(availableNow=True), str(folder / "stopped"))
        assert not (folder / "to-stop").exists()
    finally:
        versions.SETS_LIMITS = told
    with refused(InvalidCall, "under Spark Connect", "give query='a name'"):
        ss.sinks.to_delta(str(folder / "table"))(spark.range(3), 0)
    looker = prerequisites._looker
    prerequisites._FIT.clear()
    prerequisites._looker = lambda: lambda: ["a Python", "", "", "No module named 'sooner'", ""]
    try:
        with refused(UnfitSession, "a Python", "No module named 'sooner'", "Install", "Spark Connect server"):
            case.joined(state=folder / "another")
    finally:
        prerequisites._looker = looker


TRIED: dict[str, Callable[[SparkSession, Path], None]] = {
    one.__name__: one
    for one in (join, readings, at_rest, files, goes_on, one_stream_twice, delta, estimate, enrich, multijoin, refusals)
}


def main(server: str) -> None:
    remote: Any = SparkSession.builder
    spark = remote.remote(server).getOrCreate()
    for line in sys.stdin:
        name, folder = line.split()
        try:
            TRIED[name](spark, Path(folder))
            failed = ""
        except BaseException:
            failed = traceback.format_exc()
        print(json.dumps(failed), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
