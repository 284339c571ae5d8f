"""One column for the keys of both sides: it has every value of either, or the join says that it cannot."""

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import sooner
from sooner.errors import InvalidJoin
from sooner.how import KINDS

LEAST, MOST = -(2**63) + 1, 2**63 - 1
LAST_DAY = 2_932_896  # of the calendar: the end of the year 9999
TIMES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DIGITS = Context(100)


def longest(type_: pa.DataType) -> pa.Array:
    numbers = (1 - 10**type_.precision, 0, 1, 10**type_.precision - 1)
    return pa.array([Decimal(number).scaleb(-type_.scale, DIGITS) for number in numbers], type_)


def moments(unit: str, zone: str | None = None) -> pa.Array:
    usual = [-TIMES[unit], 0, *([] if unit == "ns" else [LAST_DAY * 86_400 * TIMES[unit]])]
    return pa.array([LEAST, *usual, MOST], pa.int64()).cast(pa.timestamp(unit, zone))


EXTREMES: dict[str, pa.Array] = {
    **{f"int{bits}": pa.array([-(2 ** (bits - 1)), 0, 1, 2 ** (bits - 1) - 1], f"int{bits}") for bits in (8, 32, 64)},
    **{f"uint{bits}": pa.array([0, 1, 2**bits - 1], f"uint{bits}") for bits in (8, 64)},
    "float": pa.array([0.1, 1.0, 1e38], pa.float32()),
    "double": pa.array([0.1, 1.0, 2.0**53, -1e308, float("inf")]),
    **{str(type_): longest(type_) for type_ in (pa.decimal64(18, 2), pa.decimal128(38, 0), pa.decimal128(38, 38))},
    **{str(type_): longest(type_) for type_ in (pa.decimal256(76, 0), pa.decimal256(76, 38), pa.decimal128(10, -2))},
    **{f"moments in {unit}": moments(unit) for unit in TIMES},
    "instants in us": moments("us", "UTC"),
    "instants in New York": moments("us", "America/New_York"),
    "instants in ns": moments("ns", "UTC"),
    **{f"durations in {unit}": pa.array([LEAST, 0, MOST], pa.duration(unit)) for unit in TIMES},
    "dates": pa.array([-(2**31), 0, LAST_DAY, 2**31 - 1], pa.int32()).cast(pa.date32()),
    "dates in ms": pa.array([-(2**31) * 86_400_000, 0, LAST_DAY * 86_400_000], pa.int64()).cast(pa.date64()),
    "times of day": pa.array([0, 86_399], pa.time32("s")),
    "times in ns": pa.array([0, 86_399_999_999_999], pa.time64("ns")),
    "texts": pa.array(["", "a", "é"]),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "views": pa.array(["a", "é"], pa.string_view()),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 3], ["a", "z"]),
    "bytes": pa.array([b"", b"\xff" * 16]),
    "16 bytes": pa.array([b"\xff" * 16], pa.binary(16)),
    "nulls": pa.nulls(2),
}


def numbers_of(array: pa.Array) -> list[Any]:
    """Values that compare as they are, whatever the type: moments as fractions of seconds, decimals exactly."""
    type_ = array.type
    if pa.types.is_temporal(type_):
        raw = array.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()
        in_a_second = TIMES["ms"] if pa.types.is_date64(type_) else TIMES.get(getattr(type_, "unit", ""), 1)
        unit = Fraction(86_400 if pa.types.is_date32(type_) else 1, in_a_second)
        return [None if value is None else value * unit for value in raw]
    return array.to_pylist()


def rows(array: pa.Array, number: str) -> pa.Table:
    return pa.table({"k": array, number: range(len(array))})


def both(found: pa.Table, number: str, values: list[Any]) -> bool:
    """Whether each row of a side is there, with the value that it had (doubles as they are written)."""
    keys = numbers_of(found["k"].combine_chunks())
    there = {at: key for at, key in zip(found[number].to_pylist(), keys, strict=True) if at is not None}
    written = {at: Decimal(repr(key)) if isinstance(key, float) else key for at, key in there.items()}
    return len(there) == len(values) and all(
        values[at] == there[at] or values[at] == written[at] for at in range(len(values))
    )


@pytest.mark.parametrize("left", EXTREMES)
def test_a_full_join_has_every_key_of_both_sides_or_says_why_not(left: str) -> None:
    names = [*EXTREMES]
    for right in names[names.index(left) :]:
        arrays = EXTREMES[left], EXTREMES[right]
        try:
            found = sooner.join(rows(arrays[0], "a"), rows(arrays[1], "b"), on="k", how="full", workers=1).to_table()
        except InvalidJoin as refusal:
            assert "cast" in str(refusal), (left, right)
        else:
            assert both(found, "a", numbers_of(arrays[0])) and both(found, "b", numbers_of(arrays[1])), (left, right)


NO_COMMON_TYPE = [
    ("moments in us", "moments in ns"), ("dates", "moments in ns"), ("dates in ms", "moments in ns"),
    ("instants in New York", "instants in ns"), ("durations in s", "durations in ms"),
    ("durations in us", "durations in ns"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [pair for two in NO_COMMON_TYPE for pair in (two, two[::-1])])
def test_where_no_type_has_all_values_a_full_join_is_refused_before_anything_is_read(one: str, other: str) -> None:
    tables = rows(EXTREMES[one], "a"), rows(EXTREMES[other], "b")
    with pytest.raises(InvalidJoin, match="no type has all values of both, but a full join gives the keys"):
        sooner.join(*tables, on="k", how="full")
    renamed = tables[1].rename_columns(["j", "b"])
    found = sooner.join(tables[0], renamed, left_on="k", right_on="j", how="full").to_table()
    assert {*found["a"].to_pylist()} >= {*range(len(tables[0]))} and {*found["b"].to_pylist()} >= {*range(len(renamed))}
    for how in KINDS:
        if how != "full":
            sooner.join(*tables, on="k", how=how, workers=1).to_table()


@pytest.mark.parametrize(
    ("value", "type_", "other", "sentence"),
    [
        (2**53 + 1, pa.int64(), pa.float64(), "column 'k' holds 9007199254740993, of which there is no double"),
        (
            Decimal("0.1234567890123456789"),
            pa.decimal128(38, 19),
            pa.float64(),
            "holds 0.1234567890123456789, of which",
        ),
        (2**62, pa.timestamp("s"), pa.timestamp("ms"), "of which there is no timestamp[ms]"),
        (2**31 - 1, pa.date32(), pa.timestamp("us"), "of which there is no timestamp[us]"),
    ],
)
def test_a_value_that_the_type_of_both_has_not_is_told_when_it_comes(
    value: Any, type_: pa.DataType, other: pa.DataType, sentence: str
) -> None:
    array = pa.array([value], type_) if not pa.types.is_date(type_) else pa.array([value], pa.int32()).cast(type_)
    with pytest.raises(InvalidJoin) as refusal:
        sooner.join(rows(array, "a"), rows(pa.array([0], other), "b"), on="k", how="full").to_table()
    assert sentence in str(refusal.value)


def test_large_integers_that_are_doubles_stay_what_they_are() -> None:
    left, right = rows(pa.array([2**60, 2**53, None]), "a"), rows(pa.array([0.5]), "b")
    found = sooner.join(left, right, on="k", how="full").to_table()["k"].to_pylist()
    assert sorted(value for value in found if value is not None) == [0.5, 2.0**53, 2.0**60]
