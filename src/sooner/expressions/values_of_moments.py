"""What steps do with dates and times, by name."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sooner.expressions.constants import ONE, ZERO, real, whole
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.python_values import column_of, constant

Value = Any  # pa.Array or pa.Scalar
_MICROSECONDS: Final = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86_400 * 10**6}


def _months_later(value: Value, months: int) -> Value:
    """The same day of another month, or its last one, at the same time."""
    if isinstance(value, pa.Scalar):
        return _months_later(column_of([value.as_py()], value.type), months)[0]
    times = to_numpy(value.cast(pa.int64()).fill_null(ZERO)).astype("datetime64[us]")
    days = times.astype("datetime64[D]")
    month = days.astype("datetime64[M]")
    to = month + months
    lengths = (to + 1).astype("datetime64[D]") - to.astype("datetime64[D]")
    day = np.minimum(days - month.astype("datetime64[D]"), lengths - 1)
    found = (to.astype("datetime64[D]") + day).astype("datetime64[us]") + (times - days)
    return pc.if_else(value.is_valid(), to_arrow(found.astype(np.int64)).cast(value.type), constant(None, value.type))


def _number_of(value: Value, unit: str) -> Value:
    """Of the unit that a time is in, counted through all years."""
    if unit in ("year", "quarter", "month"):
        a_year = whole({"year": 1, "quarter": 4, "month": 12}[unit])
        part = {"year": lambda _: ONE, "quarter": pc.quarter, "month": pc.month}[unit](value)
        return pc.add(pc.multiply(pc.year(value), a_year), part)
    start = pc.floor_temporal(value, unit=unit)
    return pc.divide(pc.cast(start, pa.int64()), whole(_MICROSECONDS[unit]))


def _formatted(value: Value, format_: str) -> Value:
    """Arrow would write parts of a second, too."""
    seconds = pc.cast(pc.floor_temporal(value, unit="second"), pa.timestamp("s"))
    return pc.strftime(seconds, format=format_, locale="C")


def _weekday(**options: Any) -> Callable[[Value], Value]:
    return lambda value: pc.day_of_week(value, **options)


MOMENT_KERNELS: Final[dict[str, Callable[..., Value]]] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "dow": _weekday(week_start=7),
    "isodow": _weekday(count_from_zero=False),
    "doy": pc.day_of_year,
    "isoyear": pc.iso_year,
    "epoch": lambda value: pc.divide(pc.cast(pc.cast(value, pa.int64()), pa.float64()), real(1e6)),
    "date_trunc": lambda value, unit: pc.floor_temporal(value, unit=unit, week_starts_monday=True),
    "date_diff": lambda left, right, unit: pc.subtract(_number_of(right, unit), _number_of(left, unit)),
    "strftime": _formatted,
    "months later": _months_later,
}
