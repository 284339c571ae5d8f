"""Rows gathered into buffers of their own, which are given back to the system when they are free.

Arrow's default allocator keeps what was freed for later, for each thread by itself: with several threads that came to
more than the rows that a small budget holds. What a join copies is therefore allocated by the system's own.

Numbers, texts and the like are gathered by compiled loops, all columns by one call; what has rows within rows (lists,
structs, maps) by Arrow.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.arrays import to_arrow, to_flags, to_numpy
from sooner.kernels.columns import BITS, OTHER, Columns, layout_of, new_table, packed
from sooner.kernels.native import address, addresses, buffer_address, loop, prototypes
from sooner.kernels.sorting import Places

POOL: Final = pa.system_memory_pool()

_concatenate: Final = loop(prototypes.concatenate)
_plan_columns: Final = loop(prototypes.plan_columns)
_gather_columns: Final = loop(prototypes.gather_columns)
_spread: Final = {width: loop(prototypes.spread, 8 * width) for width in (1, 4, 8)}


def gather(rows: pa.RecordBatch, positions: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """The rows at these positions."""
    return gather_from([Columns.of(rows)], Places(np.ascontiguousarray(positions, np.int64))).rows


def gather_from(parts: Sequence[Columns], places: Places) -> Columns:
    """The rows at these places."""
    layouts, n_rows = parts[0].layouts, len(places.positions)
    n_columns = len(layouts.types)
    batches, sources = addresses([part.address for part in parts]), np.empty(2 * len(parts), np.uint64)
    spans, nulls, table = np.empty((n_columns, 3, 2), np.int64), np.empty(n_columns, np.int64), new_table(n_columns)
    what = (
        *layouts.in_c,
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
        raise pa.ArrowCapacityError(f"more than 2 GB of text in one column of type {layouts.types[-1 - room_bytes]}")
    room = np.empty(room_bytes, np.uint8)  # in one piece: NumPy asks for large pages if it is a large one
    _gather_columns(n_rows, *what, address(room), address(nulls), address(table))
    gathered = packed(layouts, n_rows, pa.py_buffer(room), spans, nulls, table)
    if layouts.are_plain:
        return gathered
    arrays = [
        gathered.array(number)
        if layout_of(kind) != OTHER
        else _by_arrow([part.array(number) for part in parts], places)
        for number, kind in enumerate(layouts.types)
    ]
    return Columns.of(pa.RecordBatch.from_arrays(arrays, schema=layouts.schema))


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
    width = 1 if layout == BITS else layout
    if values.null_count or places.null_count or width not in _spread:
        return values.take(places)
    at = to_numpy(places).astype(np.int32, copy=False)
    flags = to_flags(values) if layout == BITS else None
    among = address(flags) if flags is not None else buffer_address(values.buffers()[1], values.offset * width)
    found = np.empty(len(at) * width, np.uint8)
    _spread[width](len(at), among, address(at), len(at), address(found))
    content = np.packbits(found, bitorder="little") if layout == BITS else found
    return pa.Array.from_buffers(values.type, len(at), [None, pa.py_buffer(content)], null_count=0)


def _by_arrow(chunks: Sequence[pa.Array], places: Places) -> pa.Array:
    import pyarrow.compute as pc

    if places.parts is None:
        return pc.take(chunks[0], to_arrow(places.positions), boundscheck=False, memory_pool=POOL)
    starts = np.append(0, np.cumsum([len(chunk) for chunk in chunks[:-1]], dtype=np.int64))
    positions = to_arrow(places.positions + starts[places.parts])
    taken = pc.take(pa.chunked_array(chunks), positions, boundscheck=False, memory_pool=POOL)
    return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)
