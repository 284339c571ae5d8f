"""Queries that stop by themselves when all that is there is joined: `availableNow` and `once`.

What every algorithm does then is tried without Spark, see `test_pulses`.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from stream_reading import stops_by_itself

import sooner.spark as ss
from estimate_driver import EstimateCase
from patience import HANG_SECONDS
from sooner.spark.step.standing import read_progress
from spark_joins import JoinCase, ended, skewed, write_files

pytestmark = stops_by_itself
FILES = 2
LEFT, RIGHT = skewed(3000, 1500, 1, "a"), skewed(3000, 1500, 2, "b")
MORE_LEFT, MORE_RIGHT = skewed(1000, 1500, 3, "a"), skewed(500, 1500, 4, "b")


def run(case: JoinCase, trigger: str) -> ss.Query:
    writer = case.joined().writeStream.format("parquet").option("checkpointLocation", str(case.checkpoint))
    chosen: dict[str, Any] = {trigger: True}
    query = ss.start(writer.trigger(**chosen), str(case.output))
    assert query.awaitTermination(HANG_SECONDS)
    return query


def batches_of(case: JoinCase) -> int:
    return len(list((case.checkpoint / "commits").glob("[0-9]*")))


def add(table: pa.Table, folder: Path) -> None:
    write_files(table, folder / "more", 1)
    (folder / "more" / "000.parquet").rename(folder / f"{FILES:03}.parquet")
    (folder / "more").rmdir()


@pytest.mark.parametrize(
    ("trigger", "algorithm", "how"),
    [
        ("availableNow", "pmj", "full"),
        pytest.param("once", "pr_join", "inner", marks=pytest.mark.long),  # in process: test_pacemaker.py
    ],
)
def test_all_that_is_there_is_joined_before_the_query_stops_and_the_rest_by_the_next_run(
    spark: SparkSession, tmp_path: Path, trigger: str, algorithm: str, how: str
) -> None:
    """Spilled pairs too, each pair once over both runs. The sides stay open until there is word of their end, and so do
    rows that match nothing by now.
    """
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, FILES, arguments={"algorithm": algorithm, "how": how})
    run(case, trigger)
    assert case.written() == case.expected(how="inner")
    progress = read_progress(str(case.state), 2)
    assert progress is not None
    assert progress.total.spilled_rows > 1000
    assert progress.total.covered_fraction == 1
    assert progress.total.phase in ("arriving", "reactive")

    add(MORE_LEFT, tmp_path / "left")
    add(MORE_RIGHT, tmp_path / "right")
    query = run(case, trigger)
    assert case.written() == case.expected(how="inner")
    assert not query.is_complete
    if trigger == "availableNow":
        batches = batches_of(case)
        run(case, trigger)
        assert batches_of(case) == batches, "there was no news"
    for side in ("left", "right"):
        query.finish(side)
    assert run(case, trigger).is_complete
    assert case.written() == case.expected()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("trigger", "memory"), [("availableNow", "256KB"), ("availableNow", "64MB"), ("once", "256KB")]
)
def test_an_estimate_of_files_is_exact_when_the_query_stops(
    spark: SparkSession, tmp_path: Path, trigger: str, memory: str
) -> None:
    """With `once` the only batch cannot know that its rows are the last: it has the sums of all, and the next run says
    that they are exact.
    """
    case = EstimateCase(spark, tmp_path)
    estimates = case.estimates(case.ours("right"), memory=memory)
    ended(query := case.start(estimates, trigger=trigger))
    if trigger == "once":
        assert {(row.s_low == row.s == row.s_high, row.exact) for row in case.written()} == {(True, False)}
        ended(query := case.start(estimates, trigger=trigger))
    case.require_exact(query.estimate)
    written = case.written()
    last = max(row.batch for row in written)
    assert {row.batch for row in written if row.exact} == {last}
    found = query.estimate
    assert found is not None
    assert {(row.g, row.h): row.s for row in written if row.batch == last} == {
        key: float(value["s"].value) for key, value in found.values.items()
    }
