"""Hold a source to its promises.

Whatever goes wrong inside a source reaches the user as one `SourceFailed` that names the source and how far
it came. Not covered: a source that blocks for ever, or gives wrong rows of the right type.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from sooner.errors import SoonerError, SourceFailed
from sooner.sources.source import Source, close_source, n_rows_of

# None would do, were it not that a faulty source might give it.
_END: Any = object()


class CheckedSource:
    """A source whose failures and changes of schema are `SourceFailed`, and nothing else."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
        self.schema = source.schema
        self.n_rows = n_rows_of(source)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source, all with exactly the schema announced."""
        rows = 0
        with self._blaming_the_source(rows):
            batches = iter(self.source.batches())
        while True:
            # Only the source's own steps are watched: what the consumer does at `yield` is not its fault.
            with self._blaming_the_source(rows):
                batch = next(batches, _END)
            if batch is _END:
                return
            yield self._as_announced(batch, rows)
            rows += batch.num_rows

    def close(self) -> None:
        """Close the source."""
        close_source(self.source)

    @contextmanager
    def _blaming_the_source(self, rows_before: int) -> Iterator[None]:
        try:
            yield
        except SoonerError:
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise SourceFailed(f"source {self.name!r} failed after {rows_before:,} rows: {reason}") from error

    def _as_announced(self, batch: object, rows_before: int) -> pa.RecordBatch:
        if not isinstance(batch, pa.RecordBatch):
            raise SourceFailed(
                f"source {self.name!r} gave a {type(batch).__name__} after {rows_before:,} rows; "
                "batches() must give pyarrow.RecordBatch"
            )
        if batch.schema.equals(self.schema, check_metadata=True):
            return batch
        change = _first_change(self.schema, batch.schema)
        if change is not None:
            raise SourceFailed(f"source {self.name!r} changed its schema after {rows_before:,} rows: {change}")
        # Only metadata or nullability differ; made equal here, batches can be put together later.
        return pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)


def checked(source: Source) -> Source:
    """The same source, held to its promises."""
    return CheckedSource(source)


def _first_change(announced: pa.Schema, found: pa.Schema) -> str | None:
    for position, (before, now) in enumerate(zip(announced, found, strict=False)):
        if before.name != now.name:
            return f"column {position + 1} was {before.name!r} and is {now.name!r} now"
        if before.type != now.type:
            return f"column {before.name!r} was {before.type} and is {now.type} now"
    if len(announced) != len(found):
        lost_or_new = announced.names[len(found) :] or found.names[len(announced) :]
        return f"there were {len(announced)} columns and are {len(found)} now; the difference: {lost_or_new}"
    return None
