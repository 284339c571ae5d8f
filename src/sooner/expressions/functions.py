"""The functions that expressions may call: how many values each takes, of what kind, and what it gives."""

from typing import Final, NamedTuple

from sooner.expressions.kinds import BOOLEAN, FLOAT, INTEGER, LOCAL_TIME, TEXT, Kind


class Function(NamedTuple):
    """`gives` is None where it is the kind of what the function takes. Its last values may have to be `constants`."""

    fewest: int
    most: int
    takes: str  # numbers, floats: numbers as such, moments, days: without a zone, text, alike: anything, of one kind
    gives: Kind | None = None
    constants: tuple[str, ...] = ()  # text, or number: a whole one


_MOMENT: Final = Function(1, 1, "moments", INTEGER)
_FLOAT: Final = Function(1, 1, "floats", FLOAT)
_TEXT: Final = Function(1, 1, "text", TEXT)
_TRIM: Final = Function(1, 2, "text", TEXT, ("text",))
_PAD: Final = Function(3, 3, "text", TEXT, ("number", "text"))
_PART: Final = Function(2, 2, "text", TEXT, ("number",))
_TEST: Final = Function(2, 2, "text", BOOLEAN, ("text",))
PARTS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
PARTS_ALONE: Final = ("dow", "isodow", "doy", "isoyear")
FUNCTIONS: Final = {
    "abs": Function(1, 1, "numbers"),
    "round": Function(1, 2, "numbers", None, ("number",)),
    "floor": Function(1, 1, "numbers"),
    "ceil": Function(1, 1, "numbers"),
    "trunc": Function(1, 1, "numbers"),
    "sign": Function(1, 1, "numbers", INTEGER),
    "power": Function(2, 2, "floats", FLOAT),
    **dict.fromkeys(("sqrt", "exp", "ln", "log10", "log2"), _FLOAT),
    "greatest": Function(1, 99, "alike"),
    "least": Function(1, 99, "alike"),
    **dict.fromkeys(("upper", "lower", "reverse"), _TEXT),
    "length": Function(1, 1, "text", INTEGER),
    "substring": Function(2, 3, "text", TEXT, ("number", "number")),
    "left": _PART,
    "right": _PART,
    "replace": Function(3, 3, "text", TEXT, ("text", "text")),
    "split_part": Function(3, 3, "text", TEXT, ("text", "number")),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _TRIM),
    **dict.fromkeys(("lpad", "rpad"), _PAD),
    **dict.fromkeys(("starts_with", "ends_with", "contains", "regexp_matches"), _TEST),
    "concat": Function(1, 99, "texts", TEXT),
    "||": Function(2, 99, "texts", TEXT),
    **dict.fromkeys((*PARTS, *PARTS_ALONE), _MOMENT),
    "epoch": Function(1, 1, "days", FLOAT),
    "date_trunc": Function(2, 2, "days", LOCAL_TIME, ("text",)),
    "date_diff": Function(3, 3, "days", INTEGER, ("text",)),
    "strftime": Function(2, 2, "days", TEXT, ("text",)),
    **dict.fromkeys(("monthname", "dayname"), Function(1, 1, "days", TEXT)),
}
