"""A column as the values that expressions work on, without the detours of casts.

Decimals become integers by taking the low words of their buffers: a strided copy, 20 times as fast as Arrow's cast.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.kinds import MOST_DIGITS, Kind
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_arrow, to_flags
from sooner.kernels.keys import decoded, type_of_values

_BITS_OF_WORD: Final = 64


def column_values(array: pa.Array, kind: Kind, name: str, what: str) -> pa.Array:
    """Unscaled int64 for exact numbers, else the kind's own type; texts may stay in a dictionary."""
    if kind.name == "text" and isinstance(array, pa.DictionaryArray) and len(array.dictionary) <= len(array):
        return array
    array = decoded(array)
    try:
        if pa.types.is_decimal(array.type):
            return _unscaled(array)
        return array if array.type == kind.type else array.cast(kind.type)
    except pa.ArrowInvalid as error:
        raise InvalidJoin(
            f"{what} needs column {name!r}, which holds a value that does not fit in 64 bits as it must to stay exact; "
            f"write CAST({name} AS DOUBLE)."
        ) from error


def may_not_fit(type_: pa.DataType) -> bool:
    """Whether a column of numbers may hold some that no int64 does."""
    values = type_of_values(type_)
    if pa.types.is_decimal(values):
        return not (values.precision <= MOST_DIGITS and values.scale >= 0)
    return bool(values == pa.uint64())


def as_floats(array: pa.Array) -> pa.Array:
    """Numbers of any width, to the nearest float; text gives the last bit, which Arrow's cast of decimals does not."""
    array = decoded(array)
    return (
        array.cast(pa.string()).cast(pa.float64())
        if pa.types.is_decimal(array.type)
        else array.cast(pa.float64(), safe=False)
    )


def _unscaled(array: pa.Array) -> pa.Array:
    validity, content = array.buffers()
    bits = array.type.bit_width
    first = array.offset - array.offset % 8  # from here on, so that bits of validity need not be shifted
    rows = array.offset + len(array) - first
    if bits < _BITS_OF_WORD:
        words = np.frombuffer(content, np.int32, count=rows, offset=first * 4).astype(np.int64)
    else:
        per_value = bits // _BITS_OF_WORD
        table = np.frombuffer(content, np.int64, count=rows * per_value, offset=first * bits // 8)
        table = table.reshape(rows, per_value)
        words = np.ascontiguousarray(table[:, 0])
        if array.type.precision > MOST_DIGITS and per_value > 1:
            _require_sign_extension(table[array.offset - first :], array)
    if not array.null_count:
        validity = None
    elif validity is not None:
        validity = validity.slice(first // 8)
    return pa.Array.from_buffers(pa.int64(), len(array), [validity, pa.py_buffer(words)], offset=array.offset - first)


def _require_sign_extension(table: np.ndarray[tuple[int, int], np.dtype[np.int64]], array: pa.Array) -> None:
    too_wide: Flags = np.any(table[:, 1:] != (table[:, :1] >> (_BITS_OF_WORD - 1)), axis=1)
    if too_wide.any() and (too_wide & to_flags(array.is_valid())).any():
        raise pa.ArrowInvalid("more than 64 bits")


def repeated(value: pa.Scalar, rows: int) -> pa.Array:
    """A constant as a column."""
    if pa.types.is_null(value.type) or not value.is_valid:
        return pa.nulls(rows, value.type)
    if pa.types.is_int64(value.type):
        return to_arrow(np.full(rows, value.as_py(), np.int64))
    return pa.repeat(value, rows)
