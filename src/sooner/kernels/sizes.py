"""What rows weigh, as a sum over the rows: the same however they are ordered and cut into batches.

Arrow's own `nbytes` counts bitmaps, which a batch has or has not depending on which rows are in it. Decisions that must
not depend on that are made by these sizes.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_OF_ANY_LENGTH: Final = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
_OFFSET_BYTES: Final = 4
_GUESSED_BYTES: Final = 16  # for a value of a union, whose parts do not tell which rows they are of


def data_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """A size that is the sum over the rows, however they are cut into batches: it counts no bitmaps."""
    return sum(_data_bytes(column) for column in rows.columns)


def _data_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_data_bytes, column.chunks))
    type_, n_rows = column.type, len(column)
    if pa.types.is_null(type_) or not n_rows:
        return 0
    if pa.types.is_struct(type_):
        return sum(map(_data_bytes, column.flatten()))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _OFFSET_BYTES * n_rows + _data_bytes(column.flatten())
    if pa.types.is_map(type_):
        begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()  # keys and items are those of the whole
        entries = (part.slice(begin, end - begin) for part in (column.keys, column.items))
        return _OFFSET_BYTES * n_rows + sum(map(_data_bytes, entries))
    if pa.types.is_fixed_size_list(type_):
        return _data_bytes(column.flatten())
    if type_ in _OF_ANY_LENGTH:
        return _OFFSET_BYTES * n_rows + int(pc.sum(pc.binary_length(column)).as_py() or 0)
    if pa.types.is_union(type_):
        return _GUESSED_BYTES * n_rows
    return n_rows * max(int(type_.bit_width) // 8, 1)
