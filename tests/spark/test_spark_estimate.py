"""Estimates on real Spark: they close in on Spark's own aggregate, end with it, and survive what fails on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from estimate_driver import AGGREGATES, BATCHES, FEW, ROWS, WHERE, EstimateCase, tables
from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark.sources.known_rows import known_rows
from spark_joins import ended, stream_of, write_files


def failing_once_in(batches: set[int], estimates: DataFrame) -> DataFrame:
    """The task that adds up fails the first time in these batches, when all partitions have published."""

    def take_all(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = list(rows)
        context = TaskContext.get()
        assert context is not None
        if int(context.getLocalProperty("streaming.sql.batchId") or 0) in batches and context.attemptNumber() == 0:
            raise RuntimeError("lost on the way")
        yield from taken

    return estimates.mapInArrow(take_all, estimates.schema)


def test_estimates_close_in_on_the_exact_answer_whatever_fails(spark: SparkSession, tmp_path: Path) -> None:
    case, written, crashed = EstimateCase(spark, tmp_path), dict[int, list[Any]](), list[int]()

    def write(rows: DataFrame, batch: int) -> None:
        written[batch] = rows.collect()
        if batch == 2 and not crashed:
            crashed.append(batch)
            raise RuntimeError("killed after the sink")

    query = case.start(failing_once_in({1, 3}, case.estimates()), write)
    with pytest.raises(StreamingQueryException, match="killed after the sink"):
        ended(query)
    halfway = query.estimate
    assert halfway is not None
    assert not halfway.exact

    query = case.start(failing_once_in({1, 3}, case.estimates()), write)
    again = query.estimate
    assert again is not None
    assert again.rows >= halfway.rows
    ended(query)
    case.require_exact(query.estimate)

    last = max(written)
    # The pacemaker waits a quarter of a second for the query to be stopped; on a busy machine one batch more comes by
    # then, which says the same.
    exact_since = min(batch for batch, rows in written.items() if any(row.exact for row in rows))
    assert last - 1 <= exact_since <= last
    said = [sorted(str({**row.asDict(), "batch": None}) for row in written[batch]) for batch in (exact_since, last)]
    assert said[0] == said[1]
    for batch, rows in written.items():
        assert {row.batch for row in rows} == {batch}
        assert {row.exact for row in rows} == {batch >= exact_since}
    assert [row.share_read for row in written[0]] == [pytest.approx(1 / BATCHES)] * 4
    widths = [np.mean([row.s_high - row.s_low for row in written[batch]]) for batch in (0, 3)]
    assert 0 < widths[1] < widths[0]
    found = query.estimate
    assert found is not None
    assert {(row.g, row.h): (row.n, row.s, row.s_low, row.s_high) for row in written[last]} == {
        key: (value["n"].value, *[float(value["s"].value)] * 3) for key, value in found.values.items()
    }

    again = case.estimates()
    assert "  algorithm: pr_join, since the state was made with it" in ss.explain(again).splitlines()
    query = case.start(again, write)  # it has nothing left to do, and shows what it had found
    case.require_exact(query.estimate)
    ended(query)
    with refused(InvalidJoin, "answers another question", "sum(q)"):
        case.estimates(aggregates={"q": ("sum", "q")})


def test_without_groups_and_sizes_there_are_sums_so_far(spark: SparkSession, tmp_path: Path) -> None:
    """Also of expressions over both sides, which are evaluated for pairs; and of batches as blocks."""
    case, written = EstimateCase(spark, tmp_path), list[Any]()
    aggregates = {"n": "count", "more": ("sum", "case when q > w then q else w end")}
    estimates = case.estimates(aggregates=aggregates, by=None, total_rows=None, sampling="blocks")
    assert "blocks come in random order" in ss.explain(estimates)
    query = case.start(estimates, lambda rows, _: written.extend(rows.collect()))
    ended(query)
    assert written[0].n > 0
    assert (written[0].n_low, written[0].share_read) == (None, None)
    left, right = (spark.read.parquet(str(tmp_path / name)) for name in ("left", "right"))
    n, more = left.join(right, "k").where(WHERE).selectExpr("count(*)", "sum(if(q > w, q, w))").collect()[0]
    found = query.estimate
    assert found is not None
    assert (found["n"].value, found["more"].value) == (n, more) == (written[-1].n, written[-1].more)
    assert found.rows == ROWS + FEW


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        ({"algorithm": "rpj"}, ("algorithm='rpj'", "pr_join")),
        ({"aggregates": {}}, ("aggregates=",)),
        ({"aggregates": {"s": ("sum", "prise")}}, ("prise",)),
        ({"where": "g > 1 and nothing = 2"}, ("where=",)),
        ({"by": "nobody"}, ("nobody",)),
        ({"confidence": 95}, ("confidence=95",)),
        ({"sampling": "all"}, ("sampling='all'", "'rows'")),
        ({"total_rows": 5}, ("total_rows=5",)),
        ({"aggregates": {"batch": "count"}}, ("batch", "rename")),
        ({"partitions": 0}, ("partitions",)),
    ],
)
def test_wrong_calls_are_refused(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any], mentions: tuple[str, ...]
) -> None:
    folder = tmp_path_factory.mktemp("refused")
    for name, table in zip(("left", "right"), tables(), strict=True):
        write_files(table.slice(0, 10), folder / name, 1)
    left, right = (ss.sources.parquet(spark, str(folder / name)) for name in ("left", "right"))
    with refused(InvalidJoin, *mentions):
        ss.estimate(
            left, right, "k", **{"aggregates": AGGREGATES, "state": folder / "state", "sampling": "rows"} | arguments
        )
    assert not (folder / "state").exists()


def test_files_say_how_many_rows_will_come(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tables()[1], tmp_path / "right", 2)
    rows = ss.sources.parquet(spark, str(tmp_path / "right"))
    assert known_rows(rows) == known_rows(rows.select("w", "k")) == FEW
    assert known_rows(rows.where("w > 3")) is None
    assert known_rows(stream_of(spark, tmp_path / "right")) is None


def test_what_comes_in_random_order_is_known_or_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    for name, table in zip(("left", "right"), tables(), strict=True):
        write_files(table.slice(0, 10), tmp_path / name, 1)
    left, right = (ss.sources.parquet(spark, str(tmp_path / name), order="random") for name in ("left", "right"))
    estimates = ss.estimate(left, right, "k", aggregates=AGGREGATES, state=tmp_path / "state")
    assert "blocks come in random order" in ss.explain(estimates)
    in_order = ss.sources.parquet(spark, str(tmp_path / "left"))
    with pytest.warns(UserWarning, match="rows of the left come in random order.*sampling='rows'"):
        ss.estimate(in_order, right, "k", aggregates=AGGREGATES, state=tmp_path / "other")


def test_a_join_makes_no_estimate(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tables()[1], tmp_path / "right", 1)
    left, right = (ss.sources.parquet(spark, str(tmp_path / "right"), seed=seed) for seed in (1, 2))
    joined = ss.join(left, right, "k", state=tmp_path / "state")
    query = ss.start(joined.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "log")))
    with query, refused(InvalidJoin, "sooner.spark.estimate"):
        query.estimate  # noqa: B018
