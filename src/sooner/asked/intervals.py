"""Intervals of time as Spark and SQL write them: "10 minutes", "1 hour 30 minutes", "INTERVAL 5 MINUTES".

Not covered: months and years, which are not always as long.
"""

import datetime as dt
import re
from typing import Final

from sooner.errors import InvalidJoin
from sooner.kernels.ranges import Width, Within

AskedWidth = Width | str
AskedWithin = AskedWidth | tuple[AskedWidth | None, AskedWidth | None]

_UNITS: Final = ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks")
_SHORT: Final = {
    "us": "microseconds", "ms": "milliseconds", "s": "seconds", "sec": "seconds", "m": "minutes", "min": "minutes",
    "h": "hours", "d": "days", "w": "weeks",
}  # fmt: skip
_PART: Final = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_FORM: Final = 'write it as "10 minutes" or "1 hour 30 seconds"'


def usable_width(name: str, given: AskedWidth) -> Width:
    """A distance as it was given, or of an interval in words the time that it takes.

    >>> usable_width("lateness", "1 hour 30 minutes")
    datetime.timedelta(seconds=5400)
    """
    return interval_of(name, given) if isinstance(given, str) else given


def usable_within(given: AskedWithin) -> Within:
    """The same of a range, whose ends may be in words."""
    if not isinstance(given, tuple):
        return usable_width("within", given)
    # There may be more than two: that is refused where the types of the values are known.
    return tuple(None if end is None else usable_width("within", end) for end in given)  # type: ignore[return-value]


def interval_of(name: str, text: str) -> dt.timedelta:
    """How long an interval is; `name` is the argument that messages speak of."""
    words = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    parts = list(_PART.finditer(words))
    if not parts or "".join(part[0] for part in parts) != words:
        raise InvalidJoin(f"{name}={text!r} is not an interval; {_FORM}.")
    try:
        return sum((_timedelta(name, text, part[1], part[2].lower()) for part in parts), dt.timedelta())
    except OverflowError:
        raise InvalidJoin(f"{name}={text!r} is longer than a datetime.timedelta can be.") from None


def _timedelta(name: str, text: str, number: str, unit: str) -> dt.timedelta:
    known = _SHORT.get(unit, unit if unit.endswith("s") else f"{unit}s")
    if known not in _UNITS:
        raise InvalidJoin(f"{name}={text!r} has {unit!r}, and an interval has {', '.join(_UNITS)}; {_FORM}.")
    return dt.timedelta(**{known: float(number) if "." in number else int(number)})
