"""The handle of a query has what Spark's `StreamingQuery` has, and figures from the first batch on."""

from pathlib import Path

from pyspark.sql import SparkSession

import sooner.spark as ss
from patience import HANG_SECONDS
from spark_joins import JoinCase, skewed

LEFT, RIGHT = skewed(300, 150, 1, "a"), skewed(300, 150, 2, "b")


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
    observed = [progress["observedMetrics"][f"sooner:{case.state}"] for progress in query.recentProgress]
    assert all(None not in figures.asDict().values() for figures in observed)
    assert observed[0].phase == "arriving"
