"""Each batch once as Parquet files in a directory, for any reader: what is there counts, and nothing else is there.

Tasks write into a directory that readers pass over. The driver then writes down which files the batch has, in place of
the batch before, and moves them out. A driver that dies in between finds that record when it starts again, and moves
what is left: the batch is there once, whichever reader looks, though for a moment not all of its files.

Not covered: a moment at which all files of a batch appear together; that takes a table format, such as Delta.
"""

import json
import uuid
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sooner.errors import InvalidCall, SinkFailed
from sooner.spark.interop.locations import open_location
from sooner.spark.sinks.files import NAME, ParquetTask, Written, writer_of

_UNSEEN: Final = "_sooner"  # readers pass over names that begin so
_COMPRESSIONS: Final = ("snappy", "zstd", "lz4", "gzip", "none")


@dataclass(frozen=True)
class UnseenFiles:
    """Where tasks write."""

    path: str

    def open(self) -> tuple[fs.FileSystem, str]:
        filesystem, folder = open_location(self.path)
        return filesystem, f"{folder}/{_UNSEEN}/"


@dataclass(frozen=True)
class WrittenBatch:
    """The files of the batch that a query wrote last."""

    batch: int
    files: list[str]


@dataclass(frozen=True)
class ParquetSink:
    path: str
    compression: str

    def task(self, schema: pa.Schema) -> ParquetTask:
        return ParquetTask(UnseenFiles(self.path), schema, self.compression)

    def prepare(self, schema: pa.Schema) -> None:  # noqa: ARG002
        filesystem, folder = open_location(self.path)
        filesystem.create_dir(f"{folder}/{_UNSEEN}", recursive=True)

    def commit(self, written: Written, query: str, batch_id: int, schema: pa.Schema) -> None:
        """Have a batch written, unless it is there, and move its files to where they are seen."""
        filesystem, folder = open_location(self.path)
        try:
            self.prepare(schema)
            last = _read(filesystem, f"{folder}/{_UNSEEN}/{query}.json")
            if last is None or last.batch < batch_id:
                last = WrittenBatch(batch_id, sorted(file.name for file in written()))
                _write(filesystem, f"{folder}/{_UNSEEN}/{query}.json", last)
            _show(filesystem, folder, query, last)
        except OSError as error:
            raise SinkFailed(f"{self.path} did not take batch {batch_id}: {error}") from error


def parquet(rows: DataFrame, path: str, *, compression: str = "snappy") -> DataStreamWriter:
    """A writer that puts each batch of a streaming DataFrame once into a directory of Parquet files.

    >>> writer = sinks.parquet(joined, "/data/joined")  # doctest: +SKIP
    >>> query = ss.start(writer.option("checkpointLocation", "/data/log"))  # doctest: +SKIP

    The rows of a join are written by the tasks that make them, which takes half the time of Spark's own sink. Of any
    other DataFrame, they come through Spark. Several queries may write into one directory.
    """
    if not path:
        raise InvalidCall("path is empty; give the path or URI of a directory")
    if compression not in _COMPRESSIONS:
        raise InvalidCall(f"compression is {compression!r}; give one of {', '.join(_COMPRESSIONS)}")
    return writer_of(rows, ParquetSink(path, compression))


def _read(filesystem: fs.FileSystem, path: str) -> WrittenBatch | None:
    try:
        with filesystem.open_input_stream(path) as file:
            content = json.loads(file.read())
        batch, files = content["batch"], content["files"]
        if type(batch) is not int or not all(NAME.fullmatch(name) for name in files):
            raise ValueError("no batch, or no names of files")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SinkFailed(
            f"The record {path} is not what this sink writes ({error}); put it back, or write elsewhere."
        ) from error
    return WrittenBatch(batch, files)


def _write(filesystem: fs.FileSystem, path: str, batch: WrittenBatch) -> None:
    """Put it in place of the one before, at once."""
    unfinished = f"{path}.{uuid.uuid4().hex}"
    with filesystem.open_output_stream(unfinished) as file:
        file.write(json.dumps(asdict(batch)).encode())
    filesystem.move(unfinished, path)


def _show(filesystem: fs.FileSystem, folder: str, query: str, last: WrittenBatch) -> None:
    """Move the files of the last batch out, those that are still unseen; what other attempts left is removed."""
    for file in filesystem.get_file_info(fs.FileSelector(f"{folder}/{_UNSEEN}")):
        if file.base_name in last.files:
            filesystem.move(file.path, f"{folder}/{file.base_name}")
        elif (of := NAME.fullmatch(file.base_name)) and of["query"] == query and int(of["batch"]) <= last.batch:
            filesystem.delete_file(file.path)
