"""What rows weigh, as a sum over the rows: the same however they are ordered and cut into batches.

Arrow's own `nbytes` counts bitmaps, which a batch has or has not depending on which rows are in it. Decisions that must
not depend on that are made by these sizes. Encoded rows weigh what they would without their encoding: that is what they
become.
"""

import functools
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.arrays import to_flags, to_numpy
from sooner.kernels.columns import TEXTS, Columns, Layouts, layout_of
from sooner.kernels.native import address, loop, prototypes

Weights: TypeAlias = npt.NDArray[np.int64]
RowBytes: TypeAlias = Weights | int  # one number where all rows weigh the same

_weigh_texts: Final = loop(prototypes.weigh_texts)
_OFFSET_BYTES: Final = 4
_GUESSED_BYTES: Final = 16  # for a value of a union, whose parts do not tell which rows they are of


def data_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """A size that is the sum over the rows, however they are cut into batches: it counts no bitmaps."""
    if isinstance(rows, pa.Table):
        return sum(map(data_bytes, rows.to_batches()))
    return total_bytes(row_bytes(rows), rows.num_rows)


def row_bytes(rows: pa.RecordBatch) -> RowBytes:
    """What each row weighs."""
    return bytes_of_rows(Columns.of(rows))


def bytes_of_rows(columns: Columns) -> RowBytes:
    """The same of columns."""
    layouts, n_rows = columns.layouts, len(columns)
    if not n_rows:
        return 0
    if not layouts.are_plain:
        return _sum_of(columns.arrays)
    of_all, has_texts = _bytes_beside_texts(layouts)
    if not has_texts:
        return of_all
    weights = np.full(n_rows, of_all, np.int64)
    _weigh_texts(n_rows, *layouts.in_c, columns.address, address(weights))
    return weights


@functools.cache
def _bytes_beside_texts(layouts: Layouts) -> tuple[int, bool]:
    """What all rows of plain columns weigh, and whether any have texts beside that."""
    widths = [_OFFSET_BYTES if layout_of(kind) == TEXTS else _fixed_width(kind) or 0 for kind in layouts.types]
    return sum(widths), TEXTS in map(layout_of, layouts.types)


def total_bytes(weights: RowBytes, n_rows: int) -> int:
    return weights * n_rows if isinstance(weights, int) else int(weights.sum())


def picked(weights: RowBytes, positions: npt.NDArray[np.integer]) -> RowBytes:
    """What the rows at these positions weigh."""
    return weights if isinstance(weights, int) else weights[positions]


def part_of(weights: RowBytes, begin: int, end: int) -> RowBytes:
    return weights if isinstance(weights, int) else weights[begin:end]


def cuts_by_bytes(weights: RowBytes, n_rows: int, at_most_bytes: int) -> Iterator[tuple[int, int]]:
    """Where to cut rows so that no piece weighs more than this, but for a row that does by itself: (begin, end)."""
    if isinstance(weights, int):
        step = max(1, at_most_bytes // max(weights, 1))
        for begin in range(0, n_rows, step):
            yield begin, min(begin + step, n_rows)
        return
    filled = weights.cumsum()
    begin, before = 0, 0
    while begin < n_rows:
        end = max(int(filled.searchsorted(before + at_most_bytes, side="right")), begin + 1)
        yield begin, end
        begin, before = end, int(filled[end - 1])


def _sum_of(columns: list[pa.Array]) -> RowBytes:
    total: RowBytes = 0
    for column in columns:
        total = total + _row_bytes(column)
    return total


def _row_bytes(column: pa.Array) -> RowBytes:
    type_ = column.type
    if not len(column):
        return 0
    if (width := _fixed_width(type_)) is not None:
        return width
    if isinstance(column, pa.ExtensionArray):
        return _row_bytes(column.storage)
    if isinstance(column, pa.DictionaryArray):
        return _of_entries(_row_bytes(column.dictionary), column.indices)
    if isinstance(column, pa.RunEndEncodedArray):
        rows = np.arange(column.offset, column.offset + len(column))
        return picked(_row_bytes(column.values), np.searchsorted(to_numpy(column.run_ends), rows, side="right"))
    if pa.types.is_struct(type_):
        return _sum_of(column.flatten())
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _OFFSET_BYTES + _sums_of_lists(column, [column.values])
    if pa.types.is_map(type_):
        return _OFFSET_BYTES + _sums_of_lists(column, [column.keys, column.items])
    if pa.types.is_fixed_size_list(type_):
        return _sums_of_equal_lists(column)
    if layout_of(type_) == TEXTS:
        return row_bytes(pa.RecordBatch.from_arrays([column], ["texts"]))
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return _OFFSET_BYTES + _without_nulls(_lengths_of_views(column), column)
    return _GUESSED_BYTES


@functools.cache
def _fixed_width(type_: pa.DataType) -> int | None:
    """Asked for again and again: a join has few types and many runs."""
    if pa.types.is_null(type_):
        return 0
    if pa.types.is_nested(type_) or isinstance(type_, pa.BaseExtensionType) or pa.types.is_dictionary(type_):
        return None
    try:
        return max(int(type_.bit_width) // 8, 1)
    except ValueError:  # it has none
        return None


def _of_entries(weights: RowBytes, indices: pa.Array) -> RowBytes:
    if isinstance(weights, int):
        return weights
    return weights.take(to_numpy(indices), mode="clip")  # a null can have any index


def _without_nulls(lengths: Weights, column: pa.Array) -> Weights:
    """What lies under a null does not come along when rows are gathered."""
    if column.null_count:
        lengths[~to_flags(column.is_valid())] = 0
    return lengths


def _sums_of_lists(column: pa.Array, parts: list[pa.Array]) -> Weights:
    """For each list what its elements weigh; `parts` are the elements of the whole column, of which this is a slice."""
    offsets = to_numpy(column.offsets).astype(np.int64)
    first, n_elements = int(offsets[0]), int(offsets[-1] - offsets[0])
    weights = _sum_of([part.slice(first, n_elements) for part in parts])
    filled = np.arange(n_elements + 1) * weights if isinstance(weights, int) else np.append(0, weights.cumsum())
    sums: Weights = np.diff(filled[offsets - first])
    return sums


def _sums_of_equal_lists(column: pa.Array) -> RowBytes:
    length = int(column.type.list_size)
    weights = _row_bytes(column.values.slice(column.offset * length, len(column) * length))
    if isinstance(weights, int):
        return weights * length
    sums: Weights = weights.reshape(-1, length).sum(axis=1)
    return sums


def _lengths_of_views(column: pa.Array) -> Weights:
    """A view is 16 bytes, of which the first four are its length; Arrow cannot be asked."""
    words = np.frombuffer(column.buffers()[1], "<i4", count=4 * len(column), offset=16 * column.offset)
    return words[::4].astype(np.int64)
