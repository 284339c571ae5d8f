"""An order and a hash of rows by their content alone: whoever gets the same rows makes the same of them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Positions
from sooner.kernels.arrays import to_flags, to_numpy
from sooner.kernels.codes import fold, mix


def order_by_content(columns: Sequence[pa.Array]) -> Positions:
    """Positions of the rows of these columns, in an order in which only equal rows can change places."""
    import pyarrow.compute as pc

    names = [str(position) for position in range(len(columns))]
    table = pa.table([_sortable(column) for column in columns], names)
    return to_numpy(pc.sort_indices(table, [(name, "ascending") for name in names])).view("int64")


def hash_of_content(columns: Sequence[pa.Array]) -> Codes:
    """A hash for each row of these columns: the same for equal rows, and hardly ever for those that are not."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in map(_sortable, columns):
        words = np.zeros(len(column), np.uint64)
        fold(words, column)
        if column.null_count:
            are_null = to_flags(column.is_null())
            words[are_null] = 0  # whatever lies under a null
            mix(hashes)
            hashes ^= are_null
        mix(hashes)
        hashes ^= words
    mix(hashes)
    return hashes


def _sortable(column: pa.Array) -> pa.Array:
    """A column that Arrow can sort and that tells apart whatever this one does, such as 0.0 and -0.0."""
    if pa.types.is_floating(column.type):
        return column.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[column.type.bit_width])
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        return pa.array([repr(value) for value in column.to_pylist()], pa.string())
    return column
