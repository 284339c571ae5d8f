"""Each batch once in a directory of Parquet files, whichever reader looks, whatever happens between."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pytest
from deltalake import DeltaTable
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from stream_reading import stops_by_itself

import sooner.spark as ss
from sooner.errors import InvalidCall
from sooner.spark.sinks import parquet_sink
from sooner.spark.sinks.files import WRITTEN, ParquetTask, writer_of
from sooner.spark.sinks.parquet_sink import ParquetSink
from spark_joins import JoinCase, Rows, ended, rows_of, skewed

LEFT, RIGHT = skewed(900, 300, 1, "a"), skewed(700, 300, 2, "b")


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> JoinCase:
    return JoinCase(spark, tmp_path, LEFT, RIGHT, batches=2, ways=("packed", "packed"))


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """All tests here join the same tables."""
    return JoinCase(spark, tmp_path_factory.mktemp("expected"), LEFT, RIGHT, batches=2).expected()


def start(case: JoinCase) -> ss.Query:
    writer = ss.sinks.parquet(case.joined(), str(case.output))
    return ss.start(writer.option("checkpointLocation", str(case.checkpoint)))


def found_by_arrow(folder: Path) -> int:
    """A reader that knows nothing of Spark."""
    return int(arrow_dataset.dataset(folder, format="parquet").count_rows())


def unseen(case: JoinCase) -> list[str]:
    return sorted(path.name for path in (case.output / "_sooner").glob("*.parquet"))


def test_a_join_is_written_by_its_own_tasks_and_anything_else_through_spark(case: JoinCase, expected: Rows) -> None:
    query = start(case)
    ended(query)
    assert query.is_complete
    assert case.written() == expected
    assert found_by_arrow(case.output) == expected.total()
    assert unseen(case) == []
    joined = case.joined()
    plans = [
        ss.sinks.parquet(rows, "unused")._df._jdf.queryExecution().analyzed().toString()  # type: ignore[operator]
        for rows in (joined, joined.select("k", "a"))
    ]
    assert [plan.count("MapInArrow") for plan in plans] == [2, 3], "one of them gives marks and pulses"


@stops_by_itself
def test_rows_that_pass_through_spark_are_written_once_too(spark: SparkSession, tmp_path: Path) -> None:
    case = JoinCase(spark, tmp_path, LEFT, RIGHT, batches=2, ways=("packed", "packed"))
    rows = case.streams()[0].selectExpr("k + 1 AS more", "a")
    writer = ss.sinks.parquet(rows, str(case.output), compression="zstd").trigger(availableNow=True)
    for _ in ("all", "nothing more"):
        writer.option("checkpointLocation", str(case.checkpoint)).start().awaitTermination()
        assert rows_of(spark.read.parquet(str(case.output))) == Rows(
            (repr(k + 1), repr(a)) for k, a in zip(LEFT["k"].to_pylist(), LEFT["a"].to_pylist(), strict=True)
        )


def test_a_batch_that_is_given_again_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark gives it to a query that died after all its files were moved."""
    schema, context = pa.schema([("k", pa.int64())]), spark.sparkContext
    sink = ParquetSink(str(tmp_path), "snappy")

    def give(batch: int, rows: range) -> list[int]:
        """All rows that are there then."""
        context.setLocalProperty("streaming.sql.batchId", str(batch))
        frame = spark.range(rows.start, rows.stop, numPartitions=2).toDF("k")
        sink.commit(frame.mapInArrow(sink.task(schema), WRITTEN).collect, "q", batch, schema)
        return sorted(arrow_dataset.dataset(tmp_path, format="parquet").to_table()["k"].to_pylist())

    context.setLocalProperty("sql.streaming.queryId", "q")
    try:
        assert give(0, range(5)) == [*range(5)]
        assert give(0, range(5)) == [*range(5)]
        assert give(1, range(5, 8)) == [*range(8)]
        assert give(0, range(5)) == give(1, range(5, 8)) == [*range(8)]
    finally:
        for name in ("sql.streaming.queryId", "streaming.sql.batchId"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("where", ["_write", "_show"])
def test_a_driver_that_dies_before_or_after_it_wrote_down_what_counts(
    case: JoinCase, expected: Rows, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    real, seen = getattr(parquet_sink, where), []

    def dying(*arguments: Any) -> None:
        seen.append(arguments)
        if len(seen) == 2:
            raise RuntimeError("died on purpose")
        real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(parquet_sink, where, dying)
        with pytest.raises(StreamingQueryException, match="died on purpose"):
            ended(start(case))
    assert unseen(case) != []
    assert found_by_arrow(case.output) < expected.total()
    query = start(case)
    ended(query)
    assert case.written() == expected
    assert unseen(case) == []


@dataclass(frozen=True)
class FailingTask(ParquetTask):
    """Fails the first time, after it has written all."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from super().__call__(batches)
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("lost after it was written")


def test_files_of_attempts_that_failed_are_never_seen_and_go(
    case: JoinCase, expected: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

    def task(self: ParquetSink, schema: pa.Schema) -> ParquetTask:
        return FailingTask(parquet_sink.UnseenFiles(self.path), schema, self.compression)

    monkeypatch.setattr(ParquetSink, "task", task)
    ended(start(case))
    assert case.written() == expected
    assert unseen(case) == []


def test_a_delta_table_takes_what_tasks_of_a_join_write(case: JoinCase, expected: Rows) -> None:
    writer = ss.sinks.delta(case.joined(), str(case.output))
    ended(ss.start(writer.option("checkpointLocation", str(case.checkpoint))))
    table = DeltaTable(str(case.output)).to_pyarrow_table()
    columns = [[repr(value) for value in column.to_pylist()] for column in table.columns]
    assert Rows(zip(*columns, strict=True)) == expected


def test_what_makes_no_sense_is_refused(case: JoinCase) -> None:
    joined: DataFrame = case.joined()
    with pytest.raises(InvalidCall, match="path is empty"):
        ss.sinks.parquet(joined, "")
    with pytest.raises(InvalidCall, match="compression is 'rar'; give one of snappy"):
        ss.sinks.parquet(joined, "out", compression="rar")
    twice = case.spark.readStream.format("rate").load().selectExpr("value AS a", "value AS a")
    with pytest.raises(InvalidCall, match="there are 2 columns 'a'"):
        writer_of(twice, ParquetSink("out", "snappy"))
