"""Planning of keys: which types meet in which, which pairs are refused and with what sentence; and real equality."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pair_masks import keys_equal
from sooner.errors import InvalidJoin
from sooner.kernels.keys import KeyPlan, common_type, plan_keys

NAIVE, AWARE = pa.timestamp("us"), pa.timestamp("us", tz="UTC")

COMMON_TYPES = [
    (pa.int8(), pa.int8(), pa.int64()),
    (pa.int8(), pa.int64(), pa.int64()),
    (pa.int32(), pa.uint32(), pa.int64()),
    (pa.uint8(), pa.uint16(), pa.uint64()),
    (pa.uint64(), pa.uint64(), pa.uint64()),
    (pa.int8(), pa.uint64(), pa.decimal128(20, 0)),
    (pa.float16(), pa.float32(), pa.float64()),
    (pa.int64(), pa.float32(), pa.float64()),
    (pa.decimal128(10, 2), pa.float64(), pa.float64()),
    (pa.decimal32(5, 2), pa.decimal64(12, 1), pa.decimal128(13, 2)),
    (pa.decimal128(38, 0), pa.decimal128(38, 10), pa.decimal256(48, 10)),
    (pa.decimal128(5, -2), pa.decimal128(4, -3), pa.decimal128(7, 0)),
    (pa.decimal128(5, 2), pa.int32(), pa.decimal128(12, 2)),
    (pa.decimal128(38, 9), pa.decimal128(38, 9), pa.decimal128(38, 9)),
    (pa.decimal128(5, 2), pa.uint64(), pa.decimal128(22, 2)),
    (pa.decimal128(38, 30), pa.int64(), pa.decimal256(49, 30)),
    (pa.date32(), pa.date64(), pa.date32()),
    (pa.date64(), pa.date64(), pa.date64()),
    (pa.date32(), NAIVE, NAIVE),
    (pa.date64(), NAIVE, NAIVE),
    (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns")),
    (pa.timestamp("ms", tz="Asia/Tokyo"), AWARE, AWARE),
    (pa.time32("s"), pa.time32("ms"), pa.time64("ns")),
    (pa.time32("s"), pa.time64("us"), pa.time64("ns")),
    (pa.duration("s"), pa.duration("us"), pa.duration("us")),
    (pa.string(), pa.string(), pa.string()),
    (pa.string(), pa.string_view(), pa.string()),
    (pa.string_view(), pa.large_string(), pa.large_string()),
    (pa.binary(), pa.binary_view(), pa.binary()),
    (pa.binary(4), pa.binary(5), pa.binary()),
    (pa.binary(4), pa.large_binary(), pa.large_binary()),
    (pa.bool_(), pa.bool_(), pa.bool_()),
    (pa.dictionary(pa.int8(), pa.int16()), pa.int64(), pa.int64()),
    (pa.run_end_encoded(pa.int32(), pa.string_view()), pa.string(), pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string()), pa.large_string()),
    (pa.uuid(), pa.binary(16), pa.binary()),
    (pa.null(), pa.null(), pa.null()),
    (pa.null(), pa.int8(), pa.int64()),
    (pa.null(), pa.binary_view(), pa.binary()),
    (pa.dictionary(pa.int8(), pa.null()), pa.date32(), pa.date32()),
]

INCOMPARABLE = [
    (pa.string(), pa.int64()),
    (pa.string(), pa.binary()),
    (pa.string(), pa.date32()),
    (pa.bool_(), pa.int8()),
    (pa.bool_(), pa.string()),
    (NAIVE, AWARE),
    (pa.date32(), AWARE),
    (pa.date32(), pa.int32()),
    (pa.date32(), pa.time32("s")),
    (NAIVE, pa.time64("us")),
    (NAIVE, pa.int64()),
    (pa.duration("s"), pa.time32("s")),
    (pa.duration("s"), pa.int64()),
    (pa.decimal256(76, 0), pa.decimal128(5, 1)),
    (pa.decimal256(76, 70), pa.int64()),
    (pa.dictionary(pa.int8(), pa.string()), pa.float32()),
]

NO_KEYS = [
    pa.list_(pa.int64()),
    pa.large_list(pa.int64()),
    pa.list_(pa.int64(), 3),
    pa.struct([("x", pa.int64())]),
    pa.map_(pa.string(), pa.int64()),
    pa.dense_union([pa.field("x", pa.int64())]),
    pa.month_day_nano_interval(),
    pa.run_end_encoded(pa.int32(), pa.list_(pa.int64())),
]


def plan_of_types(left: pa.DataType, right: pa.DataType) -> KeyPlan:
    return plan_keys(pa.schema([("a", left)]), pa.schema([("b", right)]), ["a"], ["b"])


def equal(left: pa.Array, right: pa.Array) -> list[bool]:
    plan = plan_of_types(left.type, right.type)
    return keys_equal(pa.record_batch({"a": left}), pa.record_batch({"b": right}), plan).tolist()


def refusal(left: pa.Schema, right: pa.Schema, left_on: list[str], right_on: list[str]) -> str:
    with pytest.raises(InvalidJoin) as refused:
        plan_keys(left, right, left_on, right_on)
    return str(refused.value)


@pytest.mark.parametrize(("left", "right", "expected"), COMMON_TYPES, ids=str)
def test_two_types_meet_in_one_that_holds_both_whatever_the_side(
    left: pa.DataType, right: pa.DataType, expected: pa.DataType
) -> None:
    assert common_type(left, right) == expected
    assert common_type(right, left) == expected


@pytest.mark.parametrize(("left", "right"), INCOMPARABLE, ids=str)
def test_incomparable_keys_are_refused_with_both_names_both_types_and_a_cure(
    left: pa.DataType, right: pa.DataType
) -> None:
    for first, second in ((left, right), (right, left)):
        sentence = refusal(pa.schema([("id", first)]), pa.schema([("uid", second)]), ["id"], ["uid"])
        expected = f"key 'id' is {first} on the left but 'uid' is {second} on the right; cast one of them"
        assert sentence.startswith(expected)


def test_a_shared_name_is_said_once() -> None:
    sentence = refusal(pa.schema([("id", pa.string())]), pa.schema([("id", pa.int64())]), ["id"], ["id"])
    assert sentence == (
        "key 'id' is string on the left but int64 on the right; cast one of them so that both have one type"
    )


@pytest.mark.parametrize("type_", NO_KEYS, ids=str)
def test_nested_and_interval_columns_cannot_be_keys_even_with_themselves(type_: pa.DataType) -> None:
    schema = pa.schema([("id", pa.int64()), ("tags", type_)])
    sentence = refusal(schema, schema, ["id", "tags"], ["id", "tags"])
    assert sentence.startswith(f"column 'tags' on the left is {type_} and cannot be a key;")
    assert "on the right" in refusal(pa.schema([("id", pa.null())]), schema, ["id"], ["tags"])


def test_a_missing_column_is_named_with_its_nearest_and_all_others() -> None:
    left = pa.schema([("customer_id", pa.int64()), ("name", pa.string())])
    right = pa.schema([("id", pa.int64())])
    sentence = refusal(left, right, ["custmer_id"], ["id"])
    assert sentence == (
        "the left has no column 'custmer_id'; did you mean 'customer_id'? Its columns are customer_id, name"
    )
    assert refusal(left, right, ["name"], ["zzz"]) == "the right has no column 'zzz'; its columns are id"
    assert refusal(left, pa.schema([]), ["name"], ["x"]).endswith("its columns are none")


def test_a_column_name_that_occurs_twice_cannot_be_a_key() -> None:
    twice = pa.schema([("k", pa.int64()), ("k", pa.int64())])
    once = pa.schema([("k", pa.int64())])
    assert "the left has 2 columns named 'k'" in refusal(twice, once, ["k"], ["k"])
    assert "the right has 2 columns named 'k'" in refusal(once, twice, ["k"], ["k"])


def test_a_column_that_occurs_twice_does_no_harm_when_it_is_no_key() -> None:
    schema = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("x", pa.int64())])
    assert plan_keys(schema, schema, ["k"], ["k"]).left == ("k",)


def test_a_key_listed_twice_is_refused() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    assert refusal(schema, schema, ["a", "a"], ["a", "b"]) == "key 'a' is listed twice on the left; list it once"
    assert "'b' is listed twice on the right" in refusal(schema, schema, ["a", "b"], ["b", "b"])


def test_key_lists_of_different_length_or_without_any_name_are_refused() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    sentence = refusal(schema, schema, ["a", "b"], ["a"])
    assert "2 key columns on the left (a, b) but 1 on the right (a)" in sentence
    for left_on, right_on in (([], []), (["a"], []), ([], ["a"])):
        assert "at least one key column" in refusal(schema, schema, left_on, right_on)


def test_a_plan_keeps_names_and_types_in_the_given_order() -> None:
    left = pa.schema([("x", pa.int8()), ("y", pa.string())])
    right = pa.schema([("v", pa.large_string()), ("w", pa.int16())])
    plan = plan_keys(left, right, ["y", "x"], ["v", "w"])
    assert plan == KeyPlan(("y", "x"), ("v", "w"), (pa.large_string(), pa.int64()), exact=False)


@pytest.mark.parametrize(
    ("type_", "exact"),
    [
        (pa.int8(), True),
        (pa.uint64(), True),
        (pa.float32(), True),
        (pa.bool_(), True),
        (pa.date32(), True),
        (pa.date64(), True),
        (NAIVE, True),
        (AWARE, True),
        (pa.time32("s"), True),
        (pa.duration("s"), True),
        (pa.dictionary(pa.int8(), pa.int64()), True),
        (pa.string(), False),
        (pa.binary(4), False),
        (pa.decimal32(3, 1), False),
        (pa.decimal256(50, 1), False),
        (pa.null(), False),
    ],
    ids=str,
)
def test_only_one_column_of_at_most_eight_bytes_makes_codes_exact(type_: pa.DataType, exact: bool) -> None:
    assert plan_of_types(type_, type_).exact is exact
    schema = pa.schema([("a", type_), ("b", pa.int64())])
    assert not plan_keys(schema, schema, ["a", "b"], ["a", "b"]).exact


DAY = datetime.datetime(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 1)


@pytest.mark.parametrize(
    ("left_type", "right_type", "value", "other"),
    [
        (pa.int8(), pa.uint64(), 7, 8),
        (pa.uint16(), pa.int64(), 7, -7),
        (pa.float32(), pa.int32(), 3, 4),
        (pa.decimal64(10, 2), pa.int16(), 12, 13),
        (pa.decimal32(5, 1), pa.decimal256(50, 3), Decimal("1.5"), Decimal("1.6")),
        (pa.decimal128(5, -2), pa.int64(), 1200, 1300),
        (pa.decimal128(5, -2), pa.float64(), 1200, 1300),
        (pa.decimal128(5, -2), pa.decimal128(5, -2), 1200, 1300),
        (pa.decimal128(5, -2), pa.decimal128(4, -3), 12000, 13000),
        (pa.date32(), pa.date64(), DAY, DAY.replace(day=28)),
        (pa.date32(), pa.timestamp("ms"), DAY, DAY.replace(day=28)),
        (pa.timestamp("s"), pa.timestamp("ns"), MOMENT, MOMENT.replace(second=2)),
        (pa.time32("s"), pa.time64("us"), MOMENT.time(), MOMENT.replace(second=2).time()),
        (
            pa.duration("s"),
            pa.duration("ms"),
            datetime.timedelta(seconds=5),
            datetime.timedelta(seconds=6),
        ),
        (pa.string(), pa.large_string(), "een", "twee"),
        (pa.string_view(), pa.string(), "longer than twelve bytes", "longer than twelve byteS"),
        (pa.binary(3), pa.binary_view(), b"abc", b"abd"),
        (pa.bool_(), pa.bool_(), True, False),
    ],
    ids=str,
)
def test_equality_sees_values_through_types(
    left_type: pa.DataType, right_type: pa.DataType, value: Any, other: Any
) -> None:
    right = pa.array([value, other, value, None], right_type)
    assert equal(pa.array([value, value, None, None], left_type), right) == [True, False, False, False]


def test_instants_are_equal_whatever_their_zone() -> None:
    noon_utc = pa.array([43_200], pa.timestamp("s", tz="UTC"))
    assert equal(noon_utc, pa.array([43_200_000], pa.timestamp("ms", tz="America/Lima"))) == [True]


def test_nan_equals_nan_and_minus_zero_equals_zero() -> None:
    left = pa.array([np.nan, -0.0, np.nan, 0.0, np.inf], pa.float64())
    right = pa.array([np.nan, 0.0, 1.0, np.nan, -np.inf], pa.float32())
    assert equal(left, right) == [True, True, False, False, False]


def test_an_integer_equals_the_float_nearest_to_it() -> None:
    assert equal(pa.array([2**53 + 1, 2**53 + 1]), pa.array([2.0**53, 2.0**53 + 2])) == [True, False]


def test_null_type_equals_nothing() -> None:
    assert equal(pa.nulls(2), pa.nulls(2)) == [False, False]
    assert equal(pa.nulls(1), pa.array([1])) == [False]
    assert equal(pa.array(["x"]), pa.nulls(1)) == [False]


def test_several_columns_are_equal_only_when_all_are() -> None:
    left = pa.record_batch({"i": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]})
    right = pa.record_batch({"i": [1, 1, 2, 3], "s": ["x", "x", "y", "y"]})
    plan = plan_keys(left.schema, right.schema, ["i", "s"], ["i", "s"])
    assert keys_equal(left, right, plan).tolist() == [True, False, False, False]


def test_no_rows_are_equal_in_no_rows() -> None:
    assert equal(pa.array([], pa.string()), pa.array([], pa.string())) == []


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12)))
def test_a_decimal_equals_the_float_nearest_to_it(values: list[Decimal]) -> None:
    decimals = pa.array(values, pa.decimal128(38, 6))
    assert all(equal(decimals, pa.array([float(value) for value in values], pa.float64())))


@pytest.mark.parametrize(
    ("coarse", "fine", "representable"),
    [
        (pa.array([10**12, 1], pa.timestamp("s")), pa.array([10**12, 10**9], pa.timestamp("ns")), [False, True]),
        (pa.array([-(10**12), 1], pa.duration("s")), pa.array([0, 10**9], pa.duration("ns")), [False, True]),
        (
            pa.array([datetime.date(1, 1, 1), datetime.date(1970, 1, 1)]),
            pa.array([0, 0], pa.timestamp("ns")),
            [False, True],
        ),
    ],
    ids=["timestamp", "duration", "date"],
)
def test_a_moment_beyond_the_finer_type_equals_nothing_and_does_not_raise(
    coarse: pa.Array, fine: pa.Array, representable: list[bool]
) -> None:
    assert equal(coarse, fine) == representable
    assert equal(fine, coarse) == representable


def test_a_date64_within_a_day_equals_no_date32() -> None:
    milliseconds = pa.array([86_400_000, 86_400_005], pa.int64()).view(pa.date64())
    days = pa.array([datetime.date(1970, 1, 2)] * 2, pa.date32())
    assert equal(milliseconds, days) == [True, False]
    assert equal(milliseconds, milliseconds) == [True, True]


def test_a_value_that_breaks_its_own_type_is_refused_with_the_name_of_its_column() -> None:
    beyond_its_precision = pa.array([10**30], pa.decimal128(38, 0)).view(pa.decimal128(5, 0))
    with pytest.raises(InvalidJoin, match=r"key column 'a' holds a value that cannot be read as decimal128\(7, 2\)"):
        equal(beyond_its_precision, pa.array([Decimal("1.25")], pa.decimal128(5, 2)))
