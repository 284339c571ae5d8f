"""Read numbered rows of Parquet files: what one task of a batch does.

A task opens only the row groups that hold its rows. In file order they are streamed; in random order a row group is
held as a whole, since its rows come from everywhere in it.

Not covered: to jump into the middle of a row group. PyArrow decodes what lies before, so row groups that are far larger
than a batch are decoded in part by several tasks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyarrow import fs
from pyspark.sql.datasource import InputPartition

from sooner.errors import SourceFailed
from sooner.spark.locations import open_location
from sooner.spark.sources.parquet_files import ParquetFile, require_unchanged
from sooner.spark.sources.row_order import Order, Piece, permutation
from sooner.spark.sources.spark_types import conformed

# As many rows go to Spark at a time: enough to forget the cost of a batch, few enough to stay in the cache.
ROWS_AT_A_TIME = 32_768

# Without it PyArrow holds whole column chunks.
READ_BUFFER_BYTES = 1 << 20


@dataclass
class ParquetShare(InputPartition):
    """The part of a batch that one task reads: pieces, each with its file."""

    root: str
    pieces: Sequence[tuple[ParquetFile, Piece]]


def read_share(share: ParquetShare, schema: pa.Schema, order: Order, seed: int) -> Iterator[pa.RecordBatch]:
    """The rows of a share, in their order, with the columns of this schema in exactly its types."""
    filesystem, _ = open_location(share.root)
    for file, piece in share.pieces:
        require_unchanged(filesystem, file)
        try:
            yield from _read_piece(filesystem, file, piece, schema, order, seed)
        except (pa.ArrowException, OSError) as error:
            raise SourceFailed(f"{file.path} cannot be read: {error}") from error


def _read_piece(
    filesystem: fs.FileSystem, file: ParquetFile, piece: Piece, schema: pa.Schema, order: Order, seed: int
) -> Iterator[pa.RecordBatch]:
    with arrow_parquet.ParquetFile(
        file.path, filesystem=filesystem, buffer_size=READ_BUFFER_BYTES, pre_buffer=False
    ) as opened:
        if order == "file":
            for batch in _streamed(opened, piece, schema.names):
                yield conformed(batch, schema, file.path)
        else:
            yield from _shuffled(opened, piece, schema, seed, file.path)


def _streamed(opened: arrow_parquet.ParquetFile, piece: Piece, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    begin = 0
    for batch in opened.iter_batches(ROWS_AT_A_TIME, row_groups=[piece.row_group.group], columns=columns):
        first, end = max(piece.first - begin, 0), min(piece.end - begin, batch.num_rows)
        if first < end:
            yield batch.slice(first, end - first)
        begin += batch.num_rows
        if begin >= piece.end:
            return


def _shuffled(
    opened: arrow_parquet.ParquetFile, piece: Piece, schema: pa.Schema, seed: int, path: str
) -> Iterator[pa.RecordBatch]:
    row_group = piece.row_group
    read = opened.read_row_group(row_group.group, columns=schema.names).to_batches()
    # In Spark's types first: PyArrow cannot gather views.
    rows = pa.Table.from_batches([conformed(batch, schema, path) for batch in read], schema).combine_chunks()
    # A stream of its own for each row group; stream 0 is the order of the groups.
    places = permutation(row_group.rows, seed, stream=1 + (row_group.file << 32) + row_group.group)
    for first in range(piece.first, piece.end, ROWS_AT_A_TIME):
        chosen = rows.take(pa.array(places[first : min(first + ROWS_AT_A_TIME, piece.end)]))
        yield from chosen.combine_chunks().to_batches()
