"""Turn Arrow's encodings into plain columns.

Runs are gathered, merged and written all the time, so what comes in encoded is made plain at the door, batch by batch:
dictionaries and run-end encodings are decoded, and the views in which Polars hands over strings, which PyArrow cannot
gather, become `large_string`.

Not covered: encodings inside lists and structs.
"""

from collections.abc import Iterator

import pyarrow as pa

from sooner.kernels.keys import decoded
from sooner.sources.source import Source, close_source


class PlainColumns:
    """A source whose columns are not encoded."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.schema = _plain_schema(source.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source."""
        for batch in self._source.batches():
            # By the types that came, not by those announced: a change of type must stay visible.
            schema = _plain_schema(batch.schema)
            columns = [_plain(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def close(self) -> None:
        """Close the source."""
        close_source(self._source)


def with_plain_columns(source: Source) -> Source:
    """The source itself when nothing in it is encoded."""
    return source if _plain_schema(source.schema) == source.schema else PlainColumns(source)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema], schema.metadata)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    return kind


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else decoded(column).cast(kind)
