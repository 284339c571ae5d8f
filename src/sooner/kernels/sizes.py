"""What rows weigh, as a sum over the rows: the same however they are ordered and cut into batches.

Arrow's own `nbytes` counts bitmaps, which a batch has or has not depending on which rows are in it. Decisions that must
not depend on that are made by these sizes.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_OF_ANY_LENGTH: Final = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


def data_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """A size that is the sum over the rows, however they are cut into batches: it counts no bitmaps."""
    return sum(_data_bytes(column) for column in rows.columns)


def _data_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_data_bytes, column.chunks))
    type_ = column.type
    if pa.types.is_null(type_) or not len(column):
        return 0
    if pa.types.is_struct(type_):
        return sum(_data_bytes(child) for child in column.flatten())
    if pa.types.is_map(type_):
        return 4 * len(column) + _data_bytes(column.keys) + _data_bytes(column.items)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return 4 * len(column) + _data_bytes(column.flatten())
    if type_ in _OF_ANY_LENGTH:
        return 4 * len(column) + int(pc.sum(pc.binary_length(column)).as_py() or 0)
    return len(column) * max(int(type_.bit_width) // 8, 1)
