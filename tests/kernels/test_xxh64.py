"""Hashes as Spark computes them; tests/spark/test_packing.py asks Spark itself."""

import os
import struct

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from sooner.kernels.xxh64 import is_hashed, xxh64


def unsigned(hashes: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[int]:
    return [int(word) for word in hashes.view(np.uint64)]


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()])
def test_bytes_of_any_length(type_: pa.DataType) -> None:
    values = [os.urandom(length) for length in range(100)]
    column = pa.array([b"not seen", *values], type_).slice(1)
    assert unsigned(xxh64([column])) == [xxhash.xxh64_intdigest(value, 42) for value in values]


def test_numbers_are_their_bytes_and_seed_what_follows() -> None:
    numbers, doubles, texts = [1, -5, 2**62], [0.5, -0.0, float("nan")], ["a", "", "ü" * 40]
    hashes = xxh64([pa.array(numbers), pa.array(doubles), pa.array(texts)])
    for found, number, double, text in zip(unsigned(hashes), numbers, [0.5, 0.0, float("nan")], texts, strict=True):
        seed = xxhash.xxh64_intdigest(struct.pack("<q", number), 42)
        seed = xxhash.xxh64_intdigest(struct.pack("<d", double), seed)
        assert found == xxhash.xxh64_intdigest(text.encode(), seed)


def test_no_rows_have_no_hashes() -> None:
    assert len(xxh64([pa.array([], pa.int64()), pa.array([], pa.string())])) == 0


@pytest.mark.parametrize("type_", [pa.int32(), pa.decimal128(5), pa.timestamp("ns"), pa.time64("us"), pa.null()])
def test_what_spark_hashes_in_another_way_is_known(type_: pa.DataType) -> None:
    assert not is_hashed(type_)
