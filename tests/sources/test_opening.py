"""Everything that `open_source` takes gives the same rows; everything else is refused by name."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.dataset as arrow_dataset
import pyarrow.feather as arrow_feather
import pyarrow.parquet as arrow_parquet
import pytest

from sooner.errors import InvalidCall, SourceFailed
from sooner.sources import Source, open_source

ROWS = 100_000


def example(rows: int = ROWS) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table(
        {
            "k": numbers % 97,
            "v": numbers / 8,
            "s": pa.array([f"row {n}" for n in numbers], pa.string()),
        }
    )


def rows_of(source: Source) -> list[dict[str, object]]:
    return pa.Table.from_batches(source.batches(), source.schema).to_pylist()


class OnlyStream:
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, table: pa.Table) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


class HandMade:
    name = "hand made"

    def __init__(self, table: pa.Table) -> None:
        self.schema = table.schema
        self._table = table

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches(max_chunksize=1_000)


class BatchesAlone:
    def batches(self) -> None: ...


class WrongSchema:
    name = "wrong"
    schema: ClassVar = {"k": int}

    def batches(self) -> None: ...


def written(write: Callable[[pa.Table, Path], None], file_name: str) -> Callable[[pa.Table, Path], Path]:
    def thing(table: pa.Table, folder: Path) -> Path:
        write(table, folder / file_name)
        return folder / file_name

    return thing


def parquet_pieces(table: pa.Table, folder: Path) -> list[Path]:
    paths = [folder / f"part-{index}.parquet" for index in range(4)]
    rows = -(-table.num_rows // len(paths))
    for index, path in enumerate(paths):
        arrow_parquet.write_table(table.slice(index * rows, rows), path, row_group_size=7_000)
    return paths


def spark_like_directory(table: pa.Table, folder: Path) -> Path:
    parquet_pieces(table, folder)
    (folder / "_SUCCESS").touch()
    return folder


THINGS: dict[str, Callable[[pa.Table, Path], object]] = {
    "table": lambda table, _: table,
    "table of chunks": lambda table, _: pa.concat_tables([table.slice(0, 10), table.slice(10)]),
    "batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "reader": lambda table, _: table.to_reader(max_chunksize=777),
    "capsule stream": lambda table, _: OnlyStream(table),
    "capsule array": lambda table, _: OnlyArray(table),
    "source": lambda table, _: HandMade(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "dataset": lambda table, _: arrow_dataset.dataset(table),
    "scanner": lambda table, _: arrow_dataset.dataset(table).scanner(),
    "parquet": written(arrow_parquet.write_table, "rows.parquet"),
    "parquet as text": lambda table, folder: str(THINGS["parquet"](table, folder)),
    "parquet directory": spark_like_directory,
    "parquet list": parquet_pieces,
    "csv": written(arrow_csv.write_csv, "rows.csv"),
    "upper case": written(arrow_csv.write_csv, "ROWS.CSV"),
    "arrow": written(lambda table, path: arrow_feather.write_feather(table, path), "rows.arrow"),
    "feather": written(
        lambda table, path: arrow_feather.write_feather(table, path, compression="uncompressed"), "r.feather"
    ),
}


# A table without rows has no batch to give, and a CSV file has its own test.
CANNOT_BE_EMPTY = ("batch", "capsule array", "csv", "upper case")


@pytest.mark.parametrize("kind", THINGS)
def test_every_kind_gives_the_same_rows_in_order(kind: str, tmp_path: Path) -> None:
    table = example()
    source = open_source(THINGS[kind](table, tmp_path), "left")
    assert isinstance(source, Source)
    assert source.schema.names == ["k", "v", "s"]
    assert rows_of(source) == table.to_pylist()


@pytest.mark.parametrize("kind", [kind for kind in THINGS if kind not in CANNOT_BE_EMPTY])
def test_every_kind_may_be_empty(kind: str, tmp_path: Path) -> None:
    table = example(0)
    source = open_source(THINGS[kind](table, tmp_path), "left")
    assert source.schema.names == ["k", "v", "s"]
    assert rows_of(source) == []


def test_a_csv_file_of_a_header_alone_has_columns_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("k,v\n")
    source = open_source(tmp_path / "rows.csv", "left")
    assert source.schema.names == ["k", "v"]
    assert rows_of(source) == []


@pytest.mark.parametrize("kind", [kind for kind in THINGS if kind != "source"])
def test_batches_begin_small_and_stay_bounded(kind: str, tmp_path: Path) -> None:
    sizes = [batch.num_rows for batch in open_source(THINGS[kind](example(), tmp_path), "left").batches()]
    assert 0 < sizes[0] <= 8_192
    assert min(sizes) > 0
    assert max(sizes) <= 65_536


@pytest.mark.parametrize("kind", ["table", "dataset", "parquet", "parquet list", "csv", "arrow"])
def test_what_is_at_rest_can_be_read_twice(kind: str, tmp_path: Path) -> None:
    source = open_source(THINGS[kind](example(1_000), tmp_path), "left")
    first_time = rows_of(source)
    assert len(first_time) == 1_000
    assert rows_of(source) == first_time


def test_a_stream_says_that_it_cannot_be_read_twice() -> None:
    source = open_source(example(10).to_reader(), "left")
    assert len(rows_of(source)) == 10
    with pytest.raises(SourceFailed, match="source 'left' is a stream: it can be read once"):
        rows_of(source)


def test_a_source_keeps_its_own_name_and_others_get_the_one_given() -> None:
    assert open_source(HandMade(example(1)), "left").name == "hand made"
    assert open_source(example(1), "left").name == "left"


def test_a_schema_that_is_costly_to_look_at_is_not_looked_at() -> None:
    class Lazy:
        name = "lazy"

        @property
        def schema(self) -> pa.Schema:
            raise AssertionError("the schema was worked out for nothing")

    with pytest.raises(InvalidCall, match="left is a Lazy; give"):
        open_source(Lazy(), "left")


def test_two_columns_may_have_the_same_name(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    arrow_parquet.write_table(twice, tmp_path / "twice.parquet")
    arrow_csv.write_csv(twice, tmp_path / "twice.csv")
    for thing in (twice, twice.to_reader(), tmp_path / "twice.parquet", tmp_path / "twice.csv"):
        source = open_source(thing, "left")
        assert source.schema.names == ["a", "a"]
        (batch,) = source.batches()
        assert [column.to_pylist() for column in batch.columns] == [[1, 2], [3, 4]]


def test_string_views_become_strings_that_can_be_gathered() -> None:
    frame = pl.DataFrame(
        {"text": ["a", None, "c"], "raw": [b"1", b"2", None], "few": ["x", "y", None]},
        schema={"text": pl.String, "raw": pl.Binary, "few": pl.Categorical},
    )
    source = open_source(frame, "left")
    table = pa.Table.from_batches(source.batches(), source.schema)
    assert source.schema.field("text").type == pa.large_string()
    assert source.schema.field("raw").type == pa.large_binary()
    assert source.schema.field("few").type == pa.large_string()
    assert table.take([2, 0, 1]).to_pylist() == frame[[2, 0, 1]].to_dicts()


def test_dictionaries_and_run_ends_are_decoded() -> None:
    days = pa.array(["mon", "mon", None, "tue"])
    encoded = pa.table({"few": days.dictionary_encode(), "long": pc.run_end_encode(days)})
    source = open_source(encoded, "left")
    assert source.schema.types == [pa.string(), pa.string()]
    assert pa.Table.from_batches(source.batches(), source.schema).to_pydict() == {
        "few": days.to_pylist(),
        "long": days.to_pylist(),
    }


def test_hive_partitions_are_columns(tmp_path: Path) -> None:
    arrow_parquet.write_to_dataset(pa.table({"k": [1, 2, 3], "day": [7, 7, 8]}), tmp_path, partition_cols=["day"])
    assert rows_of(open_source(tmp_path, "left")) == [
        {"k": 1, "day": 7},
        {"k": 2, "day": 7},
        {"k": 3, "day": 8},
    ]


@pytest.mark.parametrize(
    ("thing", "culprit"),
    [
        (None, "left is a NoneType; give an Arrow table"),
        ([1, 2], "left is a list of int; give an Arrow table"),
        ([], "left is empty, so nobody knows its columns; give pyarrow.table with a schema"),
        (["a.csv", {"k": 1}], "left is a list of paths and other things; give a list of paths alone"),
        ({"k": [1]}, r"left is a dict, which may be a row or columns: pyarrow.table\(...\) makes"),
        (np.arange(3), "left is a ndarray; give"),
        (HandMade, "left is a type, HandMade, and not an object of it; give"),
        (rows_of, "left is a function, and not what it returns: call it; give"),
        (io.BytesIO(b"k\n1\n"), "left is a BytesIO, which is open; give its path; give an Arrow table"),
        (
            BatchesAlone(),
            r"left is a BatchesAlone with batches\(\) and no name and no schema; a sooner Source has a name",
        ),
        (WrongSchema(), r"left is a WrongSchema with batches\(\) and a schema that is a dict; a sooner Source has"),
        (pl.Series([1, 2]), "left is a Series that gives no stream of Arrow rows"),
        (pa.chunked_array([[1]]), "left is a ChunkedArray that gives no stream"),
        (pa.array([1]), "left is an Int64Array that gives no stream"),
        ("no/such.parquet", "left: there is no file no/such.parquet"),
        ("no/such.csv", "left: there is no file no/such.csv"),
        ("no/such.arrow", "left: there is no file no/such.arrow"),
        ("no/such/directory", "left: there is no file no/such/directory"),
        (["no/such.parquet"], "left: there is no file no/such.parquet"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused_by_the_name_of_its_side(thing: object, culprit: str) -> None:
    with pytest.raises(InvalidCall, match=culprit):
        open_source(thing, "left")


@pytest.mark.parametrize(
    ("file_name", "culprit"),
    [
        ("rows.parquet", "cannot be read as Parquet"),
        ("rows.arrow", "cannot be read as an Arrow file"),
        ("rows.txt", "ends in '.txt'"),
    ],
)
def test_files_of_another_format_are_refused(file_name: str, culprit: str, tmp_path: Path) -> None:
    (tmp_path / file_name).write_text("not what it says")
    with pytest.raises(InvalidCall, match=f"left: .*{file_name} {culprit}"):
        open_source(tmp_path / file_name, "left")


@pytest.mark.parametrize("file_name", ["rows.csv", "rows.jsonl", "rows"])
def test_an_empty_file_is_refused(file_name: str, tmp_path: Path) -> None:
    (tmp_path / file_name).touch()
    for thing in (tmp_path / file_name, tmp_path):
        with pytest.raises(InvalidCall, match=rf"left: .*{file_name} is empty, so nobody knows its columns; give"):
            open_source(thing, "left")


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidCall, match=r"left: the directory .* holds no file"):
        open_source(tmp_path, "left")


def test_a_second_stream_of_one_duckdb_connection_is_refused_with_the_cure() -> None:
    connection = duckdb.connect()
    first = open_source(connection.sql("select range as k from range(1000000)"), "left")
    with pytest.raises(InvalidCall, match=r"right is a DuckDBPyRelation whose .* connection\.cursor\(\)"):
        open_source(connection.sql("select range as k from range(1000000)"), "right")
    own_cursor = open_source(connection.cursor().sql("select range as k from range(1000000)"), "right")
    assert sum(batch.num_rows for batch in first.batches()) == 1_000_000
    assert sum(batch.num_rows for batch in own_cursor.batches()) == 1_000_000
