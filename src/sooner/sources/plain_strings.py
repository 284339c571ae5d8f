"""Turn Arrow's string views into plain strings.

Polars hands over strings as `string_view`. PyArrow cannot gather, filter or sort views, and a join gathers
all the time, so they become `large_string` at the door: one copy, batch by batch.

Not covered: views inside lists and structs.
"""

from collections.abc import Iterator

import pyarrow as pa

from sooner.sources.source import Source, close_source


class PlainStrings:
    """A source whose string and binary views, also those inside dictionaries, are plain strings and bytes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.schema = _plain_schema(source.schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source."""
        for batch in self._source.batches():
            # By the types that came, not by those announced: a change of type must stay visible.
            columns = [_plain_column(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=_plain_schema(batch.schema))

    def close(self) -> None:
        """Close the source."""
        close_source(self._source)


def with_plain_strings(source: Source) -> Source:
    """The source itself when it has no views."""
    return source if _plain_schema(source.schema) == source.schema else PlainStrings(source)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema], schema.metadata)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    return kind


def _plain_column(column: pa.Array) -> pa.Array:
    if _plain_type(column.type) == column.type:
        return column
    if pa.types.is_dictionary(column.type):
        # PyArrow has no cast from one dictionary type to another.
        return pa.DictionaryArray.from_arrays(
            column.indices, _plain_column(column.dictionary), ordered=column.type.ordered
        )
    return column.cast(_plain_type(column.type))
