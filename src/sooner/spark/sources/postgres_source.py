"""`sooner.postgres`: a table or query as a stream that ends, read in ranges of a key.

The end of the input is fixed when the query starts: rows with a greater key that are added later are not part of it.
An offset says up to which key rows were read, how the last batch was cut, and where the input ends:

    {"after": "4200", "last": "90000", "rows": 4200, "cuts": [["2100", 2100], ["4200", 4200]],
     "input": "9f31...", "ended": false}

Keys and numbers of rows therefore stand in Spark's checkpoint and progress; no connection string does.

Not covered: rows that change while they are read. What is noticed of that (`postgres_keys`) ends the query.
"""

# ruff: noqa: N802 - the names of methods are Spark's

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sooner.errors import InvalidCall, SoonerError, SourceFailed
from sooner.spark.interop.spark_types import arrow_schema, conformed, spark_schema
from sooner.spark.session.versions import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow, reader_for_this_spark
from sooner.spark.shuffle.packing import OPTION as PACKING
from sooner.spark.shuffle.packing import PACKED_ROWS, Packing
from sooner.spark.sources import options as option
from sooner.spark.sources.batch_sizes import growing
from sooner.spark.sources.loading import load_stream, tasks_of
from sooner.spark.sources.postgres_connection import connected, require_conninfo
from sooner.spark.sources.postgres_keys import KeyRange, Relation, last_key, next_ranges, reaches
from sooner.spark.sources.postgres_rows import copied
from sooner.spark.sources.postgres_types import arrow_columns, key_type

ROWS_PER_BATCH = 250_000  # at most; how wide they are is not known before they are read
TASKS = 2
# When Spark asks for all rows at once (its trigger `once`).
_ALL_ROWS = 1 << 62


class PostgresOptions:
    """What the user chose, checked."""

    known = ("url", "table", "schema", "query", "key", "rows_per_batch", "partitions", PACKING)

    def __init__(self, options: Mapping[str, str]) -> None:
        option.only_known(options, self.known, "sooner.postgres")
        self.conninfo = option.required(options, "url", "a connection string of PostgreSQL")
        require_conninfo(self.conninfo)
        table, schema, query = options.get("table"), options.get("schema"), options.get("query")
        if (table is None) == (query is None):
            raise InvalidCall("sooner.postgres reads either a table or a query; give one of table= and query=")
        if schema is not None and table is None:
            raise InvalidCall(f"schema is {schema!r}, but a query is read; name the schema inside the query")
        key = option.required(options, "key", "the column by which rows are read: ordered, and best indexed and unique")
        self.relation = Relation(table, schema, query, key)
        self.rows_per_batch = option.at_least(options, "rows_per_batch", 1, ROWS_PER_BATCH)
        self.partitions = option.at_least(options, "partitions", 1, TASKS)
        self.packing = Packing.chosen(options)

    def described(self, failure: type[SoonerError]) -> tuple[pa.Schema, str]:
        """The columns of the input, and the type of its key, from the server."""
        columns, relation = self._columns(failure), self.relation
        kind = key_type(columns, relation.key, relation.name)
        return arrow_columns(columns, relation.name), kind

    @property
    def input(self) -> str:
        """Another one for another input: an offset of one means nothing in the other."""
        relation = self.relation
        facts = [relation.table, relation.schema, relation.query, relation.key]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def _columns(self, failure: type[SoonerError]) -> Sequence[psycopg.Column]:
        with connected(self.conninfo, failure) as connection:
            statement = sql.SQL("SELECT * FROM {} LIMIT 0").format(self.relation.source)
            return connection.execute(statement).description or ()


@dataclass
class PostgresShare(InputPartition):
    """The range of keys that one task reads."""

    key_range: KeyRange
    key_type: str


class PostgresDataSource(DataSource):
    """The format `sooner.postgres`."""

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "sooner.postgres"

    def schema(self) -> StructType:
        """Spark's types of all columns."""
        chosen = PostgresOptions(self.options)
        if chosen.packing is not None:
            return PACKED_ROWS
        return spark_schema(chosen.described(InvalidCall)[0], chosen.relation.name)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What Spark asks for offsets and rows."""
        return reader_for_this_spark(PostgresStreamReader(PostgresOptions(self.options), schema))


class PostgresStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets on the driver, rows in the tasks; each call has a connection of its own."""

    def __init__(self, chosen: PostgresOptions, schema: StructType) -> None:
        self._chosen = chosen
        self._schema = schema

    def initialOffset(self) -> dict[str, Any]:
        """Before the first row. Where the input ends is not known yet, and must not be: this is asked for again."""
        return self._offset(None, None, 0, [], ended=False)

    def getDefaultReadLimit(self) -> ReadLimit:
        """A batch has no more rows than the user said, but for ties."""
        return ReadMaxRows(self._chosen.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """The input ends where the first batch found its end."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the batch that begins at `start` ends."""
        self._require_same_input(start)
        if start["ended"]:
            return start
        chosen, relation = self._chosen, self._chosen.relation
        after, rows = start["after"], start["rows"]
        most_rows = growing(rows, limit.max_rows) if isinstance(limit, ReadMaxRows) else _ALL_ROWS
        with connected(chosen.conninfo, SourceFailed) as connection:
            last = start["last"] if start["last"] is not None else last_key(connection, relation)
            if last is None:
                return self._offset(None, None, 0, [], ended=True)
            ranges = next_ranges(connection, relation, self._key_type, after, last, most_rows, chosen.partitions)
            if not ranges:  # the rest of the input was deleted
                return self._offset(after, last, rows, [], ended=True)
            cuts: list[tuple[str, int]] = []
            for key_range in ranges:
                after, rows = key_range.high, rows + key_range.rows
                cuts.append((after, rows))
            return self._offset(after, last, rows, cuts, ended=reaches(connection, self._key_type, after, last))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One range for each task, as they were cut when the batch was planned."""
        self._require_same_input(start)
        self._require_same_input(end)
        low, before = start["after"], start["rows"]
        shares = []
        for high, up_to in end["cuts"]:
            shares.append(PostgresShare(KeyRange(low, high, up_to - before), self._key_type))
            low, before = high, up_to
        return shares

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range; runs in a task."""
        assert isinstance(partition, PostgresShare)
        packing = self._chosen.packing
        if packing is None:
            return self._rows(partition, arrow_schema(self._schema))
        return packing.packed(self._rows(partition, packing.source))

    def _rows(self, partition: PostgresShare, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        relation = self._chosen.relation
        columns = sql.SQL(", ").join(map(sql.Identifier, schema.names))
        select = sql.SQL("SELECT {} FROM {} WHERE {}").format(
            columns, relation.source, partition.key_range.condition(relation, partition.key_type)
        )
        rows = 0
        with connected(self._chosen.conninfo, SourceFailed) as connection:
            for batch in copied(connection, select, schema, relation.name):
                rows += batch.num_rows
                yield conformed(batch, schema, relation.name)
        self._require_planned(rows, partition.key_range)

    @cached_property
    def _key_type(self) -> str:
        return self._chosen.described(SourceFailed)[1]

    def _offset(
        self, after: str | None, last: str | None, rows: int, cuts: Sequence[tuple[str, int]], *, ended: bool
    ) -> dict[str, Any]:
        return {
            "after": after,
            "last": last,
            "rows": rows,
            "cuts": [list(cut) for cut in cuts],
            "input": self._chosen.input,
            "ended": ended,
        }

    def _require_same_input(self, offset: Mapping[str, Any]) -> None:
        if offset["input"] != self._chosen.input:
            raise SourceFailed(
                f"the checkpoint is of another table, query or key than {self._chosen.relation.name} by "
                f"{self._chosen.relation.key!r}; give the former again, or a new checkpoint"
            )

    def _require_planned(self, rows: int, key_range: KeyRange) -> None:
        if rows != key_range.rows:
            relation = self._chosen.relation
            raise SourceFailed(
                f"{relation.name} had {key_range.rows:,} rows with {relation.key!r} after {key_range.low!r} and up to "
                f"{key_range.high!r} when the batch was planned and has {rows:,} now, so that a replay would differ; "
                "read rows that no longer change (a query can leave the newest out), with a new checkpoint"
            )


def postgres(
    spark: SparkSession,
    conninfo: str,
    *,
    table: str | None = None,
    schema: str | None = None,
    query: str | None = None,
    key: str,
    rows_per_batch: int = ROWS_PER_BATCH,
    partitions: int | None = None,
) -> DataFrame:
    """A table of PostgreSQL (of `schema`, else where the server looks) or a query, as a streaming DataFrame that ends.

    Rows are read in the order of `key`, a column of integers, text, UUIDs, dates or timestamps without nulls. It need
    not be unique, but rows of equal key come in one batch, which may then be larger; an index on it saves a sort for
    each batch. The first batch is small, and each one then has several times the rows before it, up to
    `rows_per_batch`. The input ends at the greatest key of the first batch. `partitions` is the number of tasks, each
    with a connection, that read a batch: by default one for each core.
    """
    options = option.given(
        url=conninfo,
        table=table,
        schema=schema,
        query=query,
        key=key,
        rows_per_batch=rows_per_batch,
        partitions=tasks_of(spark, partitions),
    )
    return load_stream(spark, PostgresDataSource, options)
