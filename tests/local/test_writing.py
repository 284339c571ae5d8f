"""Answers go somewhere: files that are there when they are whole, Delta tables, sinks of one's own."""

import datetime as dt
import decimal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from deltalake import DeltaTable

import sooner
from patience import ENDLESS_SECONDS, until
from queries import Gated, multiset, numbered, refused, soon, wait_until
from sooner.errors import InvalidCall, SinkFailed, SoonerError, SourceFailed
from sooner.sources import open_source

LEFT, RIGHT = numbered(2000, name="a", seed=1), numbered(2000, name="b", seed=2)
EXPECTED = sooner.join(LEFT, RIGHT, on="k").to_table()
ENDINGS = [
    ".parquet",
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".arrow",
    ".feather",
    ".ipc",
    ".csv.gz",
    ".jsonl.zst",
    ".CSV",
]


def query(**options: Any) -> sooner.Query:
    return sooner.join(LEFT, RIGHT, on="k", **options)


def read(path: Path) -> pa.Table:
    source = open_source(path, "written")
    return pa.Table.from_batches(source.batches(), source.schema)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_by_the_ending_of_its_name_is_the_answer(ending: str, tmp_path: Path) -> None:
    assert soon(lambda: query().write(tmp_path / f"joined{ending}")) == EXPECTED.num_rows
    assert multiset(read(tmp_path / f"joined{ending}")) == multiset(EXPECTED)
    assert [file.name for file in tmp_path.iterdir()] == [f"joined{ending}"]


def test_the_methods_of_formats_take_any_name(tmp_path: Path) -> None:
    for write in (sooner.Query.to_parquet, sooner.Query.to_csv):
        assert soon(lambda write=write: write(query(), str(tmp_path / "joined.out"))) == EXPECTED.num_rows
        assert multiset(read(tmp_path / "joined.out")) == multiset(EXPECTED)


def test_rows_are_written_in_large_groups(tmp_path: Path) -> None:
    soon(lambda: query(memory="64KB").to_parquet(tmp_path / "joined.parquet"))
    assert arrow_parquet.read_metadata(tmp_path / "joined.parquet").num_row_groups == 1


def test_an_answer_without_rows_is_a_file_with_columns(tmp_path: Path) -> None:
    for ending in (".parquet", ".csv", ".arrow"):
        running = sooner.join(LEFT.slice(0, 0), RIGHT, on="k")
        assert soon(partial(running.write, tmp_path / f"none{ending}")) == 0
        assert read(tmp_path / f"none{ending}").schema.names == ["k", "a", "b"]


VARIOUS = pa.table(
    {
        "k": [1],
        "day": [dt.date(2024, 1, 2)],
        "at": [dt.datetime(2024, 1, 2, 3, 4)],
        "price": [decimal.Decimal("12.50")],
        "large": pa.array([decimal.Decimal("12345678901234567890.5")]),
        "not_finite": [float("nan")],
        "tags": [["a", "é"]],
    }
)


def test_json_says_what_it_has_words_for(tmp_path: Path) -> None:
    soon(lambda: sooner.join(VARIOUS, VARIOUS.select(["k"]), on="k").write(tmp_path / "rows.jsonl"))
    assert (tmp_path / "rows.jsonl").read_text() == (
        '{"k": 1, "day": "2024-01-02", "at": "2024-01-02T03:04:00", "price": 12.5, "large": "12345678901234567890.5", '
        '"not_finite": null, "tags": ["a", "é"]}\n'
    )


# SQL and estimates

SQL: dict[str, Callable[[], Any]] = {
    "rows": lambda: sooner.sql("SELECT a, b FROM l JOIN r ON l.k = r.k", {"l": LEFT, "r": RIGHT}),
    "union": lambda: sooner.sql(
        "SELECT a FROM l JOIN r ON l.k = r.k UNION ALL SELECT b FROM l JOIN r ON l.k = r.k", {"l": LEFT, "r": RIGHT}
    ),
    "groups": lambda: sooner.sql(
        "SELECT l.k, MAX(a) AS top FROM l JOIN r ON l.k = r.k GROUP BY 1", {"l": LEFT, "r": RIGHT}
    ),
    "estimates": lambda: sooner.estimate(LEFT, RIGHT, on="k", by="k", aggregates={"n": "count", "total": ("sum", "a")}),
}


@pytest.mark.parametrize("kind", SQL)
def test_all_queries_have_the_same_ways_out(kind: str, tmp_path: Path) -> None:
    make = SQL[kind]
    expected = soon(lambda: make().to_table())
    assert expected.num_rows
    assert multiset(soon(lambda: make().to_arrow())) == multiset(expected)
    assert multiset(pa.table(soon(lambda: make().to_pandas()))) == multiset(expected)
    assert multiset(soon(lambda: make().to_polars()).to_arrow()) == multiset(expected)
    assert soon(lambda: make().write(tmp_path / "rows.parquet")) == expected.num_rows
    assert multiset(read(tmp_path / "rows.parquet")) == multiset(expected)
    assert soon(lambda: make().to_delta(tmp_path / "table")) == expected.num_rows
    assert multiset(DeltaTable(tmp_path / "table").to_pyarrow_table()) == multiset(expected)


@pytest.mark.parametrize("kind", ["groups", "estimates"])
def test_the_final_answer_can_be_had_twice(kind: str) -> None:
    asked = SQL[kind]()
    assert soon(asked.final) is soon(asked.final)
    assert asked.to_table().equals(asked.to_table())
    read_before = SQL[kind]()
    *_, last = soon(lambda: list(read_before))
    assert read_before.final() is last


@pytest.mark.parametrize("kind", ["groups", "estimates"])
def test_an_answer_that_was_stopped_has_no_end(kind: str) -> None:
    asked = SQL[kind]()
    asked.stop()
    with refused(SoonerError, "This query was stopped"):
        asked.final()


def test_estimates_show_the_last_one_with_names_that_are_only_text() -> None:
    estimates = sooner.estimate(LEFT, RIGHT, on="k", aggregates={"<b>": "count"})
    assert repr(estimates).startswith("<sooner.Estimates arriving: ")
    assert estimates._repr_html_().startswith("<div><strong>sooner.Estimates</strong> arriving: ")
    found = soon(estimates.final)
    assert repr(estimates) == f"<sooner.Estimates {found}>"
    assert "<th>&lt;b&gt;</th>" in estimates._repr_html_()


# Delta


def test_a_delta_table_that_is_there_is_refused_unless_it_is_said_what_becomes_of_it(tmp_path: Path) -> None:
    rows = EXPECTED.num_rows
    soon(lambda: query().to_delta(tmp_path / "table"))
    with refused(InvalidCall, "is a Delta table already", "mode='append'"):
        query().to_delta(tmp_path / "table")
    with refused(InvalidCall, "mode='replace' must be"):
        query().to_delta(tmp_path / "table", mode="replace")  # type: ignore[arg-type]
    soon(lambda: query().to_delta(tmp_path / "table", mode="append"))
    assert DeltaTable(tmp_path / "table").to_pyarrow_table().num_rows == 2 * rows
    soon(lambda: query().to_delta(tmp_path / "table", mode="overwrite"))
    assert DeltaTable(tmp_path / "table").to_pyarrow_table().num_rows == rows


def failing(table: pa.Table) -> Gated:
    def fail() -> None:
        raise ValueError("the line is dead")

    return Gated([*table.to_batches(max_chunksize=500)[:2], fail], table.schema)


def test_a_delta_table_has_all_rows_or_none_and_the_error_is_that_of_the_query(tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match="the line is dead"):
        soon(lambda: sooner.join(failing(LEFT), RIGHT, on="k").to_delta(tmp_path / "table"))
    assert not DeltaTable.is_deltatable(str(tmp_path / "table"))


# What goes wrong


def test_a_file_of_a_query_that_fails_is_beside_its_place_and_valid(tmp_path: Path) -> None:
    (tmp_path / "joined.parquet").write_text("as it was")
    source = failing(LEFT)
    query = sooner.join(source, RIGHT, on="k")
    *rows, fail = source.steps
    source.steps = [*rows, lambda: until(lambda: query.progress.results > 0), fail]
    with pytest.raises(SourceFailed, match="the line is dead") as failed:
        soon(lambda: query.write(tmp_path / "joined.parquet"))
    assert (tmp_path / "joined.parquet").read_text() == "as it was"
    found = read(tmp_path / "_partial-joined.parquet")
    assert failed.value.__notes__ == [
        f"The {found.num_rows:,} rows that were found so far are in {tmp_path}/_partial-joined.parquet."
    ]
    assert multiset(found) <= multiset(EXPECTED)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow", ".csv.gz"])
def test_a_file_of_a_query_that_is_stopped_has_the_rows_so_far(ending: str, tmp_path: Path) -> None:
    closed = threading.Event()
    slow = Gated(
        [*LEFT.to_batches(max_chunksize=500)[:2], lambda: closed.wait(ENDLESS_SECONDS)], LEFT.schema, closed=closed
    )
    running = sooner.join(slow, RIGHT, on="k")
    so_far = sooner.join(LEFT.slice(0, 1000), RIGHT, on="k").to_table().num_rows

    def stop_in_the_silence() -> None:
        wait_until(running, lambda progress: progress.results == so_far)
        time.sleep(0.1)
        running.stop()

    threading.Thread(target=stop_in_the_silence, daemon=True).start()
    with pytest.raises(SoonerError, match="stopped before all of its rows had come") as stopped:
        soon(lambda: running.write(tmp_path / f"joined{ending}"))
    kept = tmp_path / f"_partial-joined{ending}"
    assert str(kept) in stopped.value.__notes__[0]
    found = read(kept)
    assert found.num_rows > 0
    assert multiset(found) <= multiset(EXPECTED)
    assert [file.name for file in tmp_path.iterdir()] == [kept.name]


def test_a_file_in_which_nothing_would_be_is_not_left(tmp_path: Path) -> None:
    source = Gated([lambda: 1 // 0], LEFT.schema)
    with pytest.raises(SourceFailed):
        soon(lambda: sooner.join(source, RIGHT, on="k").write(tmp_path / "joined.csv"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sooner.sinks.writers.JsonWriter.write_table", full)
    monkeypatch.setattr("sooner.sinks.file_sink.require_writable", lambda *_: None)
    with refused(SinkFailed, f"{tmp_path} does not take the rows: No space left on device"):
        soon(lambda: query().write(tmp_path / "joined.jsonl"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", [None, b"joined.parquet", 5])
def test_what_is_no_path_is_refused(to: Any) -> None:
    with refused(InvalidCall, f"path={to!r} is no path; give the name of a file"):
        query().to_parquet(to)


@pytest.mark.parametrize(
    ("to", "culprit"),
    [
        (
            "joined.xlsx",
            "ends in '.xlsx', and no such file can be written; give a name that ends in one of .parquet, .csv",
        ),
        ("joined", "ends in '', and no such file"),
        ("joined.parquet.gz", "a .parquet file packs its columns itself; leave out .gz"),
        ("no/such/joined.csv", "is in a directory that is not there"),
        (".", "is a directory"),
        ("", "is empty; give the name of a file"),
        ("s3://bucket/joined.csv", "is not on this machine"),
        (print, "is no place to write to; give a path, or a sink: an object with write_rows(rows)"),
        (None, "is no place to write to"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_read(to: Any, culprit: str) -> None:
    running = query()
    with refused(InvalidCall, culprit):
        running.write(to)
    assert soon(running.to_table).num_rows == EXPECTED.num_rows


@pytest.mark.parametrize(
    ("ending", "column", "culprit"),
    [
        (".csv", pa.array([[1]]), "a .csv file cannot have the column 'x', which is list<item: int64>"),
        (".jsonl", pa.array([b"x"]), "a .jsonl file cannot have the column 'x', which is binary"),
    ],
)
def test_a_column_that_a_format_cannot_have_is_refused_before_anything_is_read(
    ending: str, column: pa.Array, culprit: str, tmp_path: Path
) -> None:
    running = sooner.join(pa.table({"k": [1], "x": column}), RIGHT, on="k")
    with refused(InvalidCall, culprit):
        running.write(tmp_path / f"joined{ending}")
    assert list(tmp_path.iterdir()) == []


# Sinks of one's own


class Counting:
    def __init__(self, most: int | None = None) -> None:
        self.rows = 0
        self.most = most

    def write_rows(self, rows: pa.RecordBatchReader) -> None:
        for batch in rows:
            self.rows += batch.num_rows
            if self.most is not None and self.rows > self.most:
                raise RuntimeError("no more, please")


def test_a_sink_of_ones_own_gets_all_rows() -> None:
    sink = Counting()
    assert soon(lambda: query().write(sink)) == sink.rows == EXPECTED.num_rows


def test_what_a_sink_raises_comes_out_and_the_query_is_stopped() -> None:
    closed = threading.Event()

    def endless() -> Iterator[Any]:
        yield from LEFT.to_batches(max_chunksize=500)

    running = sooner.join(Gated(list(endless()), LEFT.schema, closed=closed), RIGHT, on="k")
    with pytest.raises(RuntimeError, match="no more, please"):
        soon(lambda: running.write(Counting(10)))
    assert closed.is_set()
    with refused(SoonerError, "was stopped"):
        running.to_table()
