"""Turn Arrow's encodings into plain columns.

Runs are gathered, merged and written all the time, so what comes in encoded is made plain at the door, batch by batch:
dictionaries and run-end encodings are decoded, and the views in which Polars hands over strings, which PyArrow cannot
gather, become `large_string`; so do they inside lists, structs and maps.

Not covered: run-end encodings inside other types, which PyArrow cannot cast.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.kernels.keys import decoded
from sooner.kernels.sizes import cuts_by_bytes, row_bytes
from sooner.sources.source import Source, close_source, n_rows_of

DECODED_BYTES: Final = 2 * 2**20  # at a time: a text that is in a dictionary once may be in every row


class PlainColumns:
    """A source whose columns are not encoded."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name
        self.schema = _plain_schema(source.schema)
        self.n_rows = n_rows_of(source)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source."""
        for batch in self.source.batches():
            for begin, end in cuts_by_bytes(row_bytes(batch), batch.num_rows, DECODED_BYTES):
                yield plain_batch(batch.slice(begin, end - begin))

    def close(self) -> None:
        """Close the source."""
        close_source(self.source)


def with_plain_columns(source: Source) -> Source:
    """The source itself when nothing in it is encoded."""
    return source if _plain_schema(source.schema) == source.schema else PlainColumns(source)


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    # By the types that came, not by those announced: a change of type must stay visible.
    schema = _plain_schema(batch.schema)
    columns = [_plain(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([_plain_field(field) for field in schema], schema.metadata)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    return kind


def _plain_field(field: pa.Field) -> pa.Field:
    if pa.types.is_list_view(field.type) or pa.types.is_large_list_view(field.type):
        # PyArrow can neither gather list views nor cast them to lists without harm.
        raise InvalidCall(f"column {field.name!r} is a {field.type}, which cannot be joined; make it a list first.")
    return field.with_type(_plain_type(field.type))


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else decoded(column).cast(kind)
