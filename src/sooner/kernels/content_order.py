"""An order of rows that follows from their content alone: whoever gets the same rows makes the same of them."""

from collections.abc import Sequence

import pyarrow as pa

from sooner.kernels.array_types import Positions
from sooner.kernels.arrays import to_numpy


def order_by_content(columns: Sequence[pa.Array]) -> Positions:
    """Positions of the rows of these columns, in an order in which only equal rows can change places."""
    import pyarrow.compute as pc

    names = [str(position) for position in range(len(columns))]
    table = pa.table([_sortable(column) for column in columns], names)
    return to_numpy(pc.sort_indices(table, [(name, "ascending") for name in names])).view("int64")


def _sortable(column: pa.Array) -> pa.Array:
    """A column that Arrow can sort and that tells apart whatever this one does, such as 0.0 and -0.0."""
    if pa.types.is_floating(column.type):
        return column.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[column.type.bit_width])
    if pa.types.is_nested(column.type) or pa.types.is_interval(column.type):
        return pa.array([repr(value) for value in column.to_pylist()], pa.string())
    return column
