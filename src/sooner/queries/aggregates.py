"""Aggregates of a statement, and expressions over them."""

from typing import Final

from sooner.errors import InvalidJoin
from sooner.estimation.question import EXTREMES, FUNCTIONS, Aggregate
from sooner.expressions.parsed import AGGREGATE, Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import ONE, Case, Node

_NAMES: Final = {
    "Count": "count",
    "Sum": "sum",
    "Avg": "avg",
    "Variance": "variance",
    "Stddev": "stddev",
    "StddevSamp": "stddev",
    "Min": "min",
    "Max": "max",
    "AnyValue": "min",  # which is one of them
}
_OF_FLAGS: Final = {"LogicalAnd": "min", "LogicalOr": "max", "CountIf": "count"}
_OF_DISTINCT: Final = ("count", "sum", "avg", "min", "max")


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

    def expression(self, node: Parsed, part: str) -> Node:
        """What is over aggregates, which stand in it as columns of the table AGGREGATE, and over groups."""
        from sqlglot import expressions as e

        def replaced(one: Parsed) -> Parsed:
            return e.column(self._name_of(one), AGGREGATE, quoted=True) if _is_whole_aggregate(one) else one

        return from_sqlglot(node.transform(replaced), part)

    def _name_of(self, node: Parsed) -> str:
        aggregate = _aggregate(node)
        self._found.setdefault(aggregate.name, aggregate)
        return aggregate.name


def _is_whole_aggregate(node: Parsed) -> bool:
    return type(node).__name__ in ("Filter", "IgnoreNulls") or _is_aggregate(node)


def _aggregate(node: Parsed) -> Aggregate:
    inner, condition = node, None
    while type(inner).__name__ in ("Filter", "IgnoreNulls"):
        condition = inner.expression.this if type(inner).__name__ == "Filter" else condition
        inner = inner.this
    kind = type(inner).__name__
    function = FUNCTIONS.get(str(inner.this).lower()) if kind == "Anonymous" else (_NAMES | _OF_FLAGS).get(kind)
    if function is None:
        raise InvalidJoin(
            f"SELECT has {sql_of(node)}, which is not known here; there are COUNT, SUM, AVG, MIN, MAX, VARIANCE, "
            "STDDEV, ANY_VALUE, COUNT_IF, BOOL_AND and BOOL_OR."
        )
    parts = inner.expressions if kind == "Anonymous" else [inner.this, *inner.expressions]
    parts = [part for part in parts if part is not None]
    is_distinct = bool(parts) and type(parts[0]).__name__ == "Distinct"
    parts = parts[0].expressions if is_distinct else parts
    if len(parts) > 1 or (not parts and function != "count"):
        raise InvalidJoin(f"SELECT has {sql_of(node)}; an aggregate is of one expression.")
    if is_distinct and function not in _OF_DISTINCT:
        raise InvalidJoin(f"SELECT has {sql_of(node)}; DISTINCT is for COUNT, SUM, AVG, MIN and MAX; leave it out.")
    of = _of(parts[0], function, node) if parts else None
    if kind == "CountIf":
        assert of is not None, "it has a condition"
        of = Case((of,), (ONE,))
    if condition is not None:
        of = Case((from_sqlglot(condition, "FILTER"),), (ONE if of is None else of,))
    # What is distinct makes no difference to an extreme, but to what it is called.
    return Aggregate(
        str(node.sql(dialect="duckdb", comments=False)), function, of, is_distinct and function not in EXTREMES
    )


def _of(part: Parsed, function: str, node: Parsed) -> Node | None:
    if type(part).__name__ == "Star":
        if function != "count":
            raise InvalidJoin(f"SELECT has {sql_of(node)}, of all columns; name one, or an expression.")
        return None
    return from_sqlglot(part, "SELECT")
