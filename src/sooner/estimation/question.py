"""What is asked of a join: aggregates of expressions over the joined row, by groups, of some of the rows."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.formulas import Formula
from sooner.expressions.arrow_conditions import from_arrow
from sooner.expressions.reading import parse
from sooner.expressions.tree import Column, Node

Aggregates = Mapping[str, str | Sequence[str]] | Sequence[str] | str
By = str | Sequence[str] | None
FUNCTIONS: Final[dict[str, str]] = {
    "count": "count",
    "sum": "sum",
    "avg": "avg", "mean": "avg", "average": "avg",
    "variance": "variance", "var": "variance", "var_samp": "variance",
    "stddev": "stddev", "std": "stddev", "std_dev": "stddev", "stddev_samp": "stddev",
}  # fmt: skip
EXTREMES: Final = ("min", "max")
_AGGREGATE: Final = re.compile(r"\s*(?:([^=()]+?)\s*=)?\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class Aggregate:
    """`of` is None for a count of all rows. `distinct`: each value of it counts once."""

    name: str
    function: str
    of: Node | None
    distinct: bool = False

    @property
    def what(self) -> str:
        return f"aggregates[{self.name!r}]"


def is_gathered(one: Aggregate) -> bool:
    """Whether no sums tell it: it is that of the rows so far, and says nothing of others."""
    return one.distinct or one.function in EXTREMES


@dataclass(frozen=True)
class Question:
    aggregates: tuple[Aggregate, ...]
    by: tuple[tuple[str, Node], ...] = ()  # names and expressions
    where: Node | None = None
    shown: tuple[Formula, ...] | None = None  # over aggregates, which then are not shown themselves


def question_of(aggregates: Aggregates, by: By, where: Any, joined: pa.Schema) -> Question:
    """The question as the user gave it; `joined` are the columns of the joined row."""
    found = tuple(_aggregate(name, asked) for name, asked in _named_aggregates(aggregates))
    names = [] if by is None else [by] if isinstance(by, str) else by
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidJoin(f"by={by!r} must be the name of a column or an expression, or a list of them.")
    groups = tuple((name, _named(name, joined)) for name in names)
    _require_distinct([*names, *(one.name for one in found)])
    return Question(found, groups, None if where is None else _condition(where, joined))


def aggregate_in(text: str) -> tuple[str, list[str]] | None:
    """The name, the function and the expression of a text such as 'revenue = sum(price * 2)', if it is one."""
    match = _AGGREGATE.fullmatch(text)
    if match is None:
        return None
    name, function, expression = match.groups()
    before = itertools.accumulate(expression or "", lambda depth, one: depth + {"(": 1, ")": -1}.get(one, 0), initial=0)
    if min(before) < 0:
        return None  # the parentheses are not those of one function
    return name or text.strip(), [function] if expression is None else [function, expression]


def _named_aggregates(given: object) -> list[tuple[object, object]]:
    if isinstance(given, Mapping) and given:
        return list(given.items())
    texts = [given] if isinstance(given, str) and given.strip() else given
    if isinstance(texts, list | tuple) and texts and all(isinstance(one, str) for one in texts):
        return [aggregate_in(one) or (one, one) for one in texts]
    raise InvalidJoin(
        f"aggregates={given!r} must name at least one, such as {{'revenue': 'sum(price * quantity)'}}, or be a list: "
        "['sum(price)', 'n = count(*)']."
    )


def _aggregate(name: object, asked: object) -> Aggregate:
    told = aggregate_in(asked) if isinstance(asked, str) else None
    parts = told[1] if told is not None else [asked] if isinstance(asked, str) else asked
    words = isinstance(parts, Sequence) and 0 < len(parts) <= 2 and all(isinstance(part, str) for part in parts)
    if not isinstance(name, str) or not words:
        raise InvalidJoin(
            f"aggregates[{name!r}] is {asked!r}; give a function of an expression, as 'sum(price)', or 'count'."
        )
    assert isinstance(parts, Sequence)
    function = FUNCTIONS.get(parts[0].lower())
    if function is None:
        raise InvalidJoin(f"aggregates[{name!r}] asks for {parts[0]!r}; choose one of {', '.join(FUNCTIONS)}.")
    of = parts[1] if len(parts) == 2 else "*"
    if of.strip() in ("*", ""):
        if function != "count":
            raise InvalidJoin(f"aggregates[{name!r}] is {function} of all columns; name one, or an expression.")
        return Aggregate(name, function, None)
    return Aggregate(name, function, parse(of, f"aggregates[{name!r}]"))


def _named(text: str, joined: pa.Schema) -> Node:
    """A column of that very name, or else an expression."""
    return Column(text) if text in joined.names else parse(text, f"by={text!r}")


def _condition(where: Any, joined: pa.Schema) -> Node:
    return parse(where, "where=") if isinstance(where, str) else from_arrow(where, joined, "where=")


def _require_distinct(names: list[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InvalidJoin(f"{name!r} is there twice among by= and aggregates=; give each a name of its own.")
