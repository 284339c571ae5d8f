"""Parquet files, read by bytes: as few rows at a time as weigh about READ_BYTES, however wide or repetitive they are.

How many rows that are is told by the sizes in the file's footer, row group by row group. Those sizes are of encoded
rows: a text of 10 KB that all rows repeat weighs nothing there. Columns that may be such are read as dictionaries, and
decoded after they were cut.

Not covered: a row group whose heavy rows all lie together among many light ones. A batch of them weighs more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyarrow import fs

from sooner.kernels.keys import decoded
from sooner.kernels.sizes import cuts_by_bytes, row_bytes

READ_BYTES: Final = 4 * 2**20
# Without it PyArrow holds whole column chunks: 36 MB, not 12 MB, for 5 M rows x 3 columns, and no faster.
_BUFFER_BYTES: Final = 2**20
_DICTIONARIES: Final = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
# Writers give up a dictionary that gets larger than about a megabyte: beyond these sizes values are mostly plain.
_DICTIONARY_BYTES: Final = 2 * 2**20
_INDEX_BYTES: Final = 8
_TEXTS: Final = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
_VIEWS: Final = (pa.string_view(), pa.binary_view())


class ParquetBatches:
    """A Parquet file that is open."""

    def __init__(self, file: arrow_parquet.ParquetFile, schema: pa.Schema | None) -> None:
        self._file = file
        self._schema = schema  # of the file, without the dictionaries that it is read with; None: they stay

    @property
    def row_groups(self) -> range:
        return range(self._file.metadata.num_row_groups)

    def read(self, row_group: int, columns: Sequence[str] | None, most_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, in their order."""
        rows = min(most_rows, _rows_at_a_time(self._file.metadata.row_group(row_group), columns))
        for batch in self._file.iter_batches(rows, row_groups=[row_group], columns=columns, use_threads=False):
            for begin, end in cuts_by_bytes(row_bytes(batch), batch.num_rows, READ_BYTES):
                yield self._plain(batch.slice(begin, end - begin))

    def _plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._schema is None or batch.schema == self._schema:
            return batch
        fields = [self._schema.field(name) for name in batch.schema.names]
        columns = [
            column if column.type == field.type else decoded(column)
            for column, field in zip(batch.columns, fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


@contextmanager
def open_parquet(
    path: str,
    filesystem: fs.FileSystem | None = None,
    *,
    footer: arrow_parquet.FileMetaData | None = None,
    encoded: bool = False,
) -> Iterator[ParquetBatches]:
    """Encoded: texts that are dictionaries in the file stay so. A footer that is known is not read again."""
    footer = footer or arrow_parquet.read_metadata(path, filesystem=filesystem)
    schema = footer.schema.to_arrow_schema()
    with arrow_parquet.ParquetFile(
        path,
        metadata=footer,
        filesystem=filesystem,
        read_dictionary=_repeated_texts(footer, schema, (*_TEXTS, *_VIEWS) if encoded else _TEXTS),
        buffer_size=_BUFFER_BYTES,
        pre_buffer=False,  # it would keep all column chunks of the file in memory until the end
    ) as file:
        yield ParquetBatches(file, None if encoded else schema)


def _rows_at_a_time(row_group: arrow_parquet.RowGroupMetaData, columns: Sequence[str] | None) -> int:
    chunks = (row_group.column(number) for number in range(row_group.num_columns))
    n_bytes: int = sum(
        chunk.total_uncompressed_size
        for chunk in chunks
        if columns is None or chunk.path_in_schema.partition(".")[0] in columns
    )
    n_rows: int = row_group.num_rows
    return max(1, READ_BYTES * n_rows // max(n_bytes, 1))


def _repeated_texts(footer: arrow_parquet.FileMetaData, schema: pa.Schema, types: Sequence[pa.DataType]) -> list[str]:
    """Columns of these types that may be far larger than their encoding."""
    texts = {field.name for field in schema if field.type in types}
    found: set[str] = set()
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for number in range(row_group.num_columns):
            chunk = row_group.column(number)
            if chunk.path_in_schema in texts - found and is_mostly_dictionary(chunk):
                found.add(chunk.path_in_schema)
    return sorted(found)


def is_mostly_dictionary(chunk: arrow_parquet.ColumnChunkMetaData) -> bool:
    """Whether its values are mostly numbers of entries in a dictionary."""
    n_bytes = chunk.total_uncompressed_size
    small = n_bytes <= _DICTIONARY_BYTES or n_bytes <= _INDEX_BYTES * chunk.num_values
    return small and not _DICTIONARIES.isdisjoint(chunk.encodings)
