"""Each batch once in PostgreSQL, whatever happens between."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from postgres_server import run_sql
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from stream_reading import run_to_end

from sooner.errors import InvalidCall, SinkFailed
from sooner.spark import sources
from sooner.spark.sinks import postgres_sink, to_postgres
from sooner.spark.sinks.postgres_copy import as_csv


def frame_of(spark: SparkSession, rows: range) -> DataFrame:
    return spark.range(rows.start, rows.stop, numPartitions=3).selectExpr("id AS k", "concat('row ', id) AS s")


def expected(rows: range) -> list[tuple[Any, ...]]:
    return [(k, f"row {k}") for k in rows]


def content(database: str) -> list[tuple[object, ...]]:
    return run_sql(database, "SELECT k, s FROM target ORDER BY k, s")


def staging_tables(database: str) -> list[tuple[object, ...]]:
    return run_sql(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'sooner_staging%'")


@pytest.fixture(autouse=True)
def _no_streaming_query(spark: SparkSession) -> Iterator[None]:
    """A test outside a stream must not find the id of an earlier one."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)  # type: ignore[arg-type]
    yield


def test_a_batch_written_twice_is_there_once(spark: SparkSession, database: str) -> None:
    write = to_postgres(database, "target", query="q")
    write(frame_of(spark, range(50)), 0)
    write(frame_of(spark, range(50)), 0)
    assert content(database) == expected(range(50))
    assert staging_tables(database) == [], "a batch that is there was copied once more"
    write(frame_of(spark, range(50, 60)), 1)
    write(frame_of(spark, range(50)), 0)
    assert content(database) == expected(range(60))
    assert run_sql(database, "SELECT query, target, batch FROM sooner_batches") == [("q", "target", 1)]
    assert staging_tables(database) == []


def test_queries_and_targets_do_not_know_each_other(spark: SparkSession, database: str) -> None:
    frame = frame_of(spark, range(3)).coalesce(1)
    to_postgres(database, "target", query="one")(frame, 0)
    to_postgres(database, "target", query="two")(frame, 0)
    to_postgres(database, "other", query="one")(frame, 0)
    assert content(database) == sorted(expected(range(3)) * 2)
    assert run_sql(database, "SELECT count(*) FROM other") == [(3,)]


def test_a_batch_without_rows_is_recorded(spark: SparkSession, database: str) -> None:
    to_postgres(database, "target", query="q")(frame_of(spark, range(0)), 4)
    assert content(database) == []
    assert run_sql(database, "SELECT batch FROM sooner_batches") == [(4,)]


def test_values_of_all_types_and_names_of_any_characters(spark: SparkSession, database: str) -> None:
    values = {
        'a "b" %s': (['x,"y"\nz\'\\.', "", None], "string"),
        "i1": ([1, None, -1], "byte"),
        "SELECT": ([9_000_000_000, None, 0], "long"),
        "f": ([0.1, float("nan"), float("-inf")], "double"),
        "n": ([Decimal("1.50"), None, Decimal("-2.00")], "decimal(10,2)"),
        "b": ([True, False, None], "boolean"),
        "d": ([date(2024, 2, 29), None, date(1, 1, 1)], "date"),
        "ts": ([datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), None, datetime(1960, 1, 1, tzinfo=UTC)], "timestamp"),
        "nt": ([datetime(2024, 1, 2, 3, 4, 5, 6), None, datetime(1960, 1, 1)], "timestamp_ntz"),
        "raw": ([b"\x00\xff", b"", None], "binary"),
    }
    schema = ", ".join(f"`{name}` {kind}" for name, (_, kind) in values.items())
    rows = list(zip(*(column for column, _ in values.values()), strict=True))
    frame = spark.createDataFrame(rows, schema)
    run_sql(database, 'CREATE SCHEMA "My %s.Schema"')
    to_postgres(database, 'The "table"', schema="My %s.Schema", query="q")(frame, 0)
    found = run_sql(database, "SET timezone = 'UTC'", 'SELECT * FROM "My %s.Schema"."The ""table"""')
    assert sorted(map(repr, found)) == sorted(map(repr, rows))  # as text, in which NaN equals NaN


def test_text_as_copy_reads_it() -> None:
    batch = pa.record_batch({"s": ["", None, 'a"b'], "raw": pa.array([b"\x01", None, b""], pa.binary())})
    assert as_csv(batch, "me").to_pybytes() == b'"me","","\\x01"\n"me",,\n"me","a""b","\\x"\n'


def test_a_table_that_is_there_may_have_more_columns_with_defaults(spark: SparkSession, database: str) -> None:
    run_sql(database, "CREATE TABLE target (extra serial, s varchar(20), k int4 PRIMARY KEY)")
    to_postgres(database, "target", query="q", if_missing="refuse")(frame_of(spark, range(5)), 0)
    assert content(database) == expected(range(5))


# Crashes


def test_a_crash_between_copy_and_commit_leaves_nothing(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = to_postgres(database, "target", query="q")

    def crash(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(postgres_sink, "move", crash)
        with pytest.raises(KeyboardInterrupt):
            write(frame_of(spark, range(5)), 0)
    assert content(database) == []
    assert run_sql(database, "SELECT * FROM sooner_batches") == []
    write(frame_of(spark, range(5)), 0)
    assert content(database) == expected(range(5))
    assert staging_tables(database) == []


def test_rows_of_attempts_that_spark_did_not_accept_do_not_count(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that died after its COPY was committed, and was run again, left its rows in the staging table."""
    made = postgres_sink.make_staging

    def with_leftovers(connection: Any, tables: Any, columns: Any) -> None:
        made(connection, tables, columns)
        statement = psycopg.sql.SQL("INSERT INTO {} VALUES ('dead attempt', 99, 'leftover')")
        connection.execute(statement.format(tables.staging_name))

    monkeypatch.setattr(postgres_sink, "make_staging", with_leftovers)
    to_postgres(database, "target", query="q")(frame_of(spark, range(5)), 0)
    assert content(database) == expected(range(5))


def test_rows_that_vanish_on_the_way_are_noticed(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_sink, "move", lambda *_: 3)
    with pytest.raises(SinkFailed, match="5 rows of batch 0 were copied but 3 were found"):
        to_postgres(database, "target", query="q")(frame_of(spark, range(5)), 0)
    assert run_sql(database, "SELECT * FROM sooner_batches") == []


def test_a_stream_that_crashes_after_the_commit_is_exact_after_a_restart(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    arrow_parquet.write_table(pa.table({"k": range(90), "s": [f"row {k}" for k in range(90)]}), tmp_path / "in.parquet")
    frame = sources.parquet(spark, str(tmp_path / "in.parquet"), rows_per_batch=30)
    write = to_postgres(database, "target")

    def crashing(batch: DataFrame, batch_id: int) -> None:
        write(batch, batch_id)
        if batch_id == 1:
            raise RuntimeError("crashed on purpose")

    with pytest.raises(StreamingQueryException):
        run_to_end(frame, tmp_path / "checkpoint", crashing)
    assert len(content(database)) == 60
    query = run_to_end(frame, tmp_path / "checkpoint", write)
    assert content(database) == expected(range(90))
    assert run_sql(database, "SELECT query, batch FROM sooner_batches") == [(query.id, 2)]


# Refusals


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidCall, match="the connection string of PostgreSQL cannot be read"):
        to_postgres("nonsense", "target")
    with pytest.raises(InvalidCall, match="if_missing is 'ask'; give 'create' or 'refuse'"):
        to_postgres("dbname=x", "target", if_missing="ask")  # type: ignore[arg-type]
    with pytest.raises(InvalidCall, match="table is empty"):
        to_postgres("dbname=x", "")


def test_tables_and_columns_that_do_not_fit_are_refused(spark: SparkSession, database: str) -> None:
    frame = frame_of(spark, range(5))
    with pytest.raises(InvalidCall, match="there is no table 'target'; create it"):
        to_postgres(database, "target", query="q", if_missing="refuse")(frame, 0)
    run_sql(database, "CREATE TABLE target (k int8)")
    with pytest.raises(InvalidCall, match="table 'target' has no column 's'; it has k"):
        to_postgres(database, "target", query="q")(frame, 0)
    with pytest.raises(InvalidCall, match="column 'list' is array<int>, which has no type in PostgreSQL"):
        to_postgres(database, "target", query="q")(spark.sql("SELECT array(1) AS list"), 0)
    with pytest.raises(InvalidCall, match="there are 2 columns 'k'"):
        to_postgres(database, "target", query="q")(frame.selectExpr("k", "k"), 0)
    with pytest.raises(InvalidCall, match="no streaming query gave this batch"):
        to_postgres(database, "target")(frame, 0)


def test_a_value_that_the_table_refuses_is_named_and_nothing_is_written(spark: SparkSession, database: str) -> None:
    run_sql(database, "CREATE TABLE target (k int2, s text)")
    with pytest.raises(PythonException, match='value "70003" is out of range for type smallint'):
        to_postgres(database, "target", query="q")(frame_of(spark, range(70_003, 70_004)), 0)
    assert content(database) == []
