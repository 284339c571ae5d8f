"""Refuse what cannot be right before any row is read, in a sentence that names the argument and what would do."""

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sooner.errors import InvalidJoin
from sooner.how import Kind
from sooner.kernels.ranges import Near, Within

Columns = str | Sequence[str]
ON: Final = ("on", "left_on", "right_on")
SUFFIXES: Final = ("_left", "_right")
MOST_PARTS: Final = 2**16  # of anything; far more than pays


def key_names(
    on: Columns | None, left_on: Columns | None, right_on: Columns | None, called: tuple[str, str, str] = ON
) -> tuple[list[str], list[str]]:
    """The columns of both sides, as one name for both or a name for each."""
    both, left, right = called
    if on is not None and (left_on is not None or right_on is not None):
        raise InvalidJoin(f"{both}= and {left}=/{right}= were both given; give one of the two.")
    if on is not None:
        return _names(both, on), _names(both, on)
    if left_on is None or right_on is None:
        raise InvalidJoin(f"Which columns must be equal? Give {both}=, or both {left}= and {right}=.")
    return _names(left, left_on), _names(right, right_on)


class JoinColumns(NamedTuple):
    """The columns of both sides that must be equal, and those that must be near each other, if there are any."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    near: Near | None = None

    @property
    def of_right(self) -> list[str]:
        """All that is compared of the right."""
        return [*self.right, *(() if self.near is None or self.near.right in self.right else (self.near.right,))]


def join_columns(
    on: Columns | None,
    left_on: Columns | None,
    right_on: Columns | None,
    by: Columns | None,
    left_by: Columns | None,
    right_by: Columns | None,
    within: Within | None,
) -> JoinColumns:
    """With `within`, `on` are columns that must be so near each other, and `by` those that must be equal."""
    lefts, rights = key_names(on, left_on, right_on)
    equal = {"by": by, "left_by": left_by, "right_by": right_by}
    given = [f"{name}={value!r}" for name, value in equal.items() if value is not None]
    if within is None:
        if given:
            raise InvalidJoin(f"{given[0]} was given without within=; give columns that must be equal as on=.")
        return JoinColumns(tuple(lefts), tuple(rights))
    if len(lefts) != 1 or len(rights) != 1:
        raise InvalidJoin(
            f"within={within!r} is for one column of each side, and on= names {', '.join(lefts) or 'none'}; "
            "give columns that must be equal as by=."
        )
    near = Near(lefts[0], rights[0], within)
    if not given:
        return JoinColumns((), (), near)
    lefts, rights = key_names(by, left_by, right_by, ("by", "left_by", "right_by"))
    return JoinColumns(tuple(lefts), tuple(rights), near)


def _names(argument: str, columns: Columns) -> list[str]:
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidJoin(f"{argument}={columns!r} must be the name of a column, or a list of names.")
    return list(names)


def require_forgetting(lateness: object, retention: object, within: object) -> None:
    """`lateness` is for values that may be apart, `retention` for keys alone."""
    if lateness is not None and within is None:
        raise InvalidJoin(
            f"lateness={lateness!r} was given without within=; for equal keys give retention=, by time since arrival."
        )
    if retention is None:
        return
    if within is not None:
        raise InvalidJoin(f"retention={retention!r} is for equal keys alone; with within= give lateness=.")
    if not isinstance(retention, dt.timedelta) or retention <= dt.timedelta():
        raise InvalidJoin(f"retention={retention!r} must be a datetime.timedelta, longer than nothing.")


def usable_suffixes(suffixes: object, kind: Kind) -> tuple[str, str]:
    """As they were given, or those that everyone knows."""
    if suffixes is None:
        return SUFFIXES
    if not (
        isinstance(suffixes, list | tuple) and len(suffixes) == 2 and all(isinstance(text, str) for text in suffixes)
    ):
        raise InvalidJoin(f"suffixes={suffixes!r} must be two texts, such as {SUFFIXES}.")
    if not kind.pairs:
        raise InvalidJoin(
            f"suffixes={suffixes!r} would never be used: how={kind.name!r} gives the columns of the left, with their "
            "own names; leave it out."
        )
    return suffixes[0], suffixes[1]


def require_whole_number(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_PARTS:
        raise InvalidJoin(f"{name}={value!r} must be a whole number from 1 to {MOST_PARTS:,}.")


def require_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidJoin(f"{name}={value!r} must be a whole number, 0 or more.")


def plain_path(name: str, value: object) -> Path:
    """A path of this machine, absolute: `~` is the home of the user, and `..` leads where the system says.

    Other links keep their names, since they may lead elsewhere on other machines.
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str) or "\0" in text:
        raise InvalidJoin(f"{name}={value!r} must be the path of a directory.")
    try:
        path = Path(text).expanduser().absolute()
        return path.resolve() if ".." in path.parts else path
    except (RuntimeError, OSError) as error:  # nobody of that name; links that go round in circles
        raise InvalidJoin(f"{name}={value!r} cannot be followed ({error}); give the path of a directory.") from error
