"""Files that tasks write themselves, and what they say of them; the driver then lets them count, all or none.

Results of a join are written where they are made: they never become rows of Spark. A task names its file by query,
batch, partition and attempt. Only files of attempts that Spark accepted are named to the driver.
"""

import base64
import pickle
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyarrow import fs
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.spark.dataflow.dataflow import done_in_its_tasks
from sooner.spark.interop.grouping import grouped
from sooner.spark.interop.spark_types import arrow_schema, conformed
from sooner.spark.session.connect import is_connect
from sooner.spark.sinks.batches import describe_jobs, query_of, require_distinct_columns
from sooner.spark.sources.loading import register_source

# What a task says when it is done.
WRITTEN: Final = "name string, size bigint, rows bigint"
_WRITTEN_SCHEMA: Final = pa.schema([("name", pa.string()), ("size", pa.int64()), ("rows", pa.int64())])

NAME: Final = re.compile(r"part-(?P<batch>\d+)-\d+-(?P<query>.+)-\d+-[0-9a-f]{8}\.parquet")
_SINK: Final = "sink"  # an option
ROW_GROUP_ROWS: Final = 2**20
ROW_GROUP_BYTES: Final = 32 * 2**20  # what a task holds until it writes a row group


Written = Callable[[], Sequence[Any]]  # has the files of a batch written: their names, sizes and rows


class Place(Protocol):
    """Where files go; it travels to the tasks."""

    def open(self) -> tuple[fs.FileSystem, str]:
        """The filesystem, and what stands before a name in it."""


@dataclass(frozen=True)
class ParquetTask:
    """Writes the rows of one task as one Parquet file."""

    place: Place
    schema: pa.Schema
    compression: str = "snappy"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all, then say what. Without a row there is no file."""
        rows_there_are = (conformed(batch, self.schema, "the batch") for batch in batches if batch.num_rows)
        groups = map(pa.Table.from_batches, grouped(rows_there_are, ROW_GROUP_ROWS, ROW_GROUP_BYTES))
        first = next(groups, None)
        if first is None:
            return
        filesystem, folder = self.place.open()
        name, rows = _name_of_this_task(), first.num_rows
        with arrow_parquet.ParquetWriter(
            folder + name,
            self.schema,
            filesystem=filesystem,
            compression=self.compression,
            use_dictionary=_texts_in(self.schema),
        ) as writer:
            writer.write_table(first, first.num_rows)
            for group in groups:
                writer.write_table(group, group.num_rows)
                rows += group.num_rows
        size = filesystem.get_file_info(folder + name).size
        yield pa.RecordBatch.from_pydict({"name": [name], "size": [size], "rows": [rows]}, schema=_WRITTEN_SCHEMA)


class FileSink(Protocol):
    """A sink whose tasks write files."""

    def task(self, schema: pa.Schema) -> ParquetTask:
        """What each task does with its rows."""

    def prepare(self, schema: pa.Schema) -> None:
        """Have a place to write to before the first task does; again, if it is there."""

    def commit(self, written: Written, query: str, batch_id: int, schema: pa.Schema) -> None:
        """Have the files of a batch of a query written, unless it is there, and let them count."""


def writer_of(rows: DataFrame, sink: FileSink) -> DataStreamWriter:
    """What writes these rows to the sink; `ss.start` takes it."""
    require_distinct_columns(rows)
    schema = arrow_schema(rows.schema)
    names = done_in_its_tasks(rows, sink.task(schema), WRITTEN)

    def write(batch: DataFrame, batch_id: int) -> None:
        describe_jobs(batch)
        sink.commit(batch.collect, query_of(batch, None), batch_id, schema)

    if not is_connect(rows):
        return names.writeStream.foreachBatch(write)
    register_source(rows.sparkSession, NamedFiles)
    text = base64.b64encode(pickle.dumps((sink, schema))).decode()
    return names.writeStream.format(NamedFiles.name()).option(_SINK, text)


@dataclass
class FilesOfTask(WriterCommitMessage):
    """What one task has written."""

    files: list[Row]


class NamedFiles(DataSource):
    """Commits what tasks say that they have written: the sink of a query under Spark Connect.

    There `foreachBatch` runs a batch outside of its query, whose tasks then do not know which batch it is.
    """

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "sooner.files"

    def streamWriter(self, schema: object, overwrite: bool) -> "FilesWriter":  # noqa: ARG002, N802 - Spark's contract
        """What Spark gives the names to. The option was written by `writer_of` in this program."""
        sink, written = pickle.loads(base64.b64decode(self.options[_SINK]))
        sink.prepare(written)
        return FilesWriter(sink, written)


class FilesWriter(DataSourceStreamWriter):
    """Names in tasks, commits on the server."""

    def __init__(self, sink: FileSink, schema: pa.Schema) -> None:
        self._sink = sink
        self._schema = schema

    def write(self, iterator: Iterator[Row]) -> FilesOfTask:
        """The names and sizes of a task's files."""
        return FilesOfTask(list(iterator))

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        """Let the files of a batch count. Without a row there is nothing to do, however often."""
        files = [file for message in messages if message is not None for file in message.files]
        if files:
            of_query = NAME.fullmatch(files[0].name)
            assert of_query is not None, files
            self._sink.commit(lambda: files, of_query["query"], batchId, self._schema)

    def abort(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        """What was written stays unseen, and goes with the next batch."""


def _texts_in(schema: pa.Schema) -> list[str]:
    """Numbers of a join's results seldom repeat, and to look for a dictionary of them takes as long as all else."""
    return [field.name for field in schema if not pa.types.is_primitive(field.type)]


def _name_of_this_task() -> str:
    task = TaskContext.get()
    assert task is not None, "files are written by Spark's tasks"
    query = task.getLocalProperty("sql.streaming.queryId") or "query"
    batch = int(task.getLocalProperty("streaming.sql.batchId") or 0)
    # Attempts are counted anew when a driver starts: what an old one left, or still writes, has another name.
    attempt = f"{task.taskAttemptId()}-{uuid.uuid4().hex[:8]}"
    return f"part-{batch:05}-{task.partitionId():05}-{query}-{attempt}.parquet"
