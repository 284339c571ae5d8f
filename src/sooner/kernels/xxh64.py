"""Spark's `xxhash64` of rows, to the bit: what places rows on Spark, computed without Spark.

It is XXH64 of each value, seeded with the hash of the values before it in the row, and at first with 42. Integers,
moments and doubles are 8 bytes, dates and booleans 4, texts what they are. There is one NaN, and -0.0 is 0.0.

Not covered: nulls, and types that are not in `is_hashed`.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Codes
from sooner.kernels.arrays import text_layout
from sooner.kernels.native import address, buffer_address, loop, prototypes

_SEED: Final = 42

_of_64_bits: Final = loop(prototypes.xxh64_of_64_bits)
_of_32_bits: Final = loop(prototypes.xxh64_of_32_bits)
_of_doubles: Final = loop(prototypes.xxh64_of_doubles)
_of_texts: Final = {bits: loop(prototypes.xxh64_of_texts, bits) for bits in (32, 64)}


def is_hashed(type_: pa.DataType) -> bool:
    """Whether values of this type can be hashed here as Spark does it."""
    types = pa.types
    is_moment = types.is_timestamp(type_) and type_.unit == "us"
    return is_moment or any(
        belongs(type_)
        for belongs in (
            types.is_int64,
            types.is_float64,
            types.is_date32,
            types.is_boolean,
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
        )
    )


def xxh64(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """A hash for each row of these columns, which have no nulls."""
    n_rows = len(columns[0])
    hashes = np.full(n_rows, _SEED, np.uint64)
    for column in columns:
        assert is_hashed(column.type), column.type
        if n_rows:
            _fold(hashes, column)
    return hashes.view(np.int64)


def _fold(hashes: Codes, column: pa.Array) -> None:
    n_rows = len(column)
    if not pa.types.is_primitive(column.type):
        texts = text_layout(column)
        _of_texts[texts.bits](n_rows, address(hashes), address(texts.offsets), buffer_address(texts.data), n_rows)
        return
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int32())
    width = column.type.bit_width // 8
    values = buffer_address(column.buffers()[1], column.offset * width)
    hash_values = _of_32_bits if width == 4 else _of_doubles if pa.types.is_floating(column.type) else _of_64_bits
    hash_values(n_rows, address(hashes), values, n_rows)
