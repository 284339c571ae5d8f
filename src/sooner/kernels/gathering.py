"""Rows gathered into buffers of their own, which are given back to the system when they are free.

Arrow's default allocator keeps what was freed for later, for each thread by itself: with several threads that came to
more than the rows that a small budget holds. What a join copies is therefore allocated by the system's own.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sooner.kernels.arrays import to_arrow

POOL: Final = pa.system_memory_pool()


def gather(rows: pa.RecordBatch, positions: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """The rows at these positions."""
    return pc.take(rows, to_arrow(positions), boundscheck=False, memory_pool=POOL)


def gather_from(parts: Sequence[pa.RecordBatch], positions: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """The rows at these positions of all parts, one after the other. Never is more than one column there once more."""
    table = pa.Table.from_batches(parts)
    [rows] = pc.take(table, to_arrow(positions), boundscheck=False, memory_pool=POOL).to_batches()
    return rows


def as_one(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(parts, POOL) if len(parts) > 1 else parts[0]
