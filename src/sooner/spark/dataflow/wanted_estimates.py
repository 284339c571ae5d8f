"""Which estimates this program has made DataFrames of: their pacemakers carry a number, and queries look it up here."""

from typing import Final

from sooner.operators.folding.together import Wanted

_MADE: Final[list[Wanted]] = []


def remember(wanted: Wanted) -> str:
    _MADE.append(wanted)
    return str(len(_MADE) - 1)


def wanted_estimate(number: str) -> Wanted:
    return _MADE[int(number)]
