"""How many rows a batch has: few at first, for results at once, and then more and more, since each batch has its price.

It follows from the number of rows before, and from nothing else. So there is nothing to remember: a query that goes on
from its checkpoint goes on with batches of the size that it had reached.
"""

from typing import Final

FIRST_ROWS: Final = 50_000  # a tenth of a second of work for two cores
FIRST_BYTES: Final = 4 * 2**20
MOST_ROWS: Final = 2**20  # as many as most writers put into a row group
MOST_BYTES: Final = 64 * 2**20


def growing(rows_before: int, at_most: int, row_bytes: float = 1) -> int:
    """The rows of the next batch: as many as there were before, or a few at first; and no more than so many.

    >>> [growing(before, 300_000) for before in (0, 50_000, 150_000, 350_000)]
    [50000, 100000, 200000, 300000]
    """
    return min(rows_before + _rows_in(FIRST_BYTES, FIRST_ROWS, row_bytes), at_most)


def most_rows(row_bytes: float) -> int:
    """What a batch may have if nobody has said it: fewer where rows are wide."""
    return _rows_in(MOST_BYTES, MOST_ROWS, row_bytes)


def _rows_in(n_bytes: int, at_most: int, row_bytes: float) -> int:
    return max(1, min(at_most, int(n_bytes / max(row_bytes, 1))))
