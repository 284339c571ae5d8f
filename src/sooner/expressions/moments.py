"""Dates, times and intervals as texts of SQL have them.

Not covered: infinity, years before 1 or after 9999, and time zones by name.
"""

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from sooner.expressions.tree import Interval

_DATE: Final = re.compile(r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:\s*|[ T].*)", re.DOTALL)
_SECOND: Final = 1_000_000
_MICROSECONDS: Final = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3600 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "WEEK": 7 * 86_400 * _SECOND,
}
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def date_of(text: str) -> date | None:
    """The date that SQL casts a text to: a time of day that follows is dropped."""
    found = _DATE.fullmatch(text)
    if found is None or (":" in text and local_time_of(text) is None):
        return None
    try:
        return date(*map(int, found.groups()))
    except ValueError:
        return None


def local_time_of(text: str) -> datetime | None:
    moment = _moment_of(text)
    return moment if moment is not None and moment.tzinfo is None else None


def instant_of(text: str) -> datetime | None:
    """The instant of a text with an offset; without one, nobody here knows which zone is meant."""
    moment = _moment_of(text)
    return moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None


def _moment_of(text: str) -> datetime | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = map(int, found.groups())
    rest = text.strip()[len(f"{found[1]}-{found[2]}-{found[3]}") :]
    try:
        return datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}{rest}")
    except ValueError:
        return None


def interval_of(count: str, unit: str) -> Interval | None:
    unit = unit.upper().removesuffix("S")
    try:
        number = int(count)
    except ValueError:
        return None
    if unit in _MONTHS:
        return Interval(number * _MONTHS[unit], 0)
    return Interval(0, number * _MICROSECONDS[unit]) if unit in _MICROSECONDS else None


def shifted(moment: date, by: Interval) -> date:
    """A day later or earlier; months keep the day of the month where there is one. Raises where years end."""
    months = moment.year * 12 + moment.month - 1 + by.months
    year, month = months // 12, months % 12 + 1
    day = min(moment.day, calendar.monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day) + timedelta(microseconds=by.microseconds)
