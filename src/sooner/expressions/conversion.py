"""From one kind of value to another: where SQL does so by itself, and where a CAST asks for it."""

from datetime import date, datetime
from typing import Any, Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds, moments
from sooner.expressions.kinds import MOST_DIGITS, Kind
from sooner.expressions.steps import Constant, Step, applied


def as_kind(step: Step, kind: Kind, text: str, what: str) -> Step:
    """The same values as another kind, without loss: a larger scale, floats, times for dates, a finer unit."""
    if step.kind == kind:
        return step
    if step.kind.name == "null" or (isinstance(step, Constant) and step.value is None):
        return Constant(kind, True, None)
    if step.kind.is_exact and kind == kinds.FLOAT:
        return applied("to float", (step,), kind, text, what, 10**step.kind.scale)
    if step.kind.is_exact and kind.is_exact:
        if kind.scale > MOST_DIGITS:
            raise InvalidJoin(too_fine(text, kind, what))
        return applied("rescale", (step,), kind, text, what, 10 ** (kind.scale - step.kind.scale))
    if isinstance(step, Constant):
        return Constant(kind, False, _moment_as(step.value, kind))
    return applied("cast", (step,), kind, text, what, kind.type)


def too_fine(text: str, kind: Kind, what: str) -> str:
    return (
        f"{what} has {text}, with {kind.scale} decimals, and {MOST_DIGITS} are the most that stay exact; "
        "write CAST(... AS DOUBLE) around a part of it."
    )


def _moment_as(value: Any, kind: Kind) -> Any:
    if kind.name == "date" and isinstance(value, datetime):
        return value.date()
    if kind.name == "local time" and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


_READ: Final = {"date": moments.date_of, "local time": moments.local_time_of, "instant": moments.instant_of}
_FORM: Final = {"date": "2025-12-31", "local time": "2025-12-31 23:59:59", "instant": "2025-12-31 23:59:59+00:00"}


def read_literal(step: Step, kind: Kind, text: str, what: str) -> Step:
    """A text in quotes as the moment that it is compared with."""
    if not isinstance(step, Constant) or step.kind.name != "text" or step.value is None:
        return step
    value = _READ[kind.name](step.value)
    if value is None:
        raise InvalidJoin(
            f"{what} has {text}, but {step.value!r} is not {kind}, which it must be there; "
            f"write it as {_FORM[kind.name]!r}."
        )
    to = {"date": kinds.DATE, "local time": kinds.LOCAL_TIME, "instant": kinds.INSTANT}[kind.name]
    return Constant(to, False, value)


def casted(step: Step, to: Kind, text: str, what: str) -> Step:
    """The values as CAST gives them: decimals are rounded, and what cannot be read fails when its row comes."""
    of = step.kind
    if of.is_exact and to.is_exact and to.scale < of.scale:
        return applied("round", (step,), to, text, what, 10 ** (of.scale - to.scale))
    if of == kinds.FLOAT and to.is_exact:
        if to.scale > MOST_DIGITS:
            raise InvalidJoin(too_fine(text, to, what))
        return applied("from float", (step,), to, text, what, 10**to.scale)
    if of.name == "text" and to.name == "text":
        return step
    if isinstance(step, Constant) and of.name == "text" and to.name in _READ and step.value is not None:
        return read_literal(step, to, text, what)
    if of.name == "null" or of == to or (of.is_exact and to.is_numeric) or (of.name, to.name) == ("date", "local time"):
        return as_kind(step, to, text, what)
    if of.name == "instant" and to.name == "instant":
        return step
    if of.name == "text" and (to in (kinds.INTEGER, kinds.FLOAT, kinds.DATE, kinds.LOCAL_TIME)):
        return applied("cast text", (step,), to, text, what, to.type)
    if (of.name, to) in _CASTS and not of.scale:
        return applied("cast", (step,), to, text, what, to.type)
    raise InvalidJoin(
        f"{what} has {text}, but {of} is not cast to {to} here; leave out the CAST, or choose another type."
    )


_CASTS: Final = {
    ("boolean", kinds.INTEGER),
    ("boolean", kinds.FLOAT),
    ("boolean", kinds.TEXT),
    ("number", kinds.TEXT),
    ("date", kinds.TEXT),
    ("local time", kinds.DATE),
    ("local time", kinds.LOCAL_TIME),
}
