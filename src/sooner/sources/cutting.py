"""Cut large batches, so that the first rows are joined while the next are being read.

Not covered: putting small batches together. A live source gives small batches for a reason, and whoever waits
in a queue behind it knows better when waiting pays.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

DEFAULT_BATCH_ROWS = 65_536
FIRST_BATCH_ROWS = 8_192


def cut(batches: Iterable[pa.RecordBatch], largest_rows: int = DEFAULT_BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that begin small and double up to `largest_rows`; no empty batches.

    The pieces share the memory of the batches: nothing is copied.
    """
    piece_rows = min(FIRST_BATCH_ROWS, largest_rows)
    for batch in batches:
        first_row = 0
        while first_row < batch.num_rows:
            yield batch.slice(first_row, piece_rows)
            first_row += piece_rows
            piece_rows = min(2 * piece_rows, largest_rows)
