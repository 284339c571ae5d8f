"""What becomes of an answer: HAVING, DISTINCT, ORDER BY, LIMIT and OFFSET, as sqlglot has parsed them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.queries.aggregates import Aggregates
from sooner.queries.reading_tables import arguments_of
from sooner.queries.statement import Ending, Item, Ordering, Star


def ending_of(select: Parsed, aggregates: Aggregates, items: Sequence[Item | Star]) -> Ending:
    """It may bring more aggregates, which are not shown."""
    arguments = arguments_of(select)
    having = aggregates.expression(arguments["having"].this, "HAVING") if "having" in arguments else None
    distinct = arguments.get("distinct")
    if distinct is not None and hasattr(distinct, "args") and arguments_of(distinct):
        raise InvalidJoin(f"The query has {sql_of(distinct).strip()}; of DISTINCT there is SELECT DISTINCT alone.")
    order = [one for node in _orderings(arguments) for one in _ordering(node, aggregates, items)]
    limit, offset = (_count(arguments[name], name) if name in arguments else None for name in ("limit", "offset"))
    return Ending(having, distinct is not None, tuple(order), limit, offset or 0)


def _orderings(arguments: Mapping[str, Any]) -> Sequence[Parsed]:
    return arguments["order"].expressions if "order" in arguments else []


def _ordering(node: Parsed, aggregates: Aggregates, items: Sequence[Item | Star]) -> list[Ordering]:
    of = node.this
    if type(node).__name__ != "Ordered" or node.args.get("with_fill"):
        raise InvalidJoin(f"ORDER BY has {sql_of(node)}; sort by names, expressions or numbers of the SELECT.")
    text = str(of.sql(dialect="duckdb", comments=False))
    ways = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    if type(of).__name__ == "Var" and text.upper() == "ALL":
        if any(isinstance(one, Star) for one in items):
            raise InvalidJoin("ORDER BY has ALL, and SELECT has *; name the columns of one of them.")
        return [Ordering(number, *ways) for number in range(1, len(items) + 1)]
    if _is_whole_number(of):
        return [Ordering(int(str(of.this)), *ways)]
    return [Ordering(Item(text, aggregates.expression(of, "ORDER BY"), text), *ways)]


def _count(node: Parsed, name: str) -> int:
    of = node.expression
    if (
        arguments_of(node).keys() - {"this", "expression"}
        or type(of).__name__ != "Literal"
        or of.is_string
        or not str(of.this).isdecimal()
    ):
        raise InvalidJoin(f"The query has {sql_of(node).strip()}; give {name.upper()} a whole number.")
    return int(str(of.this))


def _is_whole_number(node: Parsed) -> bool:
    return type(node).__name__ == "Literal" and not node.is_string and str(node.this).isdecimal()
