"""Each batch once into a Delta table, without Java: the `deltalake` package.

Tasks write Parquet files into the table's directory, where nobody sees them. One commit then adds the files of those
attempts that Spark accepted, and says in Delta's own words (an application transaction) which batch they are. Files of
other attempts stay unseen until the table is vacuumed.

Not covered: partitioned tables, and tables with constraints, generated columns or other features that bind writers.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction
from pyarrow import fs
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.errors import InvalidCall, SinkFailed
from sooner.spark.interop.spark_types import arrow_schema
from sooner.spark.sinks.batches import (
    IfMissing,
    WriteBatch,
    describe_jobs,
    query_of,
    require_distinct_columns,
    require_if_missing,
)
from sooner.spark.sinks.files import WRITTEN, ParquetTask, Written, writer_of

# What a table may ask of its writers that a plain append of files fulfils.
_KNOWN_FEATURES = {"appendOnly", "invariants", "timestampNtz"}
_PLAIN_WRITER_VERSION = 2


@dataclass(frozen=True)
class TableFiles:
    """Where tasks write: beside the other files of the table, which does not name them yet."""

    path: str
    storage_options: dict[str, str] | None

    def open(self) -> tuple[fs.FileSystem, str]:
        return fs.PyFileSystem(DeltaStorageHandler(self.path, self.storage_options)), ""


@dataclass(frozen=True)
class DeltaSink:
    """Writes batches to one table."""

    path: str
    query: str | None
    storage_options: dict[str, str] | None
    if_missing: IfMissing

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write a batch, unless it is there."""
        require_distinct_columns(frame)
        describe_jobs(frame)
        schema = arrow_schema(frame.schema)
        names = frame.mapInArrow(self.task(schema), WRITTEN)
        self.commit(names.collect, query_of(frame, self.query), batch_id, schema)

    def task(self, schema: pa.Schema) -> ParquetTask:
        return ParquetTask(TableFiles(self.path, self.storage_options), schema)

    def prepare(self, schema: pa.Schema) -> None:
        """Make the table, if there is none."""
        self._table(schema)

    def commit(self, written: Written, query: str, batch_id: int, schema: pa.Schema) -> None:
        """Have a batch written, unless it is there, and add its files to the table."""
        query = self.query or query
        try:
            table = self._table(schema)
            last = table.transaction_version(query)
            if last is not None and last >= batch_id:
                return
            added: list[Any] = [_added(file.name, file.size, file.rows) for file in written()]
            if not added:  # a batch without rows can be written as often as you like
                return
            table.create_write_transaction(
                added,
                "append",
                table.schema(),
                commit_properties=CommitProperties(app_transactions=[Transaction(query, batch_id)]),
            )
        except DeltaError as error:
            raise SinkFailed(f"Delta table {self.path} did not take batch {batch_id}: {error}") from error

    def _table(self, schema: pa.Schema) -> DeltaTable:
        if not DeltaTable.is_deltatable(self.path, self.storage_options):
            if self.if_missing == "refuse":
                raise InvalidCall(f"there is no Delta table {self.path}; create it, or let if_missing be 'create'")
            # Another writer may be first: its table is as good, if the columns are the same.
            DeltaTable.create(self.path, schema, mode="ignore", storage_options=self.storage_options)
        table = DeltaTable(self.path, storage_options=self.storage_options)
        _require_plain(table, self.path)
        _require_columns(table, schema, self.path)
        return table


def delta(
    rows: DataFrame,
    path: str,
    *,
    query: str | None = None,
    storage_options: dict[str, str] | None = None,
    if_missing: IfMissing = "create",
) -> DataStreamWriter:
    """A writer that puts each batch of a streaming DataFrame once into a Delta table; arguments as for `to_delta`.

    The rows of a join are written by the tasks that make them. Of any other DataFrame, they come through Spark.
    """
    return writer_of(rows, _sink(path, query, storage_options, if_missing))


def to_delta(
    path: str,
    *,
    query: str | None = None,
    storage_options: dict[str, str] | None = None,
    if_missing: IfMissing = "create",
) -> WriteBatch:
    """A function for `foreachBatch` that writes each batch once to a Delta table.

    `query` is Delta's application id; by default the id in the checkpoint. Use another name with another checkpoint.
    A missing table is made unless `if_missing` is "refuse"; one that is there must have the columns of the DataFrame.
    """
    return _sink(path, query, storage_options, if_missing)


def _sink(path: str, query: str | None, storage_options: dict[str, str] | None, if_missing: IfMissing) -> DeltaSink:
    require_if_missing(if_missing)
    if not path:
        raise InvalidCall("path is empty; give the path or URI of a Delta table")
    return DeltaSink(path, query, storage_options, if_missing)


def _added(path: str, size: int, rows: int) -> AddAction:
    return AddAction(
        path=path,
        size=size,
        partition_values={},
        modification_time=int(time.time() * 1000),
        data_change=True,
        stats=json.dumps({"numRecords": rows}),
    )


def _require_plain(table: DeltaTable, path: str) -> None:
    if partitions := table.metadata().partition_columns:
        raise InvalidCall(f"Delta table {path} is partitioned by {', '.join(partitions)}; give one without partitions")
    protocol = table.protocol()
    more = set(protocol.writer_features or ()) - _KNOWN_FEATURES
    if more or (protocol.writer_features is None and protocol.min_writer_version > _PLAIN_WRITER_VERSION):
        asked = ", ".join(sorted(more)) or f"version {protocol.min_writer_version}"
        raise InvalidCall(f"Delta table {path} asks its writers for {asked}; give a table without")


def _require_columns(table: DeltaTable, schema: pa.Schema, path: str) -> None:
    present = {field.name: field.type for field in pa.schema(table.schema().to_arrow())}
    ours = {field.name: field.type for field in schema}
    if {name: str(kind) for name, kind in present.items()} != {name: str(kind) for name, kind in ours.items()}:
        described = [", ".join(f"{name} {kind}" for name, kind in columns.items()) for columns in (present, ours)]
        raise InvalidCall(f"Delta table {path} has the columns {described[0]}, but the batch has {described[1]}")
