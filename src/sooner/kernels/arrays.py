"""Between NumPy and Arrow, sharing memory where both can.

PyArrow's own conversions load pandas wherever it is installed: a third of a second, and 40 MB, before the first result.
`pyarrow.compute` takes a twentieth of a second, so the few functions that need it import it themselves.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Flags

_NOTHING: Final = pa.py_buffer(b"")


def to_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """Numbers or booleans as a column."""
    type_ = pa.from_numpy_dtype(values.dtype)
    content = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(content)])


def to_numpy(column: pa.Array) -> npt.NDArray[Any]:
    """A column of numbers; under a null there may be any."""
    dtype = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return np.empty(0, dtype)
    return np.frombuffer(column.buffers()[1], dtype, count=len(column), offset=column.offset * dtype.itemsize)


class TextLayout(NamedTuple):
    """Where each text of a column begins in its data, and where the last one ends; by offsets of so many bits."""

    offsets: npt.NDArray[Any]
    data: pa.Buffer
    bits: int


def text_layout(column: pa.Array) -> TextLayout:
    """The layout of a column of texts or of bytes."""
    is_large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    dtype = np.dtype(np.int64 if is_large else np.int32)
    _, offsets, data = column.buffers()
    data = _NOTHING if data is None else data
    if offsets is None or not offsets.size:  # as Arrow allows where there is no text
        return TextLayout(np.zeros(len(column) + 1, dtype), data, dtype.itemsize * 8)
    found = np.frombuffer(offsets, dtype, count=len(column) + 1, offset=column.offset * dtype.itemsize)
    return TextLayout(found, data, dtype.itemsize * 8)


def to_flags(column: pa.Array) -> Flags:
    """A column of booleans; a null is not true."""
    validity, values = column.buffers()
    flags = _bits(values, column)
    return flags if validity is None or not column.null_count else flags & _bits(validity, column)


def _bits(buffer: pa.Buffer, column: pa.Array) -> Flags:
    if not len(column):
        return np.empty(0, np.bool_)
    first, last = column.offset, column.offset + len(column)
    content = np.frombuffer(buffer, np.uint8, count=(last + 7) // 8 - first // 8, offset=first // 8)
    return np.unpackbits(content, count=first % 8 + len(column), bitorder="little")[first % 8 :].view(np.bool_)
