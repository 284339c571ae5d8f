"""Aggregates in a select list, and arithmetic over them."""

from typing import Final

from sooner.errors import InvalidJoin
from sooner.estimation.question import FUNCTIONS, Aggregate
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import ONE, Arithmetic, Case, Column, Negative, Node
from sooner.queries.statement import AGGREGATE

_NAMES: Final = {
    "Count": "count",
    "Sum": "sum",
    "Avg": "avg",
    "Variance": "variance",
    "Stddev": "stddev",
    "StddevSamp": "stddev",
    "Min": "min",
    "Max": "max",
}
_OPERATORS: Final = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}


def has_aggregate(node: Parsed) -> bool:
    """Whether there is one, beside those of subqueries."""
    from sqlglot import expressions as e

    return any(_is_aggregate(one) for one in node.walk(prune=lambda one: isinstance(one, e.Query)))


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
        if _is_whole_aggregate(node):
            return Column(self._name_of(node))
        raise InvalidJoin(
            f"SELECT has {sql_of(node)} beside an aggregate; of aggregates and numbers there are +, -, * and /."
        )

    def condition(self, node: Parsed) -> Node:
        """A condition over aggregates, which stand in it as columns of the table AGGREGATE, and over groups."""
        from sqlglot import expressions as e

        def replaced(one: Parsed) -> Parsed:
            return e.column(self._name_of(one), AGGREGATE, quoted=True) if _is_whole_aggregate(one) else one

        return from_sqlglot(node.transform(replaced), "HAVING")

    def _name_of(self, node: Parsed) -> str:
        aggregate = _aggregate(node)
        self._found.setdefault(aggregate.name, aggregate)
        return aggregate.name


def _is_whole_aggregate(node: Parsed) -> bool:
    return type(node).__name__ == "Filter" or _is_aggregate(node)


def _aggregate(node: Parsed) -> Aggregate:
    inner = node.this if type(node).__name__ == "Filter" else node
    kind = type(inner).__name__
    function = FUNCTIONS.get(str(inner.this).lower()) if kind == "Anonymous" else _NAMES.get(kind)
    if function is None:
        raise InvalidJoin(
            f"SELECT has {sql_of(node)}, which is not known here; there are COUNT, SUM, AVG, MIN, MAX, VARIANCE and "
            "STDDEV."
        )
    parts = inner.expressions if kind == "Anonymous" else [inner.this, *inner.expressions]
    parts = [part for part in parts if part is not None]
    if len(parts) > 1 or (not parts and function != "count"):
        raise InvalidJoin(f"SELECT has {sql_of(node)}; an aggregate is of one expression.")
    of = _of(parts[0], function, node) if parts else None
    if inner is not node:
        of = Case((from_sqlglot(node.expression.this, "FILTER"),), (ONE if of is None else of,))
    return Aggregate(str(node.sql(dialect="duckdb")), function, of)


def _of(part: Parsed, function: str, node: Parsed) -> Node | None:
    kind = type(part).__name__
    if kind == "Distinct":
        raise InvalidJoin(f"SELECT has {sql_of(node)}; DISTINCT is not supported: some rows do not tell of the others.")
    if kind == "Star":
        if function != "count":
            raise InvalidJoin(f"SELECT has {sql_of(node)}, of all columns; name one, or an expression.")
        return None
    return from_sqlglot(part, "SELECT")
