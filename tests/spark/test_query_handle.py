"""The handle of a query has what Spark's `StreamingQuery` has, and figures of each batch."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from patience import HANG_SECONDS, until
from sooner.spark.dataflow.figures import figures, metrics_of
from sooner.spark.query.batch_figures import BatchFigures
from spark_joins import JoinCase, ended, skewed

LEFT, RIGHT = skewed(300, 150, 1, "a"), skewed(300, 150, 2, "b")
INPUTS = ("left", "right")


def test_a_handle_answers_as_a_streaming_query(spark: SparkSession, tmp_path: Path) -> None:
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, 2)
    writer = case.joined().writeStream.format("parquet").queryName("joined")
    query = ss.start(writer.option("checkpointLocation", str(case.checkpoint)), str(case.output))
    assert query.name == "joined"
    assert query.status.keys() >= {"message", "isDataAvailable", "isTriggerActive"}
    query.processAllAvailable()
    assert query.lastProgress["name"] == "joined"
    if query.isActive:
        query.finish("left")
        query.finish("right")
    assert query.awaitTermination(HANG_SECONDS)
    assert query.exception() is None
    spark_query = query.spark_query
    assert (query.id, query.runId) == (str(spark_query.id), str(spark_query.runId))


def test_observed_metrics_are_of_the_batch_itself(spark: SparkSession, tmp_path: Path) -> None:
    """Also of one without a pulse, in which rows come to a query that rests; and where nobody looked in time."""
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, 2)
    name = metrics_of(str(case.state))
    writer = case.joined().observe("mine", F.count(F.lit(1)).alias("rows")).writeStream
    query = ss.start(
        writer.option("checkpointLocation", str(case.checkpoint)), str(case.output), listener=case.progress.append
    )
    until(lambda: query.lastProgress is not None, "no progress comes")
    query.processAllAvailable()
    before = query.lastProgress
    pq.write_table(LEFT, tmp_path / "left" / "more.parquet")
    query.processAllAvailable()
    for side in INPUTS:
        query.finish(side)
    ended(query)

    of_each = {progress.batch: figures(progress, INPUTS) for progress in case.progress}
    last, recent, by_spark = query.lastProgress, query.recentProgress, query.spark_query.recentProgress
    ran = [one for one in recent if "addBatch" in one["durationMs"]]
    assert [one["observedMetrics"][name].asDict() for one in ran] == [of_each[one["batchId"]] for one in ran]
    assert before["observedMetrics"][name].arrived_left == LEFT.num_rows
    assert last["observedMetrics"][name].arrived_left == 2 * LEFT.num_rows
    assert last["observedMetrics"][name].phase == "done"
    assert json.loads(last.json)["observedMetrics"][name] == of_each[ran[-1]["batchId"]]
    assert sum(one["observedMetrics"]["mine"].rows for one in ran) == last["observedMetrics"][name].results
    assert any(None in one["observedMetrics"][name].asDict().values() for one in by_spark), "each batch had a pulse"

    shutil.rmtree(case.state)
    unseen = BatchFigures(query.joins).among_metrics(lambda: by_spark)
    assert [one["observedMetrics"][name] for one in unseen[:-1]] == [
        one["observedMetrics"][name] for one in recent[:-1]
    ]
