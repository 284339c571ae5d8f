"""`sooner.parquet`: exact rows, exact replays, and an end."""

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from stream_reading import Collected, batches_of, end_offset, offsets_of, reader_of, rows_between, run_to_end

from sooner.errors import InvalidCall, SourceFailed
from sooner.spark import sources
from sooner.spark.session.versions import ReadAllAvailable
from sooner.spark.sources.parquet_source import ParquetDataSource


def write(path: Path, rows: range, row_group_size: int = 10) -> None:
    table = pa.table({"k": list(rows), "s": [f"row {k}" for k in rows]})
    arrow_parquet.write_table(table, path, row_group_size=row_group_size)


def expected(rows: range) -> list[tuple[Any, ...]]:
    return [(k, f"row {k}") for k in rows]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three files with 95 rows; row groups of 10 and 5."""
    found = tmp_path / "table"
    found.mkdir()
    for number, rows in enumerate((range(35), range(35, 70), range(70, 95))):
        write(found / f"part-{number}.parquet", rows)
    (found / "_SUCCESS").touch()
    return found


def options(path: Path, **more: object) -> dict[str, str]:
    return {"path": str(path), **{name: str(value) for name, value in more.items()}}


# Rows and offsets, without Spark


@pytest.mark.parametrize("rows_per_batch", [1, 7, 10, 25, 1000])
@pytest.mark.parametrize("partitions", [1, 3])
def test_rows_come_in_file_order_each_once(directory: Path, rows_per_batch: int, partitions: int) -> None:
    reader = reader_of(ParquetDataSource, options(directory, rows_per_batch=rows_per_batch, partitions=partitions))
    batches = batches_of(reader)
    assert [row for batch in batches for row in batch] == expected(range(95))
    assert max(map(len, batches)) <= rows_per_batch


@pytest.mark.parametrize("rows_per_batch", [7, 1000])
def test_random_order_is_a_shuffle_by_the_seed(directory: Path, rows_per_batch: int) -> None:
    def shuffled(seed: int) -> list[tuple[Any, ...]]:
        chosen = options(directory, order="random", seed=seed, rows_per_batch=rows_per_batch)
        return [row for batch in batches_of(reader_of(ParquetDataSource, chosen)) for row in batch]

    assert sorted(shuffled(1)) == expected(range(95))
    assert shuffled(1) == shuffled(1) != shuffled(2) != expected(range(95))


@pytest.mark.parametrize("order", ["file", "random"])
def test_the_same_offsets_give_the_same_rows_to_any_reader(directory: Path, order: str) -> None:
    chosen = options(directory, order=order, rows_per_batch=12, partitions=2)
    first, second = (reader_of(ParquetDataSource, chosen) for _ in range(2))
    offsets = offsets_of(first)
    for start, end in reversed(list(pairwise(offsets))):
        assert rows_between(second, start, end) == rows_between(first, start, end)


def test_a_pattern_and_a_single_file_can_be_read(directory: Path) -> None:
    some = reader_of(ParquetDataSource, options(directory / "part-[12].parquet"))
    assert batches_of(some) == [expected(range(35, 95))]
    one = reader_of(ParquetDataSource, options(directory / "part-2.parquet"))
    assert batches_of(one) == [expected(range(70, 95))]


def test_all_rows_at_once_when_spark_asks_for_them(directory: Path) -> None:
    reader = reader_of(ParquetDataSource, options(directory, rows_per_batch=1))
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable())["row"] == 95


def test_columns_are_limited_and_ordered(directory: Path) -> None:
    reader = reader_of(ParquetDataSource, options(directory, columns='["s"]', rows_per_batch=10))
    assert batches_of(reader)[0] == [(f"row {k}",) for k in range(10)]


def test_an_empty_input_ends_with_one_batch(tmp_path: Path) -> None:
    write(tmp_path / "empty.parquet", range(0))
    reader = reader_of(ParquetDataSource, options(tmp_path / "empty.parquet"))
    assert [offset["ended"] for offset in offsets_of(reader)] == [False, True]
    assert batches_of(reader) == [[]]


@pytest.mark.parametrize("order", ["file", "random"])
def test_types_become_those_of_spark(tmp_path: Path, order: str) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456)
    columns = {
        "small": pa.array([255], pa.uint8()),
        "huge": pa.array([2**64 - 1], pa.uint64()),
        "word": pa.array(["x"]).dictionary_encode(),
        "text": pa.array(["y"], pa.large_string()),
        "view": pa.array(["longer than twelve bytes"], pa.string_view()),
        "naive": pa.array([moment], pa.timestamp("ns")),
        "aware": pa.array([moment.replace(tzinfo=UTC)], pa.timestamp("us", tz="Europe/Vienna")),
        "day": pa.array([date(2024, 1, 2)]),
        "price": pa.array([Decimal("1.50")], pa.decimal128(12, 2)),
        "tags": pa.array([["a", None]]),
        "point": pa.array([{"x": 1, "y": 2.5}]),
    }
    arrow_parquet.write_table(pa.table(columns), tmp_path / "types.parquet")
    reader = reader_of(ParquetDataSource, options(tmp_path / "types.parquet", order=order))
    [[row]] = batches_of(reader)
    assert row == (
        255, Decimal(2**64 - 1), "x", "y", "longer than twelve bytes", moment, moment.replace(tzinfo=UTC),
        date(2024, 1, 2), Decimal("1.50"),
        ["a", None], {"x": 1, "y": 2.5},
    )  # fmt: skip


# What changed is noticed


def test_files_that_changed_between_runs_are_refused(directory: Path) -> None:
    chosen = options(directory, rows_per_batch=30)
    offsets = offsets_of(reader_of(ParquetDataSource, chosen))
    write(directory / "part-3.parquet", range(95, 100))
    later = reader_of(ParquetDataSource, chosen)
    with pytest.raises(SourceFailed, match=r"has changed since the query started \(95 rows then, 100 now\)"):
        later.partitions(offsets[0], offsets[1])
    with pytest.raises(SourceFailed, match="has changed"):
        later.latestOffset(offsets[1], later.getDefaultReadLimit())


def test_a_file_rewritten_with_as_many_rows_is_refused(directory: Path) -> None:
    chosen = options(directory)
    offsets = offsets_of(reader_of(ParquetDataSource, chosen))
    file = directory / "part-0.parquet"
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    with pytest.raises(SourceFailed, match="has changed since"):
        reader_of(ParquetDataSource, chosen).partitions(offsets[0], offsets[1])


def test_a_file_that_changes_after_planning_is_refused_by_the_task(directory: Path) -> None:
    reader = reader_of(ParquetDataSource, options(directory))
    offsets = offsets_of(reader)
    shares = reader.partitions(offsets[0], offsets[1])
    write(directory / "part-0.parquet", range(1000, 1035))
    with pytest.raises(SourceFailed, match=r"part-0\.parquet changed while the query was running"):
        [list(reader.read(share)) for share in shares]


def test_files_can_be_moved_together(directory: Path, tmp_path: Path) -> None:
    offsets = offsets_of(reader_of(ParquetDataSource, options(directory)))
    directory.rename(tmp_path / "moved")
    moved = reader_of(ParquetDataSource, options(tmp_path / "moved"))
    assert rows_between(moved, offsets[0], offsets[1]) == expected(range(95))


def test_another_order_than_that_of_the_checkpoint_is_refused(directory: Path) -> None:
    offsets = offsets_of(reader_of(ParquetDataSource, options(directory, order="random", seed=1)))
    other = reader_of(ParquetDataSource, options(directory, order="random", seed=2))
    with pytest.raises(SourceFailed, match="in the order 'random 1' and is asked for in the order 'random 2'"):
        other.partitions(offsets[0], offsets[1])


# Bad arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows_per_batch": 0}, "rows_per_batch is 0; give 1 or more"),
        ({"rows_per_batch": "many"}, "rows_per_batch is 'many'; give a whole number, 1 or more"),
        ({"order": "sorted"}, "order is 'sorted'; give 'file' or 'random'"),
        ({"columns": ["nope"]}, "there is no column 'nope'; there are k, s"),
        ({"columns": []}, "give a JSON list of at least one name"),
        ({"partitions": 0}, "partitions is 0; give 1 or more"),
        ({"seed": 1.5}, "seed is '1.5'; give a whole number"),
    ],
)
def test_bad_arguments_are_refused_at_once(
    spark: SparkSession, directory: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidCall, match=message):
        sources.parquet(spark, str(directory), **arguments)


def test_bad_paths_are_refused_at_once(spark: SparkSession, directory: Path, tmp_path: Path) -> None:
    for path, message in [
        (tmp_path / "nothing.parquet", "there is no such file"),
        (tmp_path / "*.parquet", "there is no such file"),
        (directory / "_SUCCESS", "cannot be read as Parquet"),
    ]:
        with pytest.raises(InvalidCall, match=message):
            sources.parquet(spark, str(path))
    (tmp_path / "hollow").mkdir()
    with pytest.raises(InvalidCall, match="no file in it that ends in"):
        sources.parquet(spark, str(tmp_path / "hollow"))
    (tmp_path / "hive" / "year=2024").mkdir(parents=True)
    write(tmp_path / "hive" / "year=2024" / "a.parquet", range(3))
    with pytest.raises(InvalidCall, match="'year=2024', whose name stands for a column"):
        sources.parquet(spark, str(tmp_path / "hive"))


def test_files_of_different_columns_are_refused(directory: Path) -> None:
    arrow_parquet.write_table(pa.table({"k": ["text"]}), directory / "part-9.parquet")
    with pytest.raises(
        InvalidCall, match=r"part-9\.parquet has the columns k string, but .*part-0\.parquet has k int64"
    ):
        ParquetDataSource(options(directory)).schema()


def test_a_type_that_spark_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    arrow_parquet.write_table(pa.table({"at": pa.array([1], pa.time32("ms"))}), tmp_path / "t.parquet")
    with pytest.raises(InvalidCall, match=r"column 'at' is time32\[ms\], which Spark does not have"):
        ParquetDataSource(options(tmp_path / "t.parquet")).schema()


# In Spark


def test_spark_reads_each_row_once_and_sees_the_end(spark: SparkSession, directory: Path, tmp_path: Path) -> None:
    frame = sources.parquet(spark, str(directory), rows_per_batch=60)
    collected = Collected()
    query = run_to_end(frame, tmp_path / "checkpoint", collected)
    assert sorted(collected.rows) == expected(range(95))
    assert [len(batch) for batch in collected.batches.values()] == [55, 40]
    assert end_offset(query)["ended"] is True
    assert end_offset(query)["row"] == 95


def test_a_crash_and_a_restart_give_each_row_once(spark: SparkSession, directory: Path, tmp_path: Path) -> None:
    frame = sources.parquet(spark, str(directory), rows_per_batch=40, order="random")
    collected = Collected(crash_at=1)
    with pytest.raises(StreamingQueryException):
        run_to_end(frame, tmp_path / "checkpoint", collected)
    before = collected.batches[1]
    collected.crash_at = None
    run_to_end(frame, tmp_path / "checkpoint", collected)
    assert collected.batches[1] == before
    assert collected.attempts == len(collected.batches) + 1
    assert sorted(collected.rows) == expected(range(95))


def test_spark_says_in_one_sentence_that_a_file_changed(spark: SparkSession, directory: Path, tmp_path: Path) -> None:
    frame = sources.parquet(spark, str(directory), rows_per_batch=50)
    with pytest.raises(StreamingQueryException):
        run_to_end(frame, tmp_path / "checkpoint", Collected(crash_at=0))
    write(directory / "part-1.parquet", range(40, 75))
    with pytest.raises(StreamingQueryException, match="has changed since the query started"):
        run_to_end(frame, tmp_path / "checkpoint", Collected())


def test_the_format_can_be_named_and_an_empty_input_ends(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "empty.parquet", range(0))
    sources.register(spark)
    frame = spark.readStream.format("sooner.parquet").option("rows_per_batch", 5).load(str(tmp_path / "empty.parquet"))
    collected = Collected()
    query = run_to_end(frame, tmp_path / "checkpoint", collected)
    assert collected.batches == {0: []}
    assert end_offset(query)["ended"] is True
