"""Rows gathered into buffers of their own, which are given back to the system when they are free.

Arrow's default allocator keeps what was freed for later, for each thread by itself: with several threads that came to
more than the rows that a small budget holds. What a join copies is therefore allocated by the system's own.

Numbers, texts and the like are gathered by compiled loops, all columns of fixed width by one call; what has rows within
rows (lists, structs, maps) by Arrow.
"""

import functools
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.arrays import text_layout, to_arrow
from sooner.kernels.native import address, addresses, buffer_address, loop
from sooner.kernels.sorting import Places

POOL: Final = pa.system_memory_pool()
ALIGNED: Final = 64  # bytes, as Arrow likes it
_BITS: Final = "bits"
_TEXTS: Final = "texts"
_OTHER: Final = "other"
Layout: TypeAlias = int | Literal["bits", "texts", "other"]  # a number is the bytes of each value

_concatenate: Final = loop("concatenate", "saaa")
_gather_columns: Final = loop("gather_columns", "ssaaaaan")
_gather_bits: Final = loop("gather_bits", "aaaaan", counts=True)
_gather_offsets: Final = {bits: loop(f"gather_offsets_{bits}", "aaaan", counts=True) for bits in (32, 64)}
_gather_texts: Final = {bits: loop(f"gather_texts_{bits}", "aaaaaan") for bits in (32, 64)}


class Columns:
    """Columns of the same rows, and what compiled loops must know of them, found out once."""

    def __init__(self, arrays: Sequence[pa.Array]) -> None:
        self.arrays = arrays
        self.fixed = [number for number, array in enumerate(arrays) if isinstance(layout_of(array.type), int)]
        widths = [arrays[number].type.bit_width // 8 for number in self.fixed]
        self.widths = np.array(widths, np.int64)
        self.values = [
            buffer_address(array.buffers()[1], array.offset * width)
            for array, width in zip((arrays[number] for number in self.fixed), widths, strict=True)
        ]
        self._selections: dict[tuple[int, ...], Columns] = {}

    def only(self, numbers: tuple[int, ...]) -> "Columns":
        """Some of them, by their numbers."""
        if numbers not in self._selections:
            self._selections[numbers] = Columns([self.arrays[number] for number in numbers])
        return self._selections[numbers]


def gather(rows: pa.RecordBatch, positions: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """The rows at these positions."""
    places = Places(np.ascontiguousarray(positions, np.int64))
    return pa.RecordBatch.from_arrays(gather_from([Columns(rows.columns)], places), schema=rows.schema)


def gather_from(parts: Sequence[Columns], places: Places) -> list[pa.Array]:
    """The columns of the rows at these places."""
    first = parts[0]
    gathered: list[pa.Array | None] = [None] * len(first.arrays)
    for number, column in zip(first.fixed, _fixed(parts, places), strict=True):
        gathered[number] = column
    for number, array in enumerate(first.arrays):
        layout = layout_of(array.type)
        if not isinstance(layout, int):
            gathered[number] = _GATHER[layout]([part.arrays[number] for part in parts], places)
    return gathered


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


def _fixed(parts: Sequence[Columns], places: Places) -> list[pa.Array]:
    n_rows, first = len(places.positions), parts[0]
    if not first.fixed:
        return []
    targets = _rooms(n_rows, first.widths.tolist())
    sources = addresses(
        [place for places_of_column in zip(*(part.values for part in parts), strict=True) for place in places_of_column]
    )
    into = addresses([address(target) for target in targets])
    where = address(sources), address(first.widths), address(into)
    _gather_columns(n_rows, len(first.fixed), len(parts), *where, *_arguments(places))
    return [
        _array([part.arrays[number] for part in parts], places, [pa.py_buffer(target)])
        for number, target in zip(first.fixed, targets, strict=True)
    ]


def _rooms(n_rows: int, widths: Sequence[int]) -> list[npt.NDArray[np.uint8]]:
    """Room for columns of these widths, in one piece: NumPy asks for large pages if it is a large one."""
    begins = [0]
    for width in widths:
        begins.append(begins[-1] + -(-n_rows * width // ALIGNED) * ALIGNED)
    room = np.empty(begins[-1], np.uint8)
    return [room[begin : begin + n_rows * width] for begin, width in zip(begins, widths, strict=False)]


def _texts(chunks: Sequence[pa.Array], places: Places) -> pa.Array:
    layouts = [text_layout(chunk) for chunk in chunks]
    bits, n_rows = layouts[0].bits, len(places.positions)
    sources = addresses([address(layout.offsets) for layout in layouts])
    data = addresses([buffer_address(layout.data) for layout in layouts])
    offsets = np.empty(n_rows + 1, layouts[0].offsets.dtype)
    n_bytes = _gather_offsets[bits](n_rows, address(sources), address(offsets), *_arguments(places))
    if n_bytes < 0:
        raise pa.ArrowCapacityError(f"more than 2 GB of text in one column of type {chunks[0].type}")
    target = np.empty(n_bytes, np.uint8)
    where = address(sources), address(data), address(offsets), address(target)
    _gather_texts[bits](n_rows, *where, *_arguments(places))
    return _array(chunks, places, [pa.py_buffer(offsets), pa.py_buffer(target)])


def _booleans(chunks: Sequence[pa.Array], places: Places) -> pa.Array:
    bits, _ = _bits([chunk.buffers()[1] for chunk in chunks], chunks, places)
    return _array(chunks, places, [bits])


def _array(chunks: Sequence[pa.Array], places: Places, values: list[pa.Buffer]) -> pa.Array:
    """A column of these values; which of them are null is gathered as well."""
    validity, nulls = None, 0
    if any(chunk.null_count for chunk in chunks):
        validity, nulls = _bits([chunk.buffers()[0] for chunk in chunks], chunks, places)
    buffers = [validity if nulls else None, *values]
    return pa.Array.from_buffers(chunks[0].type, len(places.positions), buffers, null_count=nulls)


def _bits(buffers: Sequence[pa.Buffer | None], chunks: Sequence[pa.Array], places: Places) -> tuple[pa.Buffer, int]:
    """Bits of each row, and how many are not set."""
    n_rows = len(places.positions)
    sources, offsets = addresses([buffer_address(buffer) for buffer in buffers]), [chunk.offset for chunk in chunks]
    begins, target = np.array(offsets, np.int64), np.empty((n_rows + 7) // 8, np.uint8)
    unset = _gather_bits(n_rows, address(sources), address(begins), address(target), *_arguments(places))
    return pa.py_buffer(target), unset


def _arguments(places: Places) -> tuple[int, int, int]:
    return address(places.positions), address(places.parts), len(places.positions)


def _by_arrow(chunks: Sequence[pa.Array], places: Places) -> pa.Array:
    import pyarrow.compute as pc

    if places.parts is None:
        return pc.take(chunks[0], to_arrow(places.positions), boundscheck=False, memory_pool=POOL)
    starts = np.append(0, np.cumsum([len(chunk) for chunk in chunks[:-1]], dtype=np.int64))
    positions = to_arrow(places.positions + starts[places.parts])
    taken = pc.take(pa.chunked_array(chunks), positions, boundscheck=False, memory_pool=POOL)
    return taken.combine_chunks() if taken.num_chunks != 1 else taken.chunk(0)


_GATHER: Final = {_TEXTS: _texts, _BITS: _booleans, _OTHER: _by_arrow}
