"""Rows of a PostgreSQL result as Arrow batches, streamed.

The server sends CSV by COPY, and Arrow's parser turns it into columns: no Python object is made for a value, except for
bytes. A null is an empty field without quotes, an empty string has quotes, so the two stay apart.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from psycopg import sql

from sooner.errors import SourceFailed
from sooner.spark.sources.postgres_connection import Connection

# The longest row that can be read; also what the parser holds at a time.
BLOCK_BYTES = 16 << 20


class _CopyStream(io.RawIOBase):
    """What COPY sends, as a file for Arrow."""

    def __init__(self, copy: psycopg.Copy) -> None:
        super().__init__()
        self._chunks = iter(copy)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        """The next bytes: as many as there are and fit."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def copied(connection: Connection, select: sql.Composed, schema: pa.Schema, name: str) -> Iterator[pa.RecordBatch]:
    """The rows of a SELECT with these columns."""
    statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(select)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        stream = io.BufferedReader(_CopyStream(copy), BLOCK_BYTES)
        if not stream.peek(1):  # Arrow refuses a file without a row
            return
        try:
            for batch in _opened(stream, schema):
                yield _with_bytes(batch, schema)
        except pa.ArrowException as error:
            raise SourceFailed(f"{name}: a value cannot be read: {error}; cast its column in a query") from error


def _opened(stream: BinaryIO, schema: pa.Schema) -> arrow_csv.CSVStreamingReader:
    as_text = {field.name: pa.string() if pa.types.is_binary(field.type) else field.type for field in schema}
    return arrow_csv.open_csv(
        stream,
        arrow_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=schema.names, use_threads=False),
        # An empty line is a row of one null, not nothing.
        arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            column_types=as_text,
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _with_bytes(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        _bytes(column) if pa.types.is_binary(field.type) else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _bytes(column: pa.Array) -> pa.Array:
    """PostgreSQL shows bytes as `\\x` and hexadecimal digits."""
    digits = pc.utf8_slice_codeunits(column, 2).to_pylist()
    return pa.array([None if text is None else bytes.fromhex(text) for text in digits], pa.binary())
