"""Bins of values that may be apart: where rows of a range join meet, although equal values do not bring them together.

A bin is a power of two wide, and at least four times as wide as the range. So all that a row can match lies in one
bin, or in two that are neighbours. Rows of one side go to the partition of their own bin, those of the other are
*copied*: they go to the partition of each bin that has something for them. Every pair meets once, where the former is.

Doubles are rounded when they are added, so they reach a little further here than they do. Far from zero, where a bin
would be finer than that, bins are floats: as fine as these are. Decimals are placed as doubles.

The formulas are for Spark's columns and NumPy's arrays alike, to the bit: a row has one place, whoever computes it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.ranges import RangePlan
from sooner.kernels.value_codes import as_integers
from sooner.sides import LEFT, SIDES

_RANGES_IN_A_BIN: Final = 4  # or up to twice as many: so at most a quarter of the rows is copied
_LEAST, _MOST = -(2**63), 2**63 - 1
_WIDEST: Final = 2**61  # of ranges of integers: four of them are as far as integers go
_ROUNDING: Final = 2.0**-50  # of a double: far more than adding and subtracting it can make wrong
_STRAIGHT_BINS: Final = 2.0**40  # on either side of zero; beyond they are floats
_LEAST_BIN, _MOST_BIN = 2.0**-1000, 2.0**1000
_MOST_DIGITS: Final = 40  # of a decimal, and some more
_EPOCH: Final = "timestamp_ntz'1970-01-01 00:00:00'"


class _Arithmetic(NamedTuple):
    """Arithmetic on columns or on arrays, with a number."""

    least: Callable[[Any, Any], Any]
    greatest: Callable[[Any, Any], Any]
    shifted: Callable[[Any, int], Any]
    size: Callable[[Any], Any]
    rounded: Callable[[Any], Any]
    as_float: Callable[[Any], Any]
    choose: Callable[[Any, Any, Any], Any]


_SPARK: Final = _Arithmetic(
    least=lambda column, number: F.least(column, F.lit(number)),
    greatest=lambda column, number: F.greatest(column, F.lit(number)),
    shifted=F.shiftright,
    size=F.abs,
    rounded=F.rint,
    as_float=lambda column: column.cast("float").cast("double"),
    choose=lambda condition, some, others: F.when(condition, some).otherwise(others),
)
_NUMPY: Final = _Arithmetic(
    least=np.minimum,
    greatest=np.maximum,
    shifted=np.right_shift,
    size=np.abs,
    rounded=np.rint,
    as_float=lambda values: values.astype(np.float32).astype(np.float64),
    choose=np.where,
)
_MEASURES: Final[Sequence[tuple[Callable[[pa.DataType], bool], Callable[[Column], Column]]]] = (
    (pa.types.is_int64, lambda column: column),
    (pa.types.is_float64, lambda column: column),
    (pa.types.is_date32, lambda column: F.unix_date(column).cast("bigint")),
    (lambda type_: pa.types.is_timestamp(type_) and type_.tz is not None, F.unix_micros),
    (pa.types.is_timestamp, lambda column: _microseconds(column - F.expr(_EPOCH))),
    (pa.types.is_duration, lambda column: _microseconds(column)),
)


def _microseconds(interval: Column) -> Column:
    seconds = interval.cast("interval day to second").cast("decimal(20,6)")
    return (seconds * F.lit(10**6)).cast("bigint")


@dataclass(frozen=True)
class Grid:
    """The bins over the values of a column, in this type: all of a width, in the units that they are stored in.

    Without a width there is one bin. `reach` is how far a row goes, if it is copied.
    """

    column: str
    type: pa.DataType
    width: float | None = None
    reach: tuple[float, float] | None = None

    def of_column(self, column: Column) -> Sequence[Column]:
        """The bin of each value, or of a side that is copied the first and the last; none if there is only one."""
        measured = next((measure for belongs, measure in _MEASURES if belongs(self.type)), None)
        return () if measured is None else self._bins(measured(column), _SPARK)

    def of_values(self, values: pa.Array) -> Sequence[pa.Array]:
        """The same; where a value is null or NaN there may be any."""
        numbers = to_numpy(values) if pa.types.is_floating(self.type) else as_integers(values)
        with np.errstate(all="ignore"):
            return [to_arrow(bins) for bins in self._bins(numbers, _NUMPY)]

    def _bins(self, values: Any, by: _Arithmetic) -> Sequence[Any]:
        if self.width is None:
            return ()
        bin_of, ends_of = (_of_doubles, _double_ends) if pa.types.is_floating(self.type) else (_of_integers, _ends)
        ends = [values] if self.reach is None else ends_of(values, self.reach, by)
        return [bin_of(end, self.width, by) for end in ends]


def _of_integers(values: Any, width: float, by: _Arithmetic) -> Any:
    return by.shifted(values, int(width).bit_length() - 1)


def _ends(values: Any, reach: tuple[float, float], by: _Arithmetic) -> Sequence[Any]:
    """Both ends of what values reach, but no further than integers go."""
    return [
        by.greatest(values, _LEAST - int(far)) + int(far) if far < 0 else by.least(values, _MOST - int(far)) + int(far)
        for far in reach
    ]


def _of_doubles(values: Any, width: float, by: _Arithmetic) -> Any:
    straight = by.size(values) < width * _STRAIGHT_BINS
    return by.choose(straight, by.rounded(values / width), by.as_float(values)) + 0.0  # -0.0 is the same


def _double_ends(values: Any, reach: tuple[float, float], by: _Arithmetic) -> Sequence[Any]:
    low, high = reach
    rounding = (by.size(values) + max(map(abs, reach))) * _ROUNDING  # infinite where values are: one end still is right
    return [values + low - rounding, values + high + rounding]


def grids_of(near: RangePlan, type_: pa.DataType, copied: int | None) -> tuple[Grid, Grid]:
    """The grids of both sides, whose values are placed in this type; rows of one of them may be copied."""
    columns = (near.left, near.right)
    if copied is None or near.low is None or near.high is None or not any(belongs(type_) for belongs, _ in _MEASURES):
        width, reaches = None, {}
    else:
        low, high, width = _measured(near.low, near.high, near.type)
        reaches = {copied: (low, high) if copied == LEFT else (-high, -low)}
    left, right = (Grid(columns[side], type_, width, reaches.get(side) if width else None) for side in SIDES)
    return left, right


def _measured(low: float, high: float, type_: pa.DataType) -> tuple[float, float, float | None]:
    """A range of values of this type as they are placed, and how wide its bins are, if there is more than one."""
    if pa.types.is_decimal(type_):
        unit = 10**type_.scale
        if max(abs(low), abs(high)) > 10**_MOST_DIGITS:
            return low, high, None
        return low / unit, high / unit, _width_for_doubles(low / unit, high / unit, 1 / unit)
    is_double = pa.types.is_floating(type_)
    return low, high, _width_for_doubles(low, high) if is_double else _width_for_integers(int(low), int(high))


def _width_for_integers(low: int, high: int) -> int | None:
    if high - low > _WIDEST or max(abs(low), abs(high)) > _MOST:
        return None
    return 1 << (max(_RANGES_IN_A_BIN * (high - low), 1) - 1).bit_length()


def _width_for_doubles(low: float, high: float, unit: float = 0.0) -> float | None:
    span = max(high - low + 4 * max(abs(low), abs(high)) * _ROUNDING, unit)
    wanted = max(_RANGES_IN_A_BIN * span, _LEAST_BIN)
    return 2.0 ** math.frexp(wanted)[1] if wanted < _MOST_BIN else None
