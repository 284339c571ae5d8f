"""What + - * / // % mean, by the kinds of what stands on either side."""

from datetime import date, datetime
from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions.conversion import as_kind, read_literal, too_fine
from sooner.expressions.kinds import FLOAT, INTEGER, MOST_DIGITS, exact
from sooner.expressions.moments import shifted
from sooner.expressions.steps import Constant, Step, applied
from sooner.expressions.tree import Interval

_DAYS: Final = ("date", "local time")


def arithmetic(operator: str, left: Step, right: Step, text: str, what: str) -> Step:
    if left.kind.name == "null" and right.kind.is_numeric:
        left = as_kind(left, right.kind, text, what)
    if right.kind.name == "null" and left.kind.is_numeric:
        right = as_kind(right, left.kind, text, what)
    if left.kind.name == "null" and right.kind.name == "null":
        return Constant(INTEGER, True, None)
    if left.kind.is_numeric and right.kind.is_numeric:
        return _of_numbers(operator, left, right, text, what)
    if operator == "+" and right.kind.name in _DAYS:
        left, right = right, left
    found = _of_moments(operator, left, right, text, what)
    if found is not None:
        return found
    shifts = operator in ("+", "-") and left.kind.name in _DAYS
    culprit = right if left.kind.is_numeric or shifts else left
    cure = "cast it to a number" if culprit.kind.name in ("text", "boolean") else "it has no such operation"
    raise InvalidJoin(f"{what} has {text}, but a part of it is {culprit.kind}, and {operator} needs numbers; {cure}.")


def _of_numbers(operator: str, left: Step, right: Step, text: str, what: str) -> Step:
    if operator == "/":
        left, right = as_kind(left, FLOAT, text, what), as_kind(right, FLOAT, text, what)
        safe = isinstance(right, Constant) and bool(right.value)
        nullable = left.may_be_null or not safe
        return applied("/ not zero" if safe else "/", (left, right), FLOAT, text, what, may_be_null=nullable)
    if operator in ("//", "%"):
        return _of_whole_numbers(operator, left, right, text, what)
    if FLOAT in (left.kind, right.kind):
        left, right = as_kind(left, FLOAT, text, what), as_kind(right, FLOAT, text, what)
        return applied(f"float {operator}", (left, right), FLOAT, text, what)
    if operator == "*":
        kind = exact(left.kind.scale + right.kind.scale)
        if kind.scale > MOST_DIGITS:
            raise InvalidJoin(too_fine(text, kind, what))
        return applied("*", (left, right), kind, text, what)
    kind = exact(max(left.kind.scale, right.kind.scale))
    left, right = as_kind(left, kind, text, what), as_kind(right, kind, text, what)
    return applied(operator, (left, right), kind, text, what)


def _of_whole_numbers(operator: str, left: Step, right: Step, text: str, what: str) -> Step:
    if FLOAT in (left.kind, right.kind) or (operator == "//" and (left.kind, right.kind) != (INTEGER, INTEGER)):
        numbers = "integers" if operator == "//" else "integers and decimals"
        raise InvalidJoin(f"{what} has {text}, but {operator} is of {numbers} only; cast what goes into it.")
    kind = exact(max(left.kind.scale, right.kind.scale))
    left, right = as_kind(left, kind, text, what), as_kind(right, kind, text, what)
    nullable = left.may_be_null or not (isinstance(right, Constant) and bool(right.value))
    return applied(operator, (left, right), kind, text, what, may_be_null=nullable)


def _of_moments(operator: str, left: Step, right: Step, text: str, what: str) -> Step | None:
    if operator not in ("+", "-") or left.kind.name not in _DAYS:
        return None
    if isinstance(right, Constant) and isinstance(right.value, Interval):
        sign = 1 if operator == "+" else -1
        return _shift(left, Interval(sign * right.value.months, sign * right.value.microseconds), text, what)
    if left.kind != kinds.DATE:
        return None
    if right.kind == INTEGER:
        days = right if operator == "+" else applied("negative", (right,), INTEGER, text, what)
        return applied("days later", (left, days), kinds.DATE, text, what)
    right = read_literal(right, kinds.DATE, text, what)
    if operator == "-" and right.kind == kinds.DATE:
        return applied("days between", (left, right), INTEGER, text, what)
    return None


def _shift(left: Step, by: Interval, text: str, what: str) -> Step:
    """An interval makes a time of a date, as in DuckDB; `checking` makes a date again of a midnight."""
    if isinstance(left, Constant):
        value = left.value
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        try:
            return Constant(kinds.LOCAL_TIME, value is None, None if value is None else shifted(value, by))
        except (ValueError, OverflowError) as error:
            raise InvalidJoin(f"{what} has {text}, which is in no year from 1 to 9999; correct it.") from error
    kind = kinds.LOCAL_TIME if left.kind == kinds.DATE or left.kind.type.unit in ("s", "ms") else left.kind
    if by.months:
        kind = kinds.LOCAL_TIME
        left = applied("months later", (as_kind(left, kind, text, what),), kind, text, what, by.months)
    return applied("later", (as_kind(left, kind, text, what),), kind, text, what, by.microseconds)
