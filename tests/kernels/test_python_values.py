"""Values of Python as columns: what `pa.array` and `pa.scalar` make of them, or raise, whatever the values are."""

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.kernels.python_values import column_of, constant

INTEGERS: Final = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS: Final = ["s", "ms", "us", "ns"]
EAST: Final = dt.timezone(dt.timedelta(hours=2))
TYPES: Final = [
    pa.bool_(),
    *INTEGERS,
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.decimal32(5, 2),
    pa.decimal64(18, -1),
    pa.decimal128(1),
    pa.decimal128(12, 2),
    pa.decimal128(38, 38),
    pa.decimal256(76, 4),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in UNITS),
    *(pa.timestamp(unit, "Europe/Paris") for unit in UNITS),
    *(pa.duration(unit) for unit in UNITS),
    pa.null(),
    pa.list_(pa.int64()),
    pa.month_day_nano_interval(),
    pa.dictionary(pa.int32(), pa.string()),
]
_POWERS: Final = (7, 8, 15, 16, 24, 31, 32, 53, 63, 64)
_BOUNDS: Final = [sign * 2**power + step for power in _POWERS for sign in (1, -1) for step in (-1, 0, 1)]
_WRITTEN: Final = ["0", "-0.00", "1E+3", "1E-38", "9" * 38, "99.990", "0E+50", "1E+999", "-NaN", "sNaN", "Infinity"]
_MOMENTS: Final = st.datetimes() | st.sampled_from([dt.datetime.min, dt.datetime.max])
_DURATIONS: Final = st.timedeltas() | st.sampled_from([dt.timedelta.min, dt.timedelta.max])
VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "booleans": st.booleans(),
    "few integers": st.integers(-100, 100),
    "integers": st.integers() | st.sampled_from(_BOUNDS),
    "floats": st.floats() | st.floats(width=32),
    "floats and integers": st.floats() | st.integers(-(2**54), 2**54) | st.sampled_from(_BOUNDS),
    "decimals": st.decimals(-1000, 1000, places=2) | st.decimals(),
    "decimals as written": st.sampled_from(_WRITTEN).map(Decimal),
    "decimals and integers": st.decimals(-10, 10, places=1) | st.integers(-10, 10),
    "texts": st.text(),
    "no texts": st.text() | st.just("\ud800"),
    "bytes": st.binary(),
    "dates": st.dates(),
    "times": st.times(),
    "times of seconds": st.times().map(lambda one: one.replace(microsecond=0)),
    "times elsewhere": st.times(timezones=st.just(EAST)),
    "moments": _MOMENTS,
    "moments of seconds": _MOMENTS.map(lambda one: one.replace(microsecond=0)),
    "moments elsewhere": st.datetimes(timezones=st.sampled_from([dt.UTC, EAST])),
    "moments here and there": st.datetimes(timezones=st.sampled_from([None, EAST])),
    "durations": _DURATIONS,
    "durations of seconds": _DURATIONS.map(lambda one: dt.timedelta(one.days, one.seconds)),
    "anything": st.integers(-3, 3) | st.text(max_size=2) | st.dates() | st.datetimes() | st.booleans(),
    "others": st.lists(st.integers(-3, 3)) | st.integers(-3, 3).map(np.int64),
}


def problem_of(column: Any) -> str | None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    return None


def outcome(of: Callable[[], Any]) -> Any:
    """A column or a constant as it is, but for what is under its nulls, or what was raised instead."""
    try:
        found = of()
    except Exception as error:  # whatever it is
        return type(error), str(error)
    found = pa.repeat(found, 1) if isinstance(found, pa.Scalar) else found
    type_ = found.type
    problem = problem_of(found)  # Arrow makes times of a day out of any integer
    if pa.types.is_floating(type_):  # NaN is what it is, and zeros are two
        found = found.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[type_.bit_width])
    return type_, found.null_count, found, problem


@pytest.mark.parametrize("kind", VALUES)
def test_columns_and_constants_are_those_that_arrow_makes(kind: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(st.lists(VALUES[kind] | st.none(), min_size=1, max_size=12))
    def check(values: list[Any]) -> None:
        for type_ in (None, *TYPES):
            expected = outcome(lambda type_=type_: pa.array(values, type_))
            assert outcome(lambda type_=type_: column_of(values, type_)) == expected
            expected = outcome(lambda type_=type_: pa.scalar(values[0], type_))
            assert outcome(lambda type_=type_: constant(values[0], type_)) == expected

    check()


@pytest.mark.parametrize("values", [range(3), (1, None), np.arange(3), [], [None, None]])
@pytest.mark.parametrize("type_", [None, pa.int32(), pa.float64(), pa.string()])
def test_any_sequence_is_a_column(values: Any, type_: pa.DataType | None) -> None:
    assert outcome(lambda: column_of(values, type_)) == outcome(lambda: pa.array(values, type_))


def test_plain_values_are_written_without_pandas() -> None:
    program = """
import datetime as dt
import sys
from decimal import Decimal
import pyarrow as pa
from sooner.kernels.python_values import column_of, constant

day = dt.datetime(1995, 3, 15, 12)
for value in (1, 1.5, True, "a", b"a", day, day.date(), day.time(), dt.timedelta(1)):
    assert column_of([value, None]).to_pylist() == [value, None]
    assert constant(value, None).as_py() == value
for type_ in (pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(12, 2), pa.string(), pa.timestamp("us", "UTC")):
    assert column_of([None, None], type_).null_count == 2
    assert column_of([], type_).type == type_
assert constant(Decimal("1.5"), pa.decimal128(12, 2)).as_py() == Decimal("1.5")
assert "pandas" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
