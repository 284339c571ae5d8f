"""Order and hash of rows by content: equal rows are alike, all others differ, however their arrays are laid out."""

import datetime
import decimal
import struct

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.content_order import hash_of_content, order_by_content

OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]
COLUMNS = {
    "numbers": pa.array([1, 2, None, 0], pa.int64()),
    "doubles": pa.array([0.0, -0.0, None, float("nan"), OTHER_NAN], pa.float64()),
    "short doubles": pa.array([0.0, -0.0, None], pa.float32()),
    "texts": pa.array(["", "a", None, "ab" * 200, "ab" * 201]),
    "bytes": pa.array([b"", b"\0", b"\0\0", None], pa.large_binary()),
    "flags": pa.array([True, False, None]),
    "days": pa.array([datetime.date(1970, 1, 1), datetime.date(2000, 1, 1), None]),
    "decimals": pa.array([decimal.Decimal("0.1"), decimal.Decimal("1.0"), None], pa.decimal128(38, 1)),
    "lists": pa.array([[1], [1, 2], [], None], pa.list_(pa.int32())),
    "structs": pa.array([{"a": 1}, {"a": None}, None], pa.struct([("a", pa.int8())])),
    "nothing": pa.nulls(1),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_equal_rows_have_one_hash_and_others_have_another(name: str) -> None:
    column = COLUMNS[name]
    hashes = hash_of_content([column])
    assert len({*hashes.tolist()}) == len(column)
    again = pa.concat_arrays([column[::-1], column]).slice(1)
    assert hash_of_content([again]).tolist() == [*hashes[::-1], *hashes][1:]


def test_the_place_of_a_column_matters_and_what_lies_under_a_null_does_not() -> None:
    one, none = pa.array([1], pa.int64()), pa.array([None], pa.int64())
    assert len({int(hash_of_content(row)[0]) for row in ([one, none], [none, one], [one, one], [none, none])}) == 4
    hidden = pa.Array.from_buffers(pa.int64(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(np.array([7]))])
    assert hash_of_content([hidden, one]).tolist() == hash_of_content([none, one]).tolist()


def test_only_equal_rows_can_change_places() -> None:
    column = pa.array([0.0, -0.0, 1.0, None, -0.0, 0.0])
    backwards = column[::-1]
    ordered = [[repr(some[at].as_py()) for at in order_by_content([some])] for some in (column, backwards)]
    assert ordered[0] == ordered[1]
