"""Rows gathered into buffers of their own, which are given back to the system when they are free.

Arrow's default allocator keeps what was freed for later, for each thread by itself: with several threads that came to
more than the rows that a small budget holds. What a join copies is therefore allocated by the system's own.

Numbers, texts and the like are gathered by compiled loops, all columns by one call; what has rows within rows (lists,
structs, maps) by Arrow.
"""

import functools
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.arrays import to_arrow, to_flags, to_numpy
from sooner.kernels.native import address, addresses, buffer_address, capsule_address, loop, prototypes
from sooner.kernels.sorting import Places

POOL: Final = pa.system_memory_pool()
_BITS: Final = "bits"
_TEXTS: Final = "texts"
_OTHER: Final = "other"
Layout: TypeAlias = int | Literal["bits", "texts", "other"]  # a number is the bytes of each value
_LAYOUTS_IN_C: Final = {_BITS: -1, _TEXTS: -2, _OTHER: -4}
_LARGE_TEXTS_IN_C: Final = -3

_concatenate: Final = loop(prototypes.concatenate)
_plan_columns: Final = loop(prototypes.plan_columns)
_gather_columns: Final = loop(prototypes.gather_columns)
_spread: Final = {width: loop(prototypes.spread, 8 * width) for width in (1, 4, 8)}


class Columns:
    """The columns of rows, told to compiled loops by Arrow's C data interface, once."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows
        self._schema, self._array = rows.__arrow_c_array__()  # which own what is told
        self.address = capsule_address(self._array, "arrow_array")
        self._selections: dict[tuple[int, ...], Columns] = {}

    def only(self, numbers: tuple[int, ...]) -> "Columns":
        """Some of them, by their numbers."""
        if numbers == tuple(range(self.rows.num_columns)):
            return self
        if numbers not in self._selections:
            self._selections[numbers] = Columns(self.rows.select(numbers))
        return self._selections[numbers]


def gather(rows: pa.RecordBatch, positions: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """The rows at these positions."""
    places = Places(np.ascontiguousarray(positions, np.int64))
    return pa.RecordBatch.from_arrays(gather_from([Columns(rows)], places), schema=rows.schema)


def gather_from(parts: Sequence[Columns], places: Places) -> list[pa.Array]:
    """The columns of the rows at these places."""
    types, layouts = _columns_of(parts[0].rows.schema)
    n_columns, n_rows = len(types), len(places.positions)
    batches, sources = addresses([part.address for part in parts]), np.empty(2 * len(parts), np.uint64)
    spans, nulls = np.empty((n_columns, 3, 2), np.int64), np.empty(n_columns, np.int64)
    what = (
        n_columns,
        address(layouts),
        len(parts),
        address(batches),
        address(places.positions),
        address(places.parts),
        n_rows,
        address(sources),
        address(spans),
    )
    room_bytes = _plan_columns(n_rows, *what)
    if room_bytes < 0:
        raise pa.ArrowCapacityError(f"more than 2 GB of text in one column of type {types[-1 - room_bytes]}")
    room = np.empty(room_bytes, np.uint8)  # in one piece: NumPy asks for large pages if it is a large one
    _gather_columns(n_rows, *what, address(room), address(nulls))
    told = zip(types, layouts.tolist(), spans.tolist(), nulls.tolist(), strict=True)
    buffer = pa.py_buffer(room)
    return [
        _by_arrow([part.rows.column(number) for part in parts], places)
        if layout == _LAYOUTS_IN_C[_OTHER]
        else _array(kind, n_rows, buffer, spans_of_column, nulls_of_column)
        for number, (kind, layout, spans_of_column, nulls_of_column) in enumerate(told)
    ]


def has_idle_bitmaps(rows: pa.RecordBatch) -> bool:
    """Whether a column says of each row that it is not null; gathered rows do not, and so they weigh less."""
    return any(not column.null_count and column.buffers()[0] is not None for column in rows.columns)


def as_one(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    schema = parts[0].schema
    columns = [_concatenated([part.column(number) for part in parts]) for number in range(len(schema))]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _concatenated(chunks: Sequence[pa.Array]) -> pa.Array:
    width = layout_of(chunks[0].type)
    if not isinstance(width, int) or any(chunk.null_count for chunk in chunks):
        return pa.concat_arrays(chunks, POOL)
    n_rows = sum(len(chunk) for chunk in chunks)
    target = np.empty(n_rows * width, np.uint8)
    sources = addresses([buffer_address(chunk.buffers()[1], chunk.offset * width) for chunk in chunks])
    sizes = np.array([len(chunk) * width for chunk in chunks], np.int64)
    _concatenate(n_rows, len(chunks), address(sources), address(sizes), address(target))
    return pa.Array.from_buffers(chunks[0].type, n_rows, [None, pa.py_buffer(target)], null_count=0)


def spread(values: pa.Array, places: pa.Array) -> pa.Array:
    """The value of each row, by its place among these: what a dictionary means, several times as fast as by Arrow."""
    layout = layout_of(values.type)
    width = 1 if layout == _BITS else layout
    if values.null_count or places.null_count or width not in _spread:
        return values.take(places)
    at = to_numpy(places).astype(np.int32, copy=False)
    flags = to_flags(values) if layout == _BITS else None
    among = address(flags) if flags is not None else buffer_address(values.buffers()[1], values.offset * width)
    found = np.empty(len(at) * width, np.uint8)
    _spread[width](len(at), among, address(at), len(at), address(found))
    content = np.packbits(found, bitorder="little") if layout == _BITS else found
    return pa.Array.from_buffers(values.type, len(at), [None, pa.py_buffer(content)], null_count=0)


@functools.cache
def layout_of(kind: pa.DataType) -> Layout:
    """How the values of a column of this type lie in memory."""
    types = pa.types
    if types.is_boolean(kind):
        return _BITS
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind):
        width: int = kind.bit_width // 8
        return width
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return _TEXTS
    return _OTHER


@functools.cache
def _columns_of(schema: pa.Schema) -> tuple[list[pa.DataType], npt.NDArray[np.int64]]:
    """The types of columns, and their layouts as compiled loops know them."""
    return schema.types, np.array([_layout_in_c(kind) for kind in schema.types], np.int64)


def _layout_in_c(kind: pa.DataType) -> int:
    if kind in (pa.large_string(), pa.large_binary()):
        return _LARGE_TEXTS_IN_C
    layout = layout_of(kind)
    return layout if isinstance(layout, int) else _LAYOUTS_IN_C[layout]


def _array(kind: pa.DataType, n_rows: int, room: pa.Buffer, spans: Sequence[Sequence[int]], nulls: int) -> pa.Array:
    """A column whose validity, values (or offsets) and texts lie there."""
    validity, values, texts = spans
    buffers = [room.slice(*validity) if nulls else None, room.slice(*values)]
    if layout_of(kind) == _TEXTS:
        buffers.append(room.slice(*texts))
    return pa.Array.from_buffers(kind, n_rows, buffers, null_count=nulls)


def _by_arrow(chunks: Sequence[pa.Array], places: Places) -> pa.Array:
    import pyarrow.compute as pc

    if places.parts is None:
        return pc.take(chunks[0], to_arrow(places.positions), boundscheck=False, memory_pool=POOL)
    starts = np.append(0, np.cumsum([len(chunk) for chunk in chunks[:-1]], dtype=np.int64))
    positions = to_arrow(places.positions + starts[places.parts])
    taken = pc.take(pa.chunked_array(chunks), positions, boundscheck=False, memory_pool=POOL)
    return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)
