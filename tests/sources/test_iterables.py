"""Rows and batches that come one after the other: by their types, at once when they are there, and only once."""

import asyncio
import dataclasses
import datetime as dt
import decimal
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from patience import HANG_SECONDS
from queries import soon
from sooner.errors import InvalidCall, SourceFailed
from sooner.sources import Source, checked, open_source, rows
from sooner.sources.at_rest import resting_rows

TABLE = pa.table({"k": [1, 2, 3], "v": [0.5, None, 2.0], "s": ["a", None, "c"]})
ROWS = TABLE.to_pylist()


@dataclasses.dataclass
class Row:
    k: int
    v: float | None
    s: "str | None"


async def slowly(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def read(source: Source) -> pa.Table:
    return soon(lambda: pa.Table.from_batches(checked(source).batches(), source.schema))


BATCHES = TABLE.to_batches(max_chunksize=2)
OBJECTS = [Row(**row) for row in ROWS]
PIECES = [TABLE.slice(0, 2), TABLE.slice(2)]
GIVEN: dict[str, Callable[[], Any]] = {
    "list of dicts": lambda: ROWS,
    "tuple of mappings": lambda: tuple(map(MappingProxyType, ROWS)),
    "list of dataclasses": lambda: OBJECTS,
    "list of batches": lambda: BATCHES,
    "list of tables": lambda: PIECES,
    "list of Polars frames": lambda: [pl.from_arrow(piece) for piece in PIECES],
    "generator of dicts": lambda: (row for row in ROWS),
    "generator of dataclasses": lambda: (row for row in OBJECTS),
    "generator of batches": lambda: (batch for batch in BATCHES),
    "iterator of tables": lambda: iter(PIECES),
    "iterator of Polars frames": lambda: map(pl.from_arrow, PIECES),
    "async generator of dicts": lambda: slowly(ROWS),
    "async generator of dataclasses": lambda: slowly(OBJECTS),
    "async generator of batches": lambda: slowly(BATCHES),
    "Polars frame": lambda: pl.from_arrow(TABLE),
    "lazy frame of Polars": lambda: pl.from_arrow(TABLE).lazy().filter(pl.col("k") > 0),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_all_give_the_same_rows(kind: str) -> None:
    source = open_source(GIVEN[kind](), "left")
    assert source.schema.names == ["k", "v", "s"]
    assert read(source).to_pylist() == ROWS


@pytest.mark.parametrize("kind", [kind for kind in GIVEN if kind.startswith(("list", "tuple", "Polars"))])
def test_what_is_here_as_a_whole_knows_its_rows(kind: str) -> None:
    assert resting_rows(open_source(GIVEN[kind](), "left")) == 3


@pytest.mark.parametrize(
    "frames", [lambda path: pd.read_csv(path, chunksize=2), lambda path: iter([pd.read_csv(path)])]
)
def test_chunks_of_pandas(frames: Callable[[Path], Any], tmp_path: Path) -> None:
    TABLE.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    assert read(open_source(frames(tmp_path / "rows.csv"), "left")).to_pylist() == ROWS


def test_a_chunk_of_another_type_is_cast_if_nothing_is_lost() -> None:
    chunks = [pd.DataFrame({"v": [0.5]}), pd.DataFrame({"v": [2]})]
    assert read(open_source(iter(chunks), "left")).to_pylist() == [{"v": 0.5}, {"v": 2.0}]
    with pytest.raises(
        SourceFailed, match=r"source 'left' failed after 1 rows: a batch has other types .*give a schema"
    ):
        read(open_source(iter([pa.table({"v": [2]}), pa.table({"v": [0.5]})]), "left"))


# Types


def test_types_are_those_of_dataclasses_and_then_of_values() -> None:
    @dataclasses.dataclass
    class Sale:
        n: int
        price: float
        day: dt.date
        at: dt.datetime
        amount: decimal.Decimal
        note: str | None
        tags: list[str]
        raw: bytes | None = None

    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    source = open_source([Sale(1, 2, dt.date(2024, 1, 1), at, decimal.Decimal("1.50"), None, ["x"])], "left")
    expected = [pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us", "UTC"), pa.decimal128(3, 2), pa.string()]
    assert source.schema.types == [*expected, pa.list_(pa.string()), pa.binary()]


def test_a_null_is_waited_on_for_a_value() -> None:
    given = ({"k": n, "s": None if n < 300 else "x"} for n in range(2_000))
    source = open_source(given, "left")
    assert source.schema.types == [pa.int64(), pa.string()]
    assert read(source).num_rows == 2_000


def test_fields_of_a_list_are_those_of_all_rows() -> None:
    assert read(open_source([{"a": 1}, {"b": "x"}], "left")).to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_a_schema_may_be_said() -> None:
    schema = pa.schema([("k", pa.int32()), ("v", pa.float64())])
    assert read(rows(({"k": n, "v": n} for n in range(2)), schema=schema)).to_pylist() == [
        {"k": 0, "v": 0.0},
        {"k": 1, "v": 1.0},
    ]
    for empty in ([], iter(()), slowly([])):
        source = rows(empty, schema=schema)
        assert (source.schema, read(source).num_rows) == (schema, 0)


@pytest.mark.parametrize(
    ("second", "culprit"),
    [
        (
            {"k": 1.5},
            "column 'k' is int64 by the first rows, and then it cannot be one type .*give a schema: sooner",
        ),
        ({"k": 1, "new": 2}, "a row has a field 'new', which the first had not; give a schema"),
        ({"k": 2**70}, "column 'k' is int64 by the first rows"),
        ("k", "an item is a str; give rows"),
    ],
)
def test_a_later_row_of_another_kind_fails_the_source(second: object, culprit: str) -> None:
    with pytest.raises(SourceFailed, match=f"source 'left' failed after [01] rows: {culprit}"):
        read(open_source(iter([{"k": 1}, second]), "left"))


@pytest.mark.parametrize(
    ("things", "culprit"),
    [
        (iter(()), "left ended before its first row, so nobody knows its columns; say them: sooner.sources.rows"),
        (slowly([]), "left ended before its first row"),
        (iter([1]), "left: an item is a int; give rows"),
        ([{"k": 1}, {"k": "x"}], "left: column 'k' cannot be one type"),
        ([{1: 1}], "left: a row has a field 1; names of fields are texts"),
        ((1 // n for n in (0,)), "left: it failed after 0 items: integer division"),
    ],
)
def test_what_cannot_be_rows_is_refused_when_it_is_opened(things: object, culprit: str) -> None:
    with pytest.raises(InvalidCall, match=culprit):
        open_source(things, "left")


def test_something_that_is_no_iterator_is_no_rows() -> None:
    with pytest.raises(InvalidCall, match="rows is a int; give a list, an iterator or a generator"):
        rows(5)


# Time


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_rows_that_are_there_do_not_wait_for_those_that_are_not(kind: str) -> None:
    gate = threading.Event()

    def some() -> Iterator[dict[str, int]]:
        yield from ({"k": n} for n in range(100))
        gate.wait(HANG_SECONDS)
        yield {"k": 100}

    async def some_later() -> AsyncIterator[dict[str, int]]:
        for row in some():
            yield row

    source = open_source(some() if kind == "sync" else some_later(), "left")
    batches = source.batches()
    n_rows = 0
    while n_rows < 100:
        n_rows += soon(lambda: next(batches)).num_rows
    gate.set()
    assert [batch.to_pylist() for batch in batches] == [[{"k": 100}]]


def test_a_generator_is_not_read_far_ahead() -> None:
    taken = []

    def batches() -> Iterator[pa.RecordBatch]:
        for n in range(100):
            taken.append(n)
            yield pa.record_batch({"k": [n]})

    source = open_source(batches(), "left")
    time.sleep(0.1)
    assert len(taken) <= 4
    assert read(source)["k"].to_pylist() == list(range(100))


def test_a_generator_fails_with_what_it_raised_and_its_rows_before_are_there() -> None:
    def some() -> Iterator[dict[str, int]]:
        yield {"k": 1}
        yield {"k": 2}
        raise ValueError("no more of that")

    batches = checked(open_source(some(), "left")).batches()
    with pytest.raises(SourceFailed, match="source 'left' failed after 2 rows: no more of that"):
        soon(lambda: list(batches))


@pytest.mark.parametrize("how", ["closed", "forgotten"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_is_closed_or_forgotten_is_taken_from_no_more(kind: str, how: str) -> None:
    ended = threading.Event()

    def endless() -> Iterator[dict[str, int]]:
        try:
            while True:
                yield {"k": 1}
        finally:
            ended.set()

    async def endless_later() -> AsyncIterator[dict[str, int]]:
        try:
            yield {"k": 1}
            await asyncio.sleep(HANG_SECONDS)
        finally:
            ended.set()

    source = open_source(endless() if kind == "sync" else endless_later(), "left")
    if how == "closed":
        source.close()  # type: ignore[attr-defined]
    else:
        gone = weakref.ref(source)
        del source
        gc.collect()
        assert gone() is None
    assert ended.wait(HANG_SECONDS / 2)


def test_a_generator_can_be_read_once() -> None:
    source = open_source(iter(ROWS), "left")
    assert read(source).num_rows == 3
    with pytest.raises(SourceFailed, match="source 'left' is a generator: it can be read once"):
        source.batches()


def test_a_lazy_frame_is_worked_out_at_each_reading() -> None:
    source = open_source(pl.LazyFrame({"k": range(100_000)}).with_columns(s=pl.lit("x")), "left")
    assert source.schema.names == ["k", "s"]
    assert read(source).num_rows == read(source).num_rows == 100_000
