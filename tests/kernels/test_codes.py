"""Codes of rows: a pure function of the key's values, uniform in their high bits, and the same forever."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.kernels.codes import Codes, code_rows
from sooner.kernels.keys import common_type, keys_equal, plan_keys

EVERY_SEED_THE_SAME = settings(deadline=None, derandomize=True)

NUMBER_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal32(5, 1), pa.decimal64(12, 2), pa.decimal128(30, 3), pa.decimal256(50, 4)),
]
UNSIGNED_TYPES = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]
BYTES_TYPES = [pa.binary(), pa.large_binary(), pa.binary_view()]
UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

all_pairs = list(itertools.combinations_with_replacement
(NUMBER_TYPES + UNSIGNED_TYPES, 2))


def codes_of(array: pa.Array, type_: pa.DataType | None = None) -> Codes:
    type_ = common_type(array.type, array.type) if type_ is None else type_
    return code_rows(pa.record_batch({"k": array}), ["k"], [type_])[0]


def encodings(array: pa.Array) -> list[pa.Array]:
    """The same values as they are, and dictionary-encoded, run-end encoded, sliced, and mixtures of these."""
    rows = np.arange(len(array))
    dictionary = pa.DictionaryArray.from_arrays(pa.array(rows[::-1].astype(np.int32)), array.take(pa.array(rows[::-1])))
    run_ends = pa.array((rows + 1).astype(np.int32))
    plain = [
        array,
        dictionary,
        pa.RunEndEncodedArray.from_arrays(run_ends, array),
        pa.RunEndEncodedArray.from_arrays(run_ends, dictionary),
    ]
    return plain
