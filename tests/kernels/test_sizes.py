"""What rows weigh is a sum over the rows: cut them anywhere, and the parts weigh what the whole does."""

from decimal import Decimal

import pyarrow as pa
import pytest

from sooner.kernels.sizes import data_bytes

N = 40
TEXTS = ["x" * (i % 9) if i % 7 else None for i in range(N)]
COLUMNS = {
    "numbers": pa.array(range(N), pa.int16()),
    "numbers with nulls": pa.array([i if i % 3 else None for i in range(N)]),
    "flags": pa.array([i % 2 == 0 for i in range(N)]),
    "nothing": pa.nulls(N),
    "decimals": pa.array([Decimal(i) for i in range(N)], pa.decimal128(9, 2)),
    "bytes of one length": pa.array([b"abcd"] * N, pa.binary(4)),
    "texts": pa.array(TEXTS),
    "large texts": pa.array(TEXTS, pa.large_string()),
    "lists": pa.array([[i] * (i % 4) if i % 5 else None for i in range(N)]),
    "large lists of texts": pa.array([["x" * i] * (i % 4) for i in range(N)], pa.large_list(pa.string())),
    "lists of one length": pa.array([[str(i), "b"] for i in range(N)], pa.list_(pa.string(), 2)),
    "maps": pa.array([[("k" * i, i)] * (i % 3) for i in range(N)], pa.map_(pa.string(), pa.int64())),
    "lists of maps": pa.array([[[("k", i)]] * (i % 2) for i in range(N)], pa.list_(pa.map_(pa.string(), pa.int64()))),
    "structs": pa.array([{"a": "x" * i, "b": [i]} if i % 5 else None for i in range(N)]),
    "unions": pa.UnionArray.from_sparse(
        pa.array([i % 2 for i in range(N)], pa.int8()), [pa.array(range(N)), pa.array(list(map(str, range(N))))]
    ),
    "intervals": pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("piece", [1, 7, 16])
def test_parts_weigh_what_the_whole_does(kind: str, piece: int) -> None:
    batch = pa.record_batch([COLUMNS[kind]], ["column"])
    parts = [batch.slice(start, piece) for start in range(0, N, piece)]
    assert sum(map(data_bytes, parts)) == data_bytes(batch) == data_bytes(pa.Table.from_batches(parts))


def test_what_is_longer_weighs_more() -> None:
    short, long = (pa.record_batch([pa.array([text] * 3)], ["column"]) for text in ("a", "a" * 100))
    assert data_bytes(long) - data_bytes(short) == 3 * 99


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.binary()])
def test_what_lies_under_a_null_weighs_nothing(type_: pa.DataType) -> None:
    texts = pa.array(["abc", "defgh", "i"], type_)
    _, *buffers = texts.buffers()
    hidden = pa.Array.from_buffers(type_, 3, [pa.py_buffer(bytes([0b101])), *buffers], null_count=1)
    found, expected = (
        pa.record_batch([column], ["column"]) for column in (hidden, pa.array(["abc", None, "i"], type_))
    )
    assert data_bytes(found) == data_bytes(expected)
