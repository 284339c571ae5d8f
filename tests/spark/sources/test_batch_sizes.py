"""Batches begin small and grow; how large one is depends on what was read before it, and on nothing else."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stream_reading import batches_of, offsets_of, reader_of, rows_between

from sooner.spark.session.versions import ReadAllAvailable
from sooner.spark.sources.batch_sizes import (
    FIRST_ROWS,
    MOST_BYTES,
    MOST_ROWS,
    TIMES_FOR_SUMS,
    growing,
    most_rows,
    tasks_for,
)
from sooner.spark.sources.parquet_source import ParquetDataSource

ROWS = 1_600_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sizes") / "rows.parquet"
    pq.write_table(pa.table({"n": np.arange(ROWS)}), path, row_group_size=500_000)
    return path


def sizes(path: Path, **options: object) -> list[int]:
    reader = reader_of(ParquetDataSource, {"path": str(path), **{name: str(value) for name, value in options.items()}})
    return [end["row"] - start["row"] for start, end in pairwise(offsets_of(reader))]


def test_each_batch_has_several_times_the_rows_before_and_may_end_with_a_row_group(file: Path) -> None:
    assert sizes(file) == [FIRST_ROWS, 500_000 - FIRST_ROWS, 1_000_000, 100_000]
    assert sizes(file, rows_per_batch=150_000)[:3] == [FIRST_ROWS, 150_000, 150_000]
    assert max(sizes(file, rows_per_batch=150_000)) == 150_000
    assert sizes(file, rows_per_batch=40_000)[0] == 40_000


def test_a_batch_may_reach_over_row_groups_and_files(tmp_path: Path) -> None:
    for number in range(30):
        pq.write_table(pa.table({"n": np.arange(10_000) + number * 10_000}), tmp_path / f"{number:02}.parquet")
    assert sizes(tmp_path) == [130_000, 170_000]
    reader = reader_of(ParquetDataSource, {"path": str(tmp_path), "rows_per_batch": "70000"})
    assert [row for batch in batches_of(reader) for (row,) in batch] == list(range(300_000))


def test_wide_rows_come_in_fewer_at_a_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({"text": [rng.bytes(2_000).hex() for _ in range(5_000)]}), tmp_path / "wide.parquet")
    first, *_ = sizes(tmp_path)
    assert 900 < first < 1_100
    reader = reader_of(ParquetDataSource, {"path": str(tmp_path)})
    limit = reader.getDefaultReadLimit()
    assert MOST_BYTES / 5_000 < limit.max_rows < MOST_BYTES / 3_500  # type: ignore[attr-defined]


def test_a_run_that_goes_on_has_batches_of_the_size_that_was_reached(file: Path) -> None:
    offsets = offsets_of(reader_of(ParquetDataSource, {"path": str(file)}))
    later = reader_of(ParquetDataSource, {"path": str(file)})
    assert later.latestOffset(offsets[2], later.getDefaultReadLimit()) == offsets[3]
    assert len(rows_between(later, offsets[1], offsets[2])) == 500_000 - FIRST_ROWS
    assert later.latestOffset(offsets[0], ReadAllAvailable())["row"] == ROWS


def test_few_rows_are_read_by_few_tasks(file: Path) -> None:
    reader = reader_of(ParquetDataSource, {"path": str(file), "partitions": "3"})
    offsets = offsets_of(reader)
    assert [len(reader.partitions(start, end)) for start, end in pairwise(offsets)] == [1, 2, 3, 1]
    assert [tasks_for(rows, 10_000, 4) for rows in (1, 800, 1_000, 10_000)] == [1, 1, 2, 4]


def test_sizes_have_their_bounds() -> None:
    assert growing(0, 10) == 10
    assert growing(0, MOST_ROWS) == FIRST_ROWS
    assert growing(10**9, MOST_ROWS) == MOST_ROWS
    assert growing(0, MOST_ROWS, row_bytes=10**9) == 1
    assert (most_rows(0), most_rows(1), most_rows(10**9)) == (MOST_ROWS, MOST_ROWS, 1)
    assert most_rows(1, memory_for_sums=2**30) == TIMES_FOR_SUMS * MOST_ROWS
    assert most_rows(1, memory_for_sums=64 * 2**20) == 2 * MOST_ROWS
    assert most_rows(1, memory_for_sums=2**10) == MOST_ROWS
