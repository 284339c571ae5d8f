"""The functions that expressions may call: how many values each takes, of what kind, and what it gives."""

from typing import Final, NamedTuple

from sooner.expressions.kinds import INTEGER, TEXT, Kind


class Function(NamedTuple):
    """`gives` is None where it is the kind of what the function takes."""

    fewest: int
    most: int
    takes: str  # numbers, moments, text, alike: anything, of one kind
    gives: Kind | None = None


_MOMENT: Final = Function(1, 1, "moments", INTEGER)
FUNCTIONS: Final = {
    "abs": Function(1, 1, "numbers"),
    "greatest": Function(1, 99, "alike"),
    "least": Function(1, 99, "alike"),
    "upper": Function(1, 1, "text", TEXT),
    "lower": Function(1, 1, "text", TEXT),
    "length": Function(1, 1, "text", INTEGER),
    "substring": Function(2, 3, "text", TEXT),
    **dict.fromkeys(("year", "quarter", "month", "day", "hour", "minute"), _MOMENT),
}
