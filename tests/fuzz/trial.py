"""One case: whether it is right, and if it is not, a report with as few rows as it takes."""

import time
import traceback
import warnings
from typing import Any

from fuzz.families import family
from fuzz.family import Family, Wrong

SHRINKING_SECONDS = 10.0


def wrong_with(name: str, seed: int) -> str | None:
    """A report of what is wrong with the case of this seed, or None."""
    of = family(name)
    case = of.case(seed)
    error = _error(of, case)
    if error is None:
        return None
    case, error = _shrunk(of, case, error)
    return f"{_told(error)}\n\n{of.shown(case)}\n\nAgain: {command(name, seed)}"


def command(name: str, seed: int) -> str:
    return f"PYTHONPATH=tests .venv/bin/python -m fuzz --family {name} --seed {seed}"


def _error(of: Family[Any], case: Any) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who asks for an answer gets it without
        try:
            of.check(case)
        except Exception as error:
            return error
    return None


def _shrunk(of: Family[Any], case: Any, error: Exception) -> tuple[Any, Exception]:
    """Smaller cases are tried for a while, as long as they fail in the same way."""
    until, progress = time.monotonic() + SHRINKING_SECONDS, True
    while progress and time.monotonic() < until:
        progress = False
        for smaller in of.smaller(case):
            if time.monotonic() > until:
                break
            found = _error(of, smaller)
            if found is not None and type(found) is type(error):
                case, error, progress = smaller, found, True
                break
    return case, error


def _told(error: Exception) -> str:
    if isinstance(error, Wrong):
        return f"WRONG: {error}"
    return f"RAISED: {''.join(traceback.format_exception(error, limit=-8)).rstrip()}"
