"""Each batch once in a Delta table, whatever happens between."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from stream_reading import run_to_end

from sooner.errors import InvalidCall
from sooner.spark import sources
from sooner.spark.sinks import to_delta


def frame_of(spark: SparkSession, rows: range) -> DataFrame:
    return spark.range(rows.start, rows.stop, numPartitions=3).selectExpr("id AS k", "concat('row ', id) AS s")


def content(path: Path) -> list[tuple[Any, ...]]:
    table = DeltaTable(str(path)).to_pyarrow_table()
    return sorted(zip(*(table.column(name).to_pylist() for name in ("k", "s")), strict=True))


def expected(rows: range) -> list[tuple[Any, ...]]:
    return [(k, f"row {k}") for k in rows]


@pytest.fixture(autouse=True)
def _no_streaming_query(spark: SparkSession) -> Iterator[None]:
    """A test outside a stream must not find the id of an earlier one."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)  # type: ignore[arg-type]
    yield


def test_a_batch_written_twice_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    write = to_delta(str(tmp_path / "table"), query="q")
    write(frame_of(spark, range(50)), 0)
    write(frame_of(spark, range(50)), 0)
    assert content(tmp_path / "table") == expected(range(50))
    write(frame_of(spark, range(50, 60)), 1)
    write(frame_of(spark, range(50)), 0)
    assert content(tmp_path / "table") == expected(range(60))
    assert DeltaTable(str(tmp_path / "table")).transaction_version("q") == 1
    to_delta(str(tmp_path / "table"), query="another")(frame_of(spark, range(60, 61)), 0)
    assert content(tmp_path / "table") == expected(range(61))


def test_a_batch_without_rows_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write = to_delta(str(tmp_path / "table"), query="q")
    write(frame_of(spark, range(0)), 0)
    assert content(tmp_path / "table") == []
    assert DeltaTable(str(tmp_path / "table")).version() == 0


def test_values_of_many_types(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        (
            1,
            0.5,
            Decimal("1.50"),
            True,
            datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
            b"\x00",
            ["a", None],
            datetime(1999, 1, 1),
        ),
        (None,) * 8,
    ]
    schema = (
        "i int, f double, n decimal(10,2), b boolean, ts timestamp, raw binary, list array<string>, nt timestamp_ntz"
    )
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    to_delta(str(tmp_path / "table"), query="q")(frame, 0)
    to_delta(str(tmp_path / "table"), query="q")(frame, 1)
    found = DeltaTable(str(tmp_path / "table")).to_pyarrow_table().to_pylist()
    assert [tuple(row.values()) for row in found] == [*rows, *rows]


def test_a_crash_before_the_commit_leaves_nothing_to_see(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = to_delta(str(tmp_path / "table"), query="q")

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "create_write_transaction", crash)
        with pytest.raises(KeyboardInterrupt):
            write(frame_of(spark, range(5)), 0)
    assert list((tmp_path / "table").glob("*.parquet")) != []
    assert content(tmp_path / "table") == []
    write(frame_of(spark, range(5)), 0)
    assert content(tmp_path / "table") == expected(range(5))


def test_a_stream_that_crashes_after_the_commit_is_exact_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    arrow_parquet.write_table(pa.table({"k": range(60), "s": [f"row {k}" for k in range(60)]}), tmp_path / "in.parquet")
    frame = sources.parquet(spark, str(tmp_path / "in.parquet"), rows_per_batch=30)
    write = to_delta(str(tmp_path / "table"))

    def crashing(batch: DataFrame, batch_id: int) -> None:
        write(batch, batch_id)
        raise RuntimeError("crashed on purpose")

    with pytest.raises(StreamingQueryException):
        run_to_end(frame, tmp_path / "checkpoint", crashing)
    assert len(content(tmp_path / "table")) == 30
    query = run_to_end(frame, tmp_path / "checkpoint", write)
    assert content(tmp_path / "table") == expected(range(60))
    assert DeltaTable(str(tmp_path / "table")).transaction_version(query.id) == 1


def test_what_does_not_fit_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, range(5))
    with pytest.raises(InvalidCall, match="there is no Delta table"):
        to_delta(str(tmp_path / "no"), query="q", if_missing="refuse")(frame, 0)
    with pytest.raises(InvalidCall, match="if_missing is 'ask'"):
        to_delta("x", if_missing="ask")  # type: ignore[arg-type]
    with pytest.raises(InvalidCall, match="path is empty"):
        to_delta("")
    with pytest.raises(InvalidCall, match="no streaming query gave this batch"):
        to_delta(str(tmp_path / "no"))(frame, 0)
    rows = pa.table({"k": [1], "s": ["x"]})
    write_deltalake(str(tmp_path / "other"), rows.select(["k"]))
    with pytest.raises(InvalidCall, match="has the columns k int64, but the batch has k int64, s string"):
        to_delta(str(tmp_path / "other"), query="q")(frame, 0)
    write_deltalake(str(tmp_path / "parted"), rows, partition_by=["k"])
    with pytest.raises(InvalidCall, match="is partitioned by k; give one without partitions"):
        to_delta(str(tmp_path / "parted"), query="q")(frame, 0)
    write_deltalake(str(tmp_path / "bound"), rows)
    DeltaTable(str(tmp_path / "bound")).alter.add_constraint({"positive": "k > 0"})
    with pytest.raises(InvalidCall, match="asks its writers for"):
        to_delta(str(tmp_path / "bound"), query="q")(frame, 0)
