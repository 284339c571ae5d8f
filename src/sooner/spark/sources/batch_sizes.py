"""How many rows a batch has: few at first, for results at once, and then more and more, since each batch has its price.

It follows from the number of rows before, and from nothing else. So there is nothing to remember: a query that goes on
from its checkpoint goes on with batches of the size that it had reached.
"""

import math
from typing import Final

FIRST_ROWS: Final = 2**17  # a tenth of a second of work for two cores
FIRST_BYTES: Final = 4 * 2**20
GROWTH: Final = (
    4  # times the rows before: by twos, the price of six batches would be paid before a tenth of the results
)
MOST_ROWS: Final = 2**20  # as many as most writers put into a row group
MOST_BYTES: Final = 64 * 2**20
TIMES_FOR_SUMS: Final = 16  # where little is kept of a row, and nothing comes out but sums,
MEMORY_OF_TIMES: Final = 32 * 2**20  # if there is so much memory for each of them
TASK_ROWS: Final = 2**18  # are read sooner by one task than by two
TASK_BYTES: Final = 8 * 2**20


def growing(rows_before: int, at_most: int, row_bytes: float = 1) -> int:
    """The rows of the next batch: several times those before, or a few at first; and no more than so many.

    >>> [growing(before, 1_000_000) for before in (0, 131_072, 655_360)]
    [131072, 524288, 1000000]
    """
    return min(max(GROWTH * rows_before, _rows_in(FIRST_BYTES, FIRST_ROWS, row_bytes)), at_most)


def most_rows(row_bytes: float, *, memory_for_sums: int = 0) -> int:
    """What a batch may have if nobody has said it: fewer where rows are wide."""
    times = min(max(memory_for_sums // MEMORY_OF_TIMES, 1), TIMES_FOR_SUMS)
    return _rows_in(times * MOST_BYTES, times * MOST_ROWS, row_bytes)


def tasks_for(rows: int, row_bytes: float, at_most: int) -> int:
    """How many tasks read a batch: each has its price too."""
    return max(1, min(at_most, math.ceil(rows / _rows_in(TASK_BYTES, TASK_ROWS, row_bytes))))


def _rows_in(n_bytes: int, at_most: int, row_bytes: float) -> int:
    return max(1, min(at_most, int(n_bytes / max(row_bytes, 1))))
