"""What steps do with whole columns or constants, by name, so that a step pickles. Loaded when the first batch comes.

Nulls follow SQL: what has a null in it is null, but AND, OR, COALESCE and CASE know better. NaN follows DuckDB and
Spark: it equals itself and is larger than all else, as among keys. Integers never wrap: the checked kernels raise, and
the step that asked says so in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from sooner.expressions.constants import FALSE, ONE, UNKNOWN, ZERO, real, whole
from sooner.expressions.values_of_moments import MOMENT_KERNELS
from sooner.expressions.values_of_texts import TEXT_KERNELS
from sooner.kernels.python_values import column_of, constant

Value = Any  # pa.Array or pa.Scalar


def _without_zeros(divisor: Value) -> Value:
    """A value divided by zero is null."""
    zero = constant(0, divisor.type)
    return pc.if_else(pc.equal(divisor, zero), constant(None, divisor.type), divisor)


def _remainder(left: Value, right: Value) -> Value:
    """The remainder; by -1 it is taken by 1, since the least integer divided by -1 would not fit."""
    right = _without_zeros(right)
    right = pc.if_else(pc.equal(right, whole(-1)), ONE, right)
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def _rounded(value: Value, divisor: int) -> Value:
    """The value rounded to fewer decimals, halves away from zero as in SQL."""
    by = whole(divisor)
    found = pc.divide(value, by)
    rest = pc.subtract(value, pc.multiply(found, by))
    return pc.add(found, pc.divide(pc.multiply(rest, whole(2)), by))


def _from_float(value: Value, factor: int) -> Value:
    """DuckDB rounds halves to even on the way to integers, and away from zero on the way to decimals."""
    if factor == 1:
        return pc.cast(pc.round(value, 0, round_mode="half_to_even"), pa.int64())
    return pc.cast(pc.round(pc.multiply(value, real(factor)), 0, round_mode="half_towards_infinity"), pa.int64())


def _to_float(value: Value, divisor: int) -> Value:
    floats = pc.cast(value, pa.float64(), safe=False)
    return floats if divisor == 1 else pc.divide(floats, real(divisor))


def _equal(left: Value, right: Value) -> Value:
    """Whether floats are equal; NaN equals NaN here, but not in Arrow."""
    return pc.or_kleene(pc.equal(left, right), pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))


def _less(left: Value, right: Value) -> Value:
    """Whether floats are less; NaN is the largest here, but has no order in Arrow."""
    return pc.or_kleene(pc.less(left, right), pc.and_kleene(pc.invert(pc.is_nan(left)), pc.is_nan(right)))


def _greatest(*parts: Value) -> Value:
    """The greatest of floats, which is NaN if there is one; Arrow leaves it out, which is right for the least."""
    found = pc.max_element_wise(*parts)
    for part in parts:
        found = pc.if_else(pc.fill_null(pc.is_nan(part), FALSE), part, found)
    return found


def _in_floats(value: Value, options: tuple[float, ...], null_among_them: bool) -> Value:
    """Arrow tells -0.0 from 0.0 here."""
    return _in(pc.add(value, real(0)), tuple(option + 0.0 for option in options), null_among_them)


def _in(value: Value, options: tuple[Any, ...], null_among_them: bool) -> Value:
    found = pc.is_in(value, value_set=column_of(options, value.type))
    if null_among_them:
        return pc.if_else(found, found, UNKNOWN)
    if isinstance(value, pa.Scalar) or value.null_count:
        return pc.if_else(pc.is_valid(value), found, UNKNOWN)
    return found


def _float_rounded(value: Value, digits: int) -> Value:
    """Halves away from zero."""
    factor = real(10.0**digits)
    return pc.divide(pc.round(pc.multiply(value, factor), 0, round_mode="half_towards_infinity"), factor)


def _floor(value: Value, divisor: int) -> Value:
    """Of a negative number, the whole part is the one below."""
    by = whole(divisor)
    rest = pc.subtract(value, pc.multiply(pc.divide(value, by), by))
    beyond = pc.if_else(pc.less(rest, ZERO), by, ZERO)
    return pc.divide(pc.subtract(value, beyond), by)


def _shifted(value: Value, amount: Value) -> Value:
    """A date so many days later."""
    days = pc.add_checked(pc.cast(pc.cast(value, pa.int32()), pa.int64()), amount)
    return pc.cast(pc.cast(days, pa.int32()), pa.date32())


def _days(value: Value) -> Value:
    return pc.cast(pc.cast(value, pa.int32()), pa.int64())


def _all(*parts: Value) -> Value:
    found = parts[0]
    for part in parts[1:]:
        found = pc.and_kleene(found, part)
    return found


def _any(*parts: Value) -> Value:
    found = parts[0]
    for part in parts[1:]:
        found = pc.or_kleene(found, part)
    return found


def _later(value: Value, microseconds: int) -> Value:
    return pc.add_checked(value, pc.cast(constant(microseconds, pa.duration("us")), pa.duration(value.type.unit)))


def _text_cast(value: Value, type_: pa.DataType) -> Value:
    return pc.cast(pc.utf8_trim_whitespace(value), type_)


KERNELS: Final[dict[str, Callable[..., Value]]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "float +": pc.add,
    "float -": pc.subtract,
    "float *": pc.multiply,
    "/": lambda left, right: pc.divide(left, _without_zeros(right)),
    "/ not zero": pc.divide,
    "//": lambda left, right: pc.divide_checked(left, _without_zeros(right)),
    "%": _remainder,
    "negative": pc.negate_checked,
    "abs": pc.abs_checked,
    "rescale": lambda value, factor: pc.multiply_checked(value, whole(factor)),
    "round": _rounded,
    "to float": _to_float,
    "from float": _from_float,
    "cast": lambda value, type_: pc.cast(value, type_),
    "cast text": _text_cast,
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "float =": _equal,
    "float <>": lambda left, right: pc.invert(_equal(left, right)),
    "float <": _less,
    "float <=": lambda left, right: pc.invert(_less(right, left)),
    "float >": lambda left, right: _less(right, left),
    "float >=": lambda left, right: pc.invert(_less(left, right)),
    "AND": _all,
    "OR": _any,
    "NOT": pc.invert,
    "IS NULL": pc.is_null,
    "COALESCE": pc.coalesce,
    "IN": _in,
    "float IN": _in_floats,
    "LIKE": lambda value, pattern, any_case: pc.match_like(value, pattern, ignore_case=any_case),
    "greatest": pc.max_element_wise,
    "float greatest": _greatest,
    "least": pc.min_element_wise,
    "float least": pc.min_element_wise,
    "days later": _shifted,
    "days between": lambda left, right: pc.subtract(_days(left), _days(right)),
    "later": _later,
    **TEXT_KERNELS,
    **MOMENT_KERNELS,
    "float round": _float_rounded,
    "float floor": pc.floor,
    "float ceil": pc.ceil,
    "float trunc": pc.trunc,
    "exact floor": _floor,
    "exact ceil": lambda value, divisor: pc.negate(_floor(pc.negate(value), divisor)),
    "exact trunc": lambda value, divisor: pc.divide(value, whole(divisor)),
    "sign": lambda value: pc.cast(pc.sign(value), pa.int64()),
    "power": pc.power,
    "sqrt": pc.sqrt_checked,
    "exp": pc.exp,
    "ln": pc.ln_checked,
    "log10": pc.log10_checked,
    "log2": pc.log2_checked,
}
