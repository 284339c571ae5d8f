"""Read numbered rows of Parquet files: what one task of a batch does.

A task opens only the row groups that hold its rows, and streams them. In random order the rows of a piece come from
everywhere in their row group: which rows they are is random, but within a piece they come as they lie in the file.

Not covered: to jump into the middle of a row group. PyArrow decodes what lies before, so row groups that are far larger
than a batch are decoded in part by several tasks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from sooner.errors import SourceFailed
from sooner.sources.parquet_batches import ParquetBatches, open_parquet
from sooner.spark.interop.locations import open_location
from sooner.spark.interop.spark_types import conformed
from sooner.spark.sources.parquet_files import ParquetFile, require_unchanged
from sooner.spark.sources.row_order import Order, Piece, permutation

# As many rows go to Spark at a time: enough to forget the cost of a batch, few enough to stay in the cache.
ROWS_AT_A_TIME = 32_768
ENCODED_ROWS_AT_A_TIME = 131_072  # of which few are left before anything is done with them

Block = tuple[int, Iterator[pa.RecordBatch]]  # the number of a row group in the order in which they come, and its rows


@dataclass
class ParquetShare(InputPartition):
    """The part of a batch that one task reads: pieces, each with its file."""

    root: str
    pieces: Sequence[tuple[ParquetFile, Piece]]


def read_share(share: ParquetShare, schema: pa.Schema, order: Order, seed: int) -> Iterator[pa.RecordBatch]:
    """The rows of a share, in their order, with the columns of this schema in exactly its types."""
    return (rows for _, block in read_blocks(share, schema, order, seed) for rows in block)


def read_blocks(
    share: ParquetShare, schema: pa.Schema, order: Order, seed: int, *, encoded: bool = False
) -> Iterator[Block]:
    """The same by row groups, each to be read before the next; a file is opened once for those that follow each other,
    since its footer takes as long to read as many rows. Encoded: texts may stay dictionaries.
    """
    filesystem, _ = open_location(share.root)
    for file, pieces in groupby(share.pieces, key=lambda one: one[0]):
        require_unchanged(filesystem, file)
        with _blaming(file), open_parquet(file.path, filesystem, encoded=encoded) as opened:
            for _, piece in pieces:
                yield piece.number, _read_piece(opened, file, piece, schema, order, seed, encoded=encoded)


@contextmanager
def _blaming(file: ParquetFile) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SourceFailed(f"{file.path} cannot be read: {error}") from error


def _read_piece(
    opened: ParquetBatches,
    file: ParquetFile,
    piece: Piece,
    schema: pa.Schema,
    order: Order,
    seed: int,
    *,
    encoded: bool,
) -> Iterator[pa.RecordBatch]:
    chosen = None if order == "file" or piece.is_whole else _chosen(piece, seed)
    begin, at_a_time = 0, ENCODED_ROWS_AT_A_TIME if encoded else ROWS_AT_A_TIME
    with _blaming(file):
        for read in opened.read(piece.row_group.group, schema.names, at_a_time):
            batch = conformed(
                read, schema, file.path, encoded=encoded
            )  # in Spark's types first: PyArrow cannot gather views
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
