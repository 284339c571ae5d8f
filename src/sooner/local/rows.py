"""Rows that come as they are found, and the forms in which they can be had."""

from collections.abc import Callable, Iterator
from typing import Self

import pyarrow as pa

from sooner.arguments import require_count
from sooner.errors import SoonerError
from sooner.local.answer import Answer, Batches

Change = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Rows(Answer):
    """Iterate for `pyarrow.RecordBatch`es, or hand it to anything that reads an Arrow stream. Good for one reading."""

    schema: pa.Schema
    _change: Change = staticmethod(iter)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._change(self._found())

    def _found(self) -> Iterator[pa.RecordBatch]:
        """The rows before they are changed."""
        raise NotImplementedError

    @property
    def is_done(self) -> bool:
        """Whether all of them have come."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it now, from any thread. Results so far stay valid."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def through(self, schema: pa.Schema, change: Change) -> Self:
        """These rows, changed once more as they come; they are of another schema then."""
        before = self._change
        self.schema, self._change = schema, lambda batches: change(before(batches))
        return self

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_table(self) -> pa.Table:
        """The whole answer, when it is complete."""
        return pa.Table.from_batches(iter(self), schema=self.schema)

    def _whole(self) -> tuple[pa.Schema, Batches]:
        return self.schema, self._all()

    def _all(self) -> Batches:
        with self:
            yield from self
            if not self.is_done:
                raise SoonerError("The query was stopped before all of its rows had come; ask it again.")

    def head(self, n: int = 5) -> pa.Table:
        """The first n rows to come, as soon as they are there; then the query is stopped.

        There are fewer if the whole answer has fewer. Which rows come first depends on what arrives first.
        """
        require_count("n", n)
        batches: list[pa.RecordBatch] = []
        with self:
            results = iter(self)
            while n > 0 and (batch := next(results, None)) is not None:
                batches.append(batch.slice(0, n))
                n -= batches[-1].num_rows
        return pa.Table.from_batches(batches, schema=self.schema)
