"""Arrow batches into PostgreSQL by COPY: what one task of a batch does.

No Python object is made for a value, except for bytes.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.csv as arrow_csv
from psycopg import sql

from sooner.errors import SinkFailed
from sooner.spark.sources.postgres_connection import connected

# What a task says when it is done. Its rows count only if Spark took this answer, and not that of another attempt.
ANSWER = "attempt string, rows bigint"
_ANSWER_SCHEMA = pa.schema([("attempt", pa.string()), ("rows", pa.int64())])

_OPTIONS = arrow_csv.WriteOptions(include_header=False)


@dataclass(frozen=True)
class CopyTask:
    """Copies the rows of one task into a staging table, marked with the attempt that did it."""

    conninfo: str
    staging: sql.Identifier
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Copy all, then say how many."""
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        attempt, rows = uuid.uuid4().hex, 0
        names = sql.SQL(", ").join(map(sql.Identifier, self.columns))
        statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(self.staging, names)
        with (
            connected(self.conninfo, SinkFailed) as connection,
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            for batch in chain([first], filled):
                copy.write(as_csv(batch, attempt))
                rows += batch.num_rows
        yield pa.RecordBatch.from_pydict({"attempt": [attempt], "rows": [rows]}, schema=_ANSWER_SCHEMA)


def as_csv(batch: pa.RecordBatch, attempt: str) -> pa.Buffer:
    """Rows as COPY reads them: the attempt first, a null as nothing, text always in quotes."""
    columns = [pa.repeat(attempt, batch.num_rows), *map(_readable, batch.columns)]
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(
        pa.RecordBatch.from_arrays(columns, names=[str(place) for place in range(len(columns))]), sink, _OPTIONS
    )
    return sink.getvalue()


def _readable(column: pa.Array) -> pa.Array:
    """PostgreSQL reads bytes as `\\x` and hexadecimal digits."""
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return column
    return pa.array([None if value is None else "\\x" + value.hex() for value in column.to_pylist()], pa.string())
