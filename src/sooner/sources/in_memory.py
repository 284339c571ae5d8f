"""Arrow data that is here already, or that another library hands over as an Arrow stream.

Not covered: the same stream given as two inputs. Each of them would get some of the rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sooner.errors import SourceFailed
from sooner.sources.cutting import cut


@dataclass(frozen=True)
class TableSource:
    """A table in memory; can be read again and again."""

    name: str
    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema

    @property
    def n_rows(self) -> int:
        """How many there are."""
        n_rows: int = self.table.num_rows
        return n_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the table, without copying them."""
        return cut(self.table.to_batches())


class StreamSource:
    """A stream of Arrow batches; can be read once."""

    def __init__(self, name: str, reader: pa.RecordBatchReader) -> None:
        self.name = name
        self.schema = reader.schema
        self._unread: pa.RecordBatchReader | None = reader

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the stream."""
        if self._unread is None:
            raise SourceFailed(f"source {self.name!r} is a stream: it can be read once, and it was read already")
        reader, self._unread = self._unread, None
        return cut(reader)

    def close(self) -> None:
        """Let go of a stream that nobody has begun to read: it may keep a connection busy."""
        self._unread = None
