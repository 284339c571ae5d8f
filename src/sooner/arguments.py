"""Refuse what cannot be right before any row is read, in a sentence that names the argument and what would do."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sooner.errors import InvalidJoin
from sooner.how import Kind

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
        return column_names(both, on), column_names(both, on)
    if left_on is None or right_on is None:
        raise InvalidJoin(f"Which columns must be equal? Give {both}=, or both {left}= and {right}=.")
    return column_names(left, left_on), column_names(right, right_on)


def column_names(argument: str, columns: Columns) -> list[str]:
    """The names that were given, as one or as several."""
    names = [columns] if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidJoin(f"{argument}={columns!r} must be the name of a column, or a list of names.")
    return list(names)


def usable_suffixes(suffixes: object, kind: Kind) -> tuple[str, str]:
    """The suffixes that were given, or the usual ones."""
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
        str(path).encode()  # Arrow takes names that are text
        return path.resolve() if ".." in path.parts else path
    except (RuntimeError, OSError, UnicodeEncodeError) as error:  # nobody of that name; links that go round in circles
        raise InvalidJoin(f"{name}={value!r} cannot be followed ({error}); give the path of a directory.") from error
