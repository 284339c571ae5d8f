"""Codes in the order of the values themselves: for algorithms that look at regions of values.

Different values have different codes, so equal codes mean equal keys. As with hashes, -0.0 is 0.0 and every NaN is the
same; it is above all numbers. A value that is null has the code 0 and matches nothing.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_flags, to_numpy
from sooner.kernels.keys import keys_in_common_type

_SIGN: Final = np.uint64(1 << 63)
_NAN: Final = np.uint64(2**64 - 1)


def code_values(batch: pa.RecordBatch, column: str, type_: pa.DataType) -> tuple[Codes, Flags | None]:
    """Codes of all rows, and which of them have a value (None: all have)."""
    [values] = keys_in_common_type(batch, [column], [type_])
    codes = value_codes(values)
    if not values.null_count:
        return codes, None
    complete = to_flags(values.is_valid())
    codes[~complete] = 0
    return codes, complete


def value_codes(values: pa.Array) -> Codes:
    """The codes of values that fit in 64 bits; a null may have any code."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_boolean(values.type):
        return to_flags(values).astype(np.uint64)
    if pa.types.is_floating(values.type):
        return _in_order(to_numpy(values.cast(pa.float64())))
    if pa.types.is_unsigned_integer(values.type):
        return to_numpy(values).astype(np.uint64)
    return as_integers(values).view(np.uint64) ^ _SIGN


def as_integers(values: pa.Array) -> npt.NDArray[np.int64]:
    """Integers, and moments as the integers that they are stored as."""
    if not pa.types.is_integer(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return to_numpy(values).astype(np.int64, copy=False)


def _in_order(doubles: npt.NDArray[np.float64]) -> Codes:
    bits = (doubles + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    codes: Codes = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    codes[np.isnan(doubles)] = _NAN
    return codes
