"""The rows of one table, for a query that joins it with nothing."""

from collections.abc import Iterator

import pyarrow as pa

from sooner.local.rows import Rows
from sooner.sources.source import Source, close_source


class Scan(Rows):
    """The rows of a source as they are."""

    def __init__(self, source: Source) -> None:
        self.schema = source.schema
        self._source = source
        self._stopped = False
        self._ended = False

    @property
    def is_done(self) -> bool:
        return self._ended and not self._stopped

    def _found(self) -> Iterator[pa.RecordBatch]:
        yield from self._source.batches()
        self._ended = True

    def stop(self) -> None:
        self._stopped = True
        close_source(self._source)
