"""`sooner.delta_changes`: what has changed in a Delta table, as a stream that does not end.

An offset is a version of the table. Where the table keeps a feed of changes, rows come from that; else from the files
that one version has and the other has not. A row that a version has anew is an upsert, even if it was in another file
before; one that only the version before has is gone.

    {"version": 12, "table": "8f4d..."}
"""

# ruff: noqa: N802 - the names of methods are Spark's

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sooner.errors import SourceFailed
from sooner.extras import require
from sooner.spark.interop.locations import open_location
from sooner.spark.interop.spark_types import arrow_schema, spark_schema
from sooner.spark.session.versions import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow, reader_for_this_spark
from sooner.spark.sources import options as option
from sooner.spark.sources.loading import load_stream
from sooner.spark.sources.parquet_files import find_parquet

VERSION: Final = "_commit_version"
DELETED: Final = "_deleted"
LOOK_SECONDS: Final = 1.0  # between two looks at the table: Spark asks a hundred times a second
_KINDS: Final = {"insert": False, "update_postimage": False, "delete": True}  # of the feed; others are of no use


@dataclass
class Versions(InputPartition):
    """What happened after one version, up to another."""

    after: int
    until: int

    def __init__(self, after: int, until: int) -> None:
        super().__init__((after, until))
        self.after, self.until = after, until


class DeltaChanges(DataSource):
    """The format `sooner.delta_changes`. Options: `path`, and `after`, the version that is known."""

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "sooner.delta_changes"

    @property
    def _path(self) -> str:
        return option.required(self.options, "path", "a Delta table")

    @property
    def _after(self) -> int:
        return option.at_least(self.options, "after", 0, 0)

    def schema(self) -> StructType:
        """The columns of the table, the version in which a row changed, and whether it is gone."""
        table = find_parquet(self._path, None, self._after).schema
        return spark_schema(_with_news(table), self._path)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What Spark asks for offsets and rows."""
        return reader_for_this_spark(DeltaChangesReader(self._path, self._after, schema))


class DeltaChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, path: str, after: int, schema: StructType) -> None:
        self._path = path
        self._after = after
        self._schema = schema
        self._looked: tuple[float, int] | None = None

    def initialOffset(self) -> dict[str, Any]:
        """What is known from the start."""
        return self._offset(self._after)

    def getDefaultReadLimit(self) -> ReadLimit:
        """All versions that there are: a master is as new as can be."""
        return ReadMaxRows(2**62)

    def prepareForTriggerAvailableNow(self) -> None:
        """The newest version now is the last."""
        self._looked = (float("inf"), self._newest())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002
        """The newest version; it is looked for now and then."""
        self._require_same(start)
        if self._looked is None or time.monotonic() - self._looked[0] > LOOK_SECONDS:
            self._looked = time.monotonic(), self._newest()
        return self._offset(max(self._looked[1], start["version"]))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One task reads all: changes are few."""
        self._require_same(start)
        return [Versions(start["version"], end["version"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows that changed; runs in a task."""
        assert isinstance(partition, Versions)
        schema = arrow_schema(self._schema)
        for batch in _changes(self._path, partition.after, partition.until):
            columns = [batch.column(field.name).cast(field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _newest(self) -> int:
        from deltalake import DeltaTable

        return int(DeltaTable(self._path).version())

    def _offset(self, version: int) -> dict[str, Any]:
        return {"version": version, "path": self._path, "ended": False}

    def _require_same(self, offset: Mapping[str, Any]) -> None:
        if offset["version"] > self._newest():
            raise SourceFailed(
                f"{self._path} was at version {offset['version']} and is at {self._newest()} now; restore it, or "
                "start over with a new checkpoint and state"
            )


def delta_changes(spark: SparkSession, path: str, *, after: int) -> DataFrame:
    """What changes in a Delta table after a version: its columns, `_commit_version`, and whether the row is gone as
    `_deleted`. It does not end. For `changes=` of `sooner.spark.enrich`, whose `follow=True` makes it by itself.
    """
    require("deltalake", "sources.delta_changes", "delta")
    return load_stream(spark, DeltaChanges, option.given(path=path, after=after))


def _with_news(table: pa.Schema) -> pa.Schema:
    return pa.schema([*table, pa.field(VERSION, pa.int64()), pa.field(DELETED, pa.bool_())])


def _changes(path: str, after: int, until: int) -> Iterator[pa.RecordBatch]:
    from deltalake import DeltaTable

    if after == until:
        return
    table = DeltaTable(path, version=until)
    if table.metadata().configuration.get("delta.enableChangeDataFeed") == "true":
        feed = pa.RecordBatchReader.from_stream(table.load_cdf(starting_version=after + 1, ending_version=until))
        for batch in feed:
            yield from _of_feed(batch)
        return
    filesystem, _ = open_location(path)
    before, now = ({*DeltaTable(path, version=version).file_uris()} for version in (after, until))
    for files, gone in ((before - now, True), (now - before, False)):
        for uri in sorted(files):
            with arrow_parquet.ParquetFile(open_location(uri)[1], filesystem=filesystem) as file:
                for batch in file.iter_batches():
                    yield _told(batch, pa.nulls(batch.num_rows, pa.int64()).fill_null(until), [gone] * batch.num_rows)


def _of_feed(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    kinds = batch.column("_change_type").to_pylist()
    wanted = [at for at, kind in enumerate(kinds) if kind in _KINDS]
    if wanted:
        news = ("_change_type", VERSION, "_commit_timestamp")
        names = [name for name in batch.schema.names if name not in news]
        columns = [_plain(batch.column(name)) for name in (*names, VERSION)]
        *values, versions = (column.take(pa.array(wanted)) for column in columns)
        rows = pa.RecordBatch.from_arrays(values, names)
        yield _told(rows, versions, [_KINDS[kinds[at]] for at in wanted])


def _plain(column: pa.Array) -> pa.Array:
    """Texts may come as views, of which Arrow can take none."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return column.cast(plain.get(column.type, column.type))


def _told(rows: pa.RecordBatch, versions: pa.Array, gone: Sequence[bool]) -> pa.RecordBatch:
    columns = [*rows.columns, versions, pa.array(gone, pa.bool_())]
    return pa.RecordBatch.from_arrays(columns, schema=_with_news(rows.schema.remove_metadata()))
