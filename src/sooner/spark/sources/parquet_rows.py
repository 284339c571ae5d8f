"""Read numbered rows of Parquet files: what one task of a batch does.

A task opens only the row groups that hold its rows, and streams them. In random order the rows of a piece come from
everywhere in their row group: which rows they are is random, but within a piece they come as they lie in the file.

Not covered: to jump into the middle of a row group. PyArrow decodes what lies before, so row groups that are far larger
than a batch are decoded in part by several tasks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import fs
from pyspark.sql.datasource import InputPartition

from sooner.errors import SourceFailed
from sooner.sources.parquet_batches import open_parquet
from sooner.spark.locations import open_location
from sooner.spark.sources.parquet_files import ParquetFile, require_unchanged
from sooner.spark.sources.row_order import Order, Piece, permutation
from sooner.spark.sources.spark_types import conformed

# As many rows go to Spark at a time: enough to forget the cost of a batch, few enough to stay in the cache.
ROWS_AT_A_TIME = 32_768


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
    chosen = None if order == "file" else _chosen(piece, seed)
    begin = 0
    with open_parquet(file.path, filesystem) as opened:
        for read in opened.read(piece.row_group.group, schema.names, ROWS_AT_A_TIME):
            batch = conformed(read, schema, file.path)  # in Spark's types first: PyArrow cannot gather views
            rows = _in_piece(batch, begin, piece) if chosen is None else batch.filter(_next(chosen, begin, batch))
            if rows.num_rows:
                yield rows
            begin += batch.num_rows
            if chosen is None and begin >= piece.end:
                return


def _in_piece(batch: pa.RecordBatch, begin: int, piece: Piece) -> pa.RecordBatch:
    first, end = max(piece.first - begin, 0), min(piece.end - begin, batch.num_rows)
    return batch.slice(first, max(end - first, 0))


def _chosen(piece: Piece, seed: int) -> npt.NDArray[np.bool_]:
    """Which rows of a row group are in a piece of its shuffle."""
    row_group = piece.row_group
    # A stream of its own for each row group; stream 0 is the order of the groups.
    places = permutation(row_group.rows, seed, stream=1 + (row_group.file << 32) + row_group.group)
    chosen = np.zeros(row_group.rows, np.bool_)
    chosen[places[piece.first : piece.end]] = True
    return chosen


def _next(chosen: npt.NDArray[np.bool_], begin: int, batch: pa.RecordBatch) -> pa.Array:
    return pa.array(chosen[begin : begin + batch.num_rows])
