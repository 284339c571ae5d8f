"""What Spark's own UI says of a query with joins: asked of its REST interface, which has what the pages show."""

import json
import urllib.request
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import sooner.spark as ss
from patience import until
from spark_joins import JoinCase, ended, skewed

LEFT, RIGHT = skewed(400, 150, 1, "a"), skewed(300, 150, 2, "b")
NAME = "orders and customers"


def asked_of_ui(spark: SparkSession, what: str) -> list[dict[str, Any]]:
    context = spark.sparkContext
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}"
    with urllib.request.urlopen(address) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return [one for one in found if NAME in one.get("description", "")]


def test_jobs_and_stages_say_how_far_the_join_is_and_the_plan_names_it(spark: SparkSession, tmp_path: Path) -> None:
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, 4, ways=("packed", "packed"))
    writer = ss.sinks.parquet(case.joined(), str(case.output)).queryName(NAME)
    ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint)), listener=case.listen))
    last = f"batch = {case.progress[-1].batch}\n"
    until(lambda: any(last in job["description"] for job in asked_of_ui(spark, "jobs")), "the last job is not there")

    said = {str(progress): f"batch = {progress.batch + 1}\n{progress}" for progress in case.progress[:-1]}
    for what in ("jobs", "stages"):
        descriptions = [one["description"] for one in asked_of_ui(spark, what)]
        assert all(any(text in one for one in descriptions) for text in said.values()), (what, descriptions, said)
    plans = [one["planDescription"] for one in asked_of_ui(spark, "sql?planDescription=true&length=10000")]
    assert any(f"join of left, right in {case.state}(" in plan for plan in plans), plans[-1]


def test_other_sinks_have_jobs_with_the_name_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, 1, ways=("packed", "packed"))
    writer = case.joined().writeStream.format("noop").queryName(f"{NAME}, by Spark's sink")
    ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint)), listener=case.listen))
    until(lambda: any("by Spark's sink" in job["description"] for job in asked_of_ui(spark, "jobs")), "no job is there")
