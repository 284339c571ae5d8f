"""`sooner.postgres`: ranges of keys that lose nothing, split no ties and can be read again."""

import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from postgres_server import run_sql
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from stream_reading import Collected, batches_of, end_offset, offsets_of, reader_of, rows_between, run_to_end

from sooner.errors import InvalidCall, SourceFailed
from sooner.spark import sources
from sooner.spark.session.versions import ReadAllAvailable
from sooner.spark.shuffle.packing import OPTION, Packing
from sooner.spark.shuffle.placing import Placement
from sooner.spark.sources import batch_sizes
from sooner.spark.sources.postgres_source import PostgresDataSource


def options(database: str, **more: object) -> dict[str, str]:
    chosen = {"table": "t", "key": "id", **more}
    return {"url": database} | {name: str(value) for name, value in chosen.items() if value is not None}


def numbers(database: str, rows: int = 95) -> None:
    run_sql(
        database,
        "CREATE TABLE t (id int8 PRIMARY KEY, s text)",
        f"INSERT INTO t SELECT i * 3, 'row ' || i FROM generate_series(0, {rows - 1}) i",
    )


def expected(rows: range) -> list[tuple[Any, ...]]:
    return [(3 * i, f"row {i}") for i in rows]


# Ranges of keys


@pytest.mark.parametrize("rows_per_batch", [1, 10, 94, 95, 1000])
@pytest.mark.parametrize("partitions", [1, 3])
def test_rows_come_by_key_each_once(database: str, rows_per_batch: int, partitions: int) -> None:
    numbers(database)
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=rows_per_batch, partitions=partitions))
    batches = batches_of(reader)
    assert [row for batch in batches for row in batch] == expected(range(95))
    assert {len(batch) for batch in batches[:-1]} <= {rows_per_batch}


def test_batches_begin_small_and_grow(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_sizes, "FIRST_ROWS", 5)
    numbers(database)
    batches = batches_of(reader_of(PostgresDataSource, options(database, rows_per_batch=30)))
    assert [len(batch) for batch in batches] == [5, 20, 30, 30, 10]
    assert [row for batch in batches for row in batch] == expected(range(95))


def test_packed_rows_are_the_same_rows_with_no_column_that_nobody_wants(database: str) -> None:
    run_sql(database, "CREATE TABLE t (id int8 PRIMARY KEY, s text, secret text)")
    run_sql(database, "INSERT INTO t SELECT i, nullif('key ' || i % 7, 'key 3'), 'x' FROM generate_series(0, 94) i")
    source = pa.schema([("id", pa.int64()), ("s", pa.string())])
    schema = pa.schema([("k", pa.string()), ("number", pa.int64())])
    packing = Packing(source, ("s", "id"), schema, Placement(("k",), (pa.string(),), 2), [">", "id", "20"])
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=40, **{OPTION: packing.to_text()}))
    offsets = offsets_of(reader)
    packs = [pack for begin, end in pairwise(offsets) for pack in rows_between(reader, begin, end)]
    rows = [row for _, pack in packs for row in pa.ipc.read_record_batch(pack, schema).to_pylist()]
    assert sorted((row["number"], row["k"]) for row in rows) == [
        (i, f"key {i % 7}") for i in range(21, 95) if i % 7 != 3
    ]


def test_the_tasks_of_a_batch_have_fair_shares(database: str) -> None:
    numbers(database)
    reader = reader_of(PostgresDataSource, options(database, partitions=4))
    start, end = offsets_of(reader)
    shares = [sum(batch.num_rows for batch in reader.read(share)) for share in reader.partitions(start, end)]
    assert sum(shares) == 95
    assert len(shares) == 4
    assert max(shares) <= 24


@pytest.mark.parametrize("rows_per_batch", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_ties_are_neither_split_nor_lost(database: str, rows_per_batch: int, partitions: int) -> None:
    run_sql(
        database,
        "CREATE TABLE t (id int4, n int4)",
        "INSERT INTO t SELECT (i * i) % 7, i FROM generate_series(1, 60) i",
    )
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=rows_per_batch, partitions=partitions))
    batches = batches_of(reader)
    assert sorted(row for batch in batches for row in batch) == sorted((i * i % 7, i) for i in range(1, 61))
    keys = [{row[0] for row in batch} for batch in batches]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_all_rows_may_have_one_key(database: str) -> None:
    run_sql(database, "CREATE TABLE t (id int2)", "INSERT INTO t SELECT 5 FROM generate_series(1, 20)")
    assert batches_of(reader_of(PostgresDataSource, options(database, rows_per_batch=3))) == [[(5,)] * 20]


START = datetime(2024, 1, 1)
KEYS: dict[str, list[Any]] = {
    "int2": [-3, 0, 32767],
    "int4": [-(2**31), -1, 0, 7],
    "int8": [-(2**63), 0, 2**63 - 1],
    "text": ["", "B", "a", "it's 100%", "ä", "z\nline", "日本"],
    "varchar(20)": ["", "Z", "a b", "\\x"],
    "uuid": [str(uuid.UUID(int=number)) for number in (0, 5, 2**127, 2**128 - 1)],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29)],
    "timestamp": [START + timedelta(microseconds=step) for step in (0, 1, 2, 86_400_000_000)],
    "timestamptz": [(START + timedelta(microseconds=step)).replace(tzinfo=UTC) for step in (0, 1, 3600_000_000)],
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(
    "setting", ["ALTER DATABASE {} SET datestyle = 'German'", "ALTER DATABASE {} SET timezone = 'Asia/Tokyo'"]
)
def test_keys_of_many_types(database: str, kind: str, setting: str) -> None:
    [(name,)] = run_sql(database, "SELECT current_database()")
    run_sql(database, setting.format(name))
    literals = ", ".join(f"($quote${key}$quote$)" for key in KEYS[kind])
    run_sql(database, f"CREATE TABLE t (id {kind})", f"INSERT INTO t VALUES {literals}")
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=1))
    batches = batches_of(reader)
    assert sorted(row for batch in batches for row in batch) == sorted((key,) for key in KEYS[kind])
    assert len(batches) == len(KEYS[kind])


def test_a_query_can_be_read(database: str) -> None:
    numbers(database)
    query = "SELECT id % 10 AS k, s || '%s' AS \"S x\" FROM t WHERE id < 30 -- the first ten"
    reader = reader_of(PostgresDataSource, options(database, table=None, query=query, key="k", rows_per_batch=4))
    rows = [row for batch in batches_of(reader) for row in batch]
    assert sorted(rows) == sorted((3 * i % 10, f"row {i}%s") for i in range(10))


def test_names_may_have_any_characters(database: str) -> None:
    table, column = 'Robert"); DROP TABLE t; --', 'the "key" %s {}'
    quoted_table, quoted_column = (name.replace('"', '""') for name in (table, column))
    run_sql(
        database,
        'CREATE SCHEMA "My.Schema"',
        f'CREATE TABLE "My.Schema"."{quoted_table}" ("{quoted_column}" text, "SELECT" int4)',
        f"""INSERT INTO "My.Schema"."{quoted_table}" VALUES ('a', 1), ('b', 2), ('it''s', 3)""",
    )
    chosen = options(database, table=table, schema="My.Schema", key=column, rows_per_batch=2)
    assert batches_of(reader_of(PostgresDataSource, chosen)) == [[("a", 1), ("b", 2)], [("it's", 3)]]


# Values


def test_values_of_all_types(database: str) -> None:
    run_sql(
        database,
        """CREATE TABLE t (id int4, i2 int2, i8 int8, f4 float4, f8 float8, n numeric(10, 2), free numeric, t text,
           v varchar(9), c char(3), b bool, d date, ts timestamp, tz timestamptz, raw bytea, u uuid)""",
        """INSERT INTO t VALUES (1, -5, 9000000000, 1.5, 0.1, 12.30, 1.000000000000000001, '', 'x,"y"', 'ab', true,
           '2024-02-29', '2024-01-02 03:04:05.000006', '2024-01-02 03:04:05+02', '\\x00ff',
           '00000000-0000-0000-0000-00000000000a')""",
        "INSERT INTO t (id) VALUES (2)",
        "INSERT INTO t (id, f8, t, b, raw) VALUES (3, 'Infinity', E'two\\nlines\\\\.', false, '')",
    )
    reader = reader_of(PostgresDataSource, options(database))
    [rows] = batches_of(reader)
    assert rows[0] == (
        1, -5, 9_000_000_000, 1.5, 0.1, Decimal("12.30"), Decimal("1.000000000000000001"), "", 'x,"y"', "ab ", True,
        date(2024, 2, 29), datetime(2024, 1, 2, 3, 4, 5, 6), datetime(2024, 1, 2, 1, 4, 5, tzinfo=UTC), b"\x00\xff",
        "00000000-0000-0000-0000-00000000000a",
    )  # fmt: skip
    assert rows[1] == (2, *[None] * 15)
    assert rows[2][4] == float("inf")
    assert rows[2][7] == "two\nlines\\."
    assert rows[2][10] is False
    assert rows[2][14] == b""


def test_a_single_column_of_empty_text_keeps_its_rows(database: str) -> None:
    run_sql(database, "CREATE TABLE t (id text)", "INSERT INTO t VALUES (''), (''), ('a')")
    assert batches_of(reader_of(PostgresDataSource, options(database))) == [[("",), ("",), ("a",)]]


def test_a_value_that_spark_cannot_hold_is_a_failure(database: str) -> None:
    run_sql(database, "CREATE TABLE t (id int4, at timestamp)", "INSERT INTO t VALUES (1, 'infinity')")
    reader = reader_of(PostgresDataSource, options(database))
    with pytest.raises(SourceFailed, match="t: a value cannot be read"):
        batches_of(reader)


# The end, and what changes


def test_an_empty_table_ends_with_one_batch(database: str) -> None:
    numbers(database, rows=0)
    reader = reader_of(PostgresDataSource, options(database))
    assert [offset["ended"] for offset in offsets_of(reader)] == [False, True]
    assert batches_of(reader) == [[]]


def test_rows_after_the_end_are_not_part_of_the_input(database: str) -> None:
    numbers(database, rows=30)
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=10))
    start = reader.initialOffset()
    first = reader.latestOffset(start, reader.getDefaultReadLimit())
    run_sql(database, "INSERT INTO t VALUES (1000, 'late')")
    second = reader.latestOffset(first, reader.getDefaultReadLimit())
    third = reader.latestOffset(second, reader.getDefaultReadLimit())
    assert [offset["ended"] for offset in (first, second, third)] == [False, False, True]
    assert rows_between(reader, start, first) == expected(range(10))
    assert rows_between(reader, second, third) == expected(range(20, 30))


def test_the_same_offsets_give_the_same_rows_to_any_reader(database: str) -> None:
    numbers(database)
    offsets = offsets_of(reader_of(PostgresDataSource, options(database, rows_per_batch=20)))
    run_sql(database, "INSERT INTO t VALUES (1000, 'late')")
    later = reader_of(PostgresDataSource, options(database, rows_per_batch=3, partitions=1))
    batches = [rows_between(later, start, end) for start, end in reversed(list(pairwise(offsets)))]
    assert batches[::-1] == [expected(range(start, min(start + 20, 95))) for start in range(0, 95, 20)]


@pytest.mark.parametrize("change", ["INSERT INTO t VALUES (4, 'in between')", "DELETE FROM t WHERE id = 6"])
def test_rows_that_change_after_planning_are_refused(database: str, change: str) -> None:
    numbers(database)
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=20, partitions=1))
    offsets = offsets_of(reader)
    run_sql(database, change)
    with pytest.raises(SourceFailed, match=r"t had 20 rows with 'id' after None and up to '57' .* has (19|21) now"):
        rows_between(reader, offsets[0], offsets[1])
    assert rows_between(reader, offsets[1], offsets[2]) == expected(range(20, 40))


def test_an_input_whose_rest_was_deleted_still_ends(database: str) -> None:
    numbers(database)
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=20))
    first = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    run_sql(database, "DELETE FROM t WHERE id > 57")
    second = reader.latestOffset(first, reader.getDefaultReadLimit())
    assert second["ended"]
    assert rows_between(reader, first, second) == []


def test_a_checkpoint_of_another_table_is_refused(database: str) -> None:
    numbers(database)
    offsets = offsets_of(reader_of(PostgresDataSource, options(database)))
    other = reader_of(PostgresDataSource, options(database, key="s"))
    with pytest.raises(SourceFailed, match="of another table, query or key than t by 's'"):
        other.partitions(offsets[0], offsets[1])


def test_all_rows_at_once_when_spark_asks_for_them(database: str) -> None:
    numbers(database)
    reader = reader_of(PostgresDataSource, options(database, rows_per_batch=1))
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable())["rows"] == 95


def test_null_keys_are_refused_not_lost(database: str) -> None:
    run_sql(database, "CREATE TABLE t (id int4)", "INSERT INTO t VALUES (1), (NULL)")
    reader = reader_of(PostgresDataSource, options(database))
    with pytest.raises(InvalidCall, match="t has rows whose key 'id' is null"):
        reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())


# Bad arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": None}, "either a table or a query"),
        ({"query": "SELECT 1"}, "either a table or a query"),
        ({"table": None, "query": "SELECT 1 AS id", "schema": "public"}, "schema is 'public', but a query is read"),
        ({"table": "nothing"}, 'PostgreSQL: relation "nothing" does not exist'),
        ({"table": None, "query": "SELEKT"}, "PostgreSQL: syntax error"),
        ({"key": "nope"}, "t: there is no key column 'nope'; there are id, s, share, note"),
        ({"key": "share"}, "the key 'share' is float8; a key is one of int2, int4"),
        ({"key": ""}, "option 'key' is missing"),
        ({}, r"column 'note' is jsonb, which cannot be read; .*note::text"),
        ({"rows_per_batch": 0}, "rows_per_batch is 0"),
        ({"partitions": 0}, "partitions is 0"),
        ({"table": None, "query": "SELECT 1 AS id, 2 AS id"}, "there are 2 columns 'id'"),
        ({"table": None, "query": "SELECT 1 AS id, 1::numeric(50, 2) AS n"}, "Spark's decimals have at most 38 digits"),
    ],
)
def test_bad_arguments_are_refused_at_once(
    spark: SparkSession, database: str, arguments: dict[str, Any], message: str
) -> None:
    run_sql(database, "CREATE TABLE t (id int4, s text, share float8, note jsonb)")
    chosen = {"table": "t", "key": "id"} | arguments
    with pytest.raises(InvalidCall, match=message):
        sources.postgres(spark, database, **chosen)


def test_a_bad_connection_string_is_refused_without_being_shown(spark: SparkSession) -> None:
    with pytest.raises(InvalidCall, match="cannot be read") as refused:
        sources.postgres(spark, "host=here passwort=hunter2", table="t", key="id")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(InvalidCall, match="PostgreSQL: ") as refused:
        sources.postgres(spark, "host=/nowhere password=hunter2 user=me", table="t", key="id")
    assert "hunter2" not in str(refused.value)


# In Spark


def test_spark_reads_each_row_once_after_a_crash_and_shows_no_password(
    spark: SparkSession, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    numbers(database)
    secret = f"{database} password=hunter2"
    frame = sources.postgres(spark, secret, table="t", key="id", rows_per_batch=30)
    collected = Collected(crash_at=1)
    with pytest.raises(StreamingQueryException):
        run_to_end(frame, tmp_path / "checkpoint", collected)
    before, collected.crash_at = collected.batches[1], None
    run_sql(database, "INSERT INTO t VALUES (1000, 'late')")
    query = run_to_end(frame, tmp_path / "checkpoint", collected)
    assert collected.batches[1] == before
    assert collected.rows == expected(range(95))
    assert end_offset(query)["ended"] is True

    frame.explain(extended=True)
    logged = "".join(path.read_text(errors="ignore") for path in (tmp_path / "checkpoint").rglob("*") if path.is_file())
    shown = json.dumps([progress.json for progress in query.recentProgress]) + capfd.readouterr().out + logged
    assert "sooner.postgres" in shown
    assert "hunter2" not in shown
