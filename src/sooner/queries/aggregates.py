"""Aggregates in a select list, and arithmetic over them."""

from typing import Any, Final, TypeAlias

from sooner.errors import InvalidJoin
from sooner.estimation.question import FUNCTIONS, Aggregate
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import ONE, Arithmetic, Case, Column, Negative, Node

Parsed: TypeAlias = Any  # by sqlglot

_NAMES: Final = {
    "Count": "count",
    "Sum": "sum",
    "Avg": "avg",
    "Variance": "variance",
    "Stddev": "stddev",
    "StddevSamp": "stddev",
}
_OPERATORS: Final = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


def has_aggregate(node: Parsed) -> bool:
    return any(_is_aggregate(one) for one in node.walk())


def _is_aggregate(node: Parsed) -> bool:
    from sqlglot import expressions as e

    by_name = isinstance(node, e.Anonymous) and str(node.this).lower() in FUNCTIONS
    return by_name or isinstance(node, e.AggFunc)


class Aggregates:
    """The aggregates of a query, each once, by their text."""

    def __init__(self) -> None:
        self._found: dict[str, Aggregate] = {}

    @property
    def found(self) -> tuple[Aggregate, ...]:
        return tuple(self._found.values())

    def formula(self, node: Parsed) -> Node:
        """Arithmetic over aggregates, which stand in it as columns of their names."""
        name = type(node).__name__
        if name == "Paren":
            return self.formula(node.this)
        if name == "Neg":
            return Negative(self.formula(node.this))
        if name in _OPERATORS:
            return Arithmetic(_OPERATORS[name], self.formula(node.this), self.formula(node.expression))
        if name == "Literal" and not node.is_string:
            return from_sqlglot(node, "SELECT")
        if name == "Filter" or _is_aggregate(node):
            aggregate = _aggregate(node)
            self._found.setdefault(aggregate.name, aggregate)
            return Column(aggregate.name)
        raise InvalidJoin(
            f"SELECT has {_sql(node)} beside an aggregate; of aggregates and numbers there are +, -, * and /."
        )


def _aggregate(node: Parsed) -> Aggregate:
    inner = node.this if type(node).__name__ == "Filter" else node
    kind = type(inner).__name__
    function = FUNCTIONS.get(str(inner.this).lower()) if kind == "Anonymous" else _NAMES.get(kind)
    if function is None:
        raise InvalidJoin(
            f"SELECT has {_sql(node)}, which is not estimated here; there are COUNT, SUM, AVG, VARIANCE and STDDEV."
        )
    parts = inner.expressions if kind == "Anonymous" else [inner.this, *inner.expressions]
    parts = [part for part in parts if part is not None]
    if len(parts) > 1 or (not parts and function != "count"):
        raise InvalidJoin(f"SELECT has {_sql(node)}; an aggregate is of one expression.")
    of = _of(parts[0], function, node) if parts else None
    if inner is not node:
        of = Case((from_sqlglot(node.expression.this, "FILTER"),), (ONE if of is None else of,))
    return Aggregate(str(node.sql(dialect="duckdb")), function, of)


def _of(part: Parsed, function: str, node: Parsed) -> Node | None:
    kind = type(part).__name__
    if kind == "Distinct":
        raise InvalidJoin(f"SELECT has {_sql(node)}; DISTINCT is not supported: some rows do not tell of the others.")
    if kind == "Star":
        if function != "count":
            raise InvalidJoin(f"SELECT has {_sql(node)}, of all columns; name one, or an expression.")
        return None
    return from_sqlglot(part, "SELECT")


def _sql(node: Parsed) -> str:
    text = str(node.sql(dialect="duckdb"))
    return text if len(text) <= 60 else text[:57] + "..."
