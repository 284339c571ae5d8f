"""Which rows match because their values are near each other: low <= right - left <= high.

The difference is that of the values' own type. For integers, decimals and moments it is exact, however far apart they
are; doubles are subtracted as doubles, as SQL does. Null and NaN are near nothing. Infinity is a number: near itself.

Not covered: decimals of more than 38 digits, and texts, of which none says how far apart they are.
"""

import contextlib
import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.arrays import to_numpy
from sooner.kernels.columns import Named
from sooner.kernels.gathering import gather
from sooner.kernels.keys import (
    MOMENTS,
    NUMBERS,
    cast_without_loss,
    decoded,
    family,
    keys_in_common_type,
    meeting_type,
    require_usable_columns,
    type_of_values,
)
from sooner.kernels.native import address, buffer_address, loop, prototypes
from sooner.kernels.native.prototypes import Address
from sooner.kernels.value_codes import as_integers

Width: TypeAlias = float | Decimal | dt.timedelta | np.timedelta64
Within: TypeAlias = Width | tuple[Width | None, Width | None]
Limit: TypeAlias = int | float | None

LAYOUTS: Final = ("integers", "naturals", "decimals", "doubles")
_near_enough: Final = {layout: loop(prototypes.near_enough, layout) for layout in LAYOUTS}
_UNITS_IN_A_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_IN_A_DAY: Final = 86_400
_SECONDS_OF_NUMPY: Final = {
    **{unit: Fraction(seconds) for unit, seconds in (("W", 604_800), ("D", 86_400), ("h", 3_600), ("m", 60), ("s", 1))},
    **{unit: Fraction(1, 10**digits) for unit, digits in (("ms", 3), ("us", 6), ("ns", 9), ("ps", 12), ("fs", 15))},
    "as": Fraction(1, 10**18),
}
_DIGITS_OF_A_WORD: Final = 18
_FURTHEST: Final = 2**128 - 1  # no two values are so far apart that are not doubles


_IN_ONE_TYPE: Final = "within= compares both sides in one type; cast the other column to that of this one."


class Near(NamedTuple):
    """A range join as asked for: a column of each side, and how far apart their values may be."""

    left: str
    right: str
    within: Within


@dataclass(frozen=True)
class RangePlan:
    """Which columns are compared, in which type, and how far apart values may be: None is no limit.

    Limits are in the units that values are stored in: microseconds, days, hundredths of a decimal with two digits.
    """

    left: str
    right: str
    type: pa.DataType
    low: Limit
    high: Limit

    @property
    def is_open(self) -> bool:
        return self.low is None or self.high is None

    @property
    def layout(self) -> str:
        """How values are stored: one of LAYOUTS."""
        if pa.types.is_floating(self.type):
            return "doubles"
        if pa.types.is_decimal(self.type):
            return "decimals"
        return "naturals" if self.type == pa.uint64() else "integers"


def plan_range(left: pa.Schema, right: pa.Schema, left_on: str, right_on: str, within: Within) -> RangePlan:
    """How far values of both columns may be apart, or in one sentence why that cannot be."""
    columns = (("left", left, left_on), ("right", right, right_on))
    for side, schema, name in columns:
        require_usable_columns(side, schema, [name])
        type_ = schema.field(name).type
        if family(type_of_values(type_)) not in NUMBERS | MOMENTS:
            raise InvalidJoin(
                f"column {name!r} on the {side} is {type_}, of which no two are a number apart; within= needs numbers, "
                f"dates or times (for equality, leave within= out)."
            )
    type_ = meeting_type(left.field(left_on), right.field(right_on))
    if pa.types.is_decimal256(type_):
        raise InvalidJoin(
            f"{left_on!r} and {right_on!r} are compared as {type_}; within= takes 38 digits at most; cast one."
        )
    low, high = _limits_of(within, left_on, type_)
    if not pa.types.is_floating(type_):
        low, high = (None if limit is None else max(-_FURTHEST, min(limit, _FURTHEST)) for limit in (low, high))
    return RangePlan(left_on, right_on, type_, low, high)


def _limits_of(within: Within, column: str, type_: pa.DataType) -> tuple[Limit, Limit]:
    if not isinstance(within, tuple | list):
        width = in_units("within", within, column, type_)
        if width < 0:
            raise InvalidJoin(f"within={within!r} is no distance; give 0 or more, or two numbers (low, high).")
        return -width, width
    if len(within) != 2:
        raise InvalidJoin(f"within={within!r} must be one number, or two: (low, high).")
    low, high = (None if width is None else in_units("within", width, column, type_) for width in within)
    if low is None and high is None:
        raise InvalidJoin("within=(None, None) limits nothing; give one of the two.")
    if low is not None and high is not None and low > high:
        raise InvalidJoin(f"within={within!r} has its low end above its high end; swap them.")
    return low, high


def in_units(argument: str, value: object, column: str, type_: pa.DataType) -> int | float:
    """A distance between values of this type, in the units that they are stored in."""
    if family(type_) in MOMENTS:
        return _in_units_of_time(argument, value, column, type_)
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise InvalidJoin(f"{argument}={value!r} must be a number, since {column!r} is {type_}.")
    if not (isinstance(value, Rational) or (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value))):
        raise InvalidJoin(f"{argument}={value!r} is no finite number; None stands for no limit in (low, high).")
    if pa.types.is_floating(type_):
        return _as_double(argument, value, column, type_)
    # A float stands for the decimal that it is written as: 0.05 is a twentieth.
    exact = Fraction(value) if isinstance(value, Rational | Decimal) else Fraction(repr(float(value)))
    scaled = exact * 10 ** (type_.scale if pa.types.is_decimal(type_) else 0)
    if scaled.denominator != 1:
        raise InvalidJoin(
            f"{argument}={value!r} is finer than {column!r}, which is {type_}; round it, or cast the column."
        )
    return scaled.numerator


def _as_double(argument: str, value: Any, column: str, type_: pa.DataType) -> float:
    with contextlib.suppress(OverflowError):
        if math.isfinite(double := float(value)):
            return double
    raise InvalidJoin(
        f"{argument} is beyond all doubles, but {column!r} is {type_}; None stands for no limit in (low, high)."
    )


def units_of_lateness(lateness: Width, plan: RangePlan) -> int | float:
    """How far behind the newest value a row may come, in the units of the plan."""
    if pa.types.is_decimal(plan.type) and plan.type.precision > _DIGITS_OF_A_WORD:
        raise InvalidJoin(
            f"lateness={lateness!r} is for values of up to {_DIGITS_OF_A_WORD} digits, but {plan.left!r} is compared "
            f"as {plan.type}; cast it."
        )
    units = in_units("lateness", lateness, plan.left, plan.type)
    if units < 0:
        raise InvalidJoin(f"lateness={lateness!r} is no distance; give 0 or more.")
    return units


def _in_units_of_time(argument: str, value: object, column: str, type_: pa.DataType) -> int:
    if isinstance(value, np.timedelta64) and not np.isnat(value) and np.datetime_data(value)[0] in _SECONDS_OF_NUMPY:
        unit, count = np.datetime_data(value)
        seconds = int(value.astype(np.int64)) * count * _SECONDS_OF_NUMPY[unit]
    elif isinstance(value, dt.timedelta):
        nanoseconds = value // dt.timedelta(microseconds=1) * 1_000 + int(getattr(value, "nanoseconds", 0))
        seconds = Fraction(nanoseconds, _UNITS_IN_A_SECOND["ns"])
    else:
        raise InvalidJoin(f"{argument}={value!r} must be a datetime.timedelta, since {column!r} is {type_}.")
    units = seconds / _seconds_in_a_unit(type_)
    if units.denominator != 1:
        raise InvalidJoin(
            f"{argument}={value!r} is finer than {column!r}, which is {type_}; round it, or cast the column."
        )
    return units.numerator * (_SECONDS_IN_A_DAY * 1_000 if pa.types.is_date64(type_) else 1)


def _seconds_in_a_unit(type_: pa.DataType) -> Fraction:
    return Fraction(_SECONDS_IN_A_DAY) if pa.types.is_date(type_) else Fraction(1, _UNITS_IN_A_SECOND[type_.unit])


def only_near(
    left: Named, right: Named, plan: RangePlan, at_left: Positions, at_right: Positions
) -> tuple[Positions, Positions]:
    """Those of these pairs of rows whose values are near enough."""
    lefts, left_places = _numbers_at(left, plan.left, plan, at_left)
    rights, right_places = _numbers_at(right, plan.right, plan, at_right)
    near: Flags = np.empty(len(at_left), np.bool_)
    limits = _limits(plan)
    where = (lefts.where, address(left_places), rights.where, address(right_places))
    _near_enough[plan.layout](len(near), *where, len(near), address(limits), address(near))
    return (at_left, at_right) if near.all() else (at_left[near], at_right[near])


@dataclass(frozen=True)
class Numbers:
    """Where values lie, one after the other as the layout has them; `held` keeps them there."""

    where: Address
    held: object


def numbers_of(values: pa.Array) -> Numbers:
    """The numbers of an array in the type of a plan."""
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type) or values.type == pa.uint64():
        width = values.type.bit_width // 8
        return Numbers(buffer_address(values.buffers()[1], values.offset * width), values)
    integers = as_integers(values)
    return Numbers(address(integers), integers)


def _numbers_at(rows: Named, column: str, plan: RangePlan, positions: Positions) -> tuple[Numbers, Positions]:
    """The values of a column, and where those at these positions are in them: only they are cast, where that is due."""
    values = decoded(rows.column(column))
    if values.type == plan.type and values.type.bit_width >= 64:
        return numbers_of(values), positions
    picked = gather(pa.RecordBatch.from_arrays([values], [column]), positions)
    return numbers_of(values_to_compare(picked, column, plan.type)), np.arange(len(positions))


def values_to_compare(batch: pa.RecordBatch, column: str, type_: pa.DataType) -> pa.Array:
    """The values of a column in the type of a plan. Moments that it has not are near others all the same."""
    if family(type_) in MOMENTS:
        return cast_without_loss(column, batch.column(column), type_, _IN_ONE_TYPE)
    [values] = keys_in_common_type(batch, [column], [type_])
    return values


def values_in(batch: pa.RecordBatch, column: str, plan: RangePlan) -> tuple[npt.NDArray[Any], pa.Array]:
    """The values of a column as numbers, in the units of the plan, and as they were compared; of 64 bits at most."""
    values = values_to_compare(batch, column, plan.type)
    if pa.types.is_decimal(values.type):
        if not len(values):
            return np.empty(0, np.int64), values
        words = np.frombuffer(values.buffers()[1], np.int64, 2 * len(values), values.offset * 16)
        return words[::2], values  # of up to 18 digits, the lower half has all
    if pa.types.is_floating(values.type) or values.type == pa.uint64():
        return to_numpy(values), values
    return as_integers(values), values


def _limits(plan: RangePlan) -> npt.NDArray[Any]:
    """The limits for the loops: doubles, or 128 bits each, whether it is negative, and whether it is given."""
    if plan.layout == "doubles":
        low, high = (-math.inf if plan.low is None else plan.low), (math.inf if plan.high is None else plan.high)
        return np.array([low, high], np.float64)
    words = []
    for limit in (plan.low, plan.high):
        size = abs(int(limit or 0))
        words += [size % 2**64, size >> 64, int((limit or 0) < 0), int(limit is not None)]
    return np.array(words, np.uint64)
