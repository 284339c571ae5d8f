"""What becomes of an answer in groups: HAVING, ORDER BY, LIMIT and OFFSET, as sqlglot has parsed them."""

from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.queries.aggregates import Aggregates, has_aggregate
from sooner.queries.reading_tables import arguments_of
from sooner.queries.statement import Ending, Item, Ordering

_OF_ROWS: Final = {
    "having": ("HAVING", "it is for groups; put it into WHERE"),
    "order": ("ORDER BY", "rows come as they are found; sort the answer"),
    "limit": ("LIMIT", "take head(n) of the answer, or stop it with until= or seconds="),
    "offset": ("OFFSET", "rows come in no order; leave it out"),
}


def ending_of(select: Parsed, aggregates: Aggregates, *, is_grouped: bool) -> Ending:
    """It may bring more aggregates, which are not shown."""
    arguments = arguments_of(select)
    for name, (word, cure) in _OF_ROWS.items():
        if name in arguments and not is_grouped:
            raise InvalidJoin(f"The query has {word}, which is not supported for rows; {cure}.")
    having = aggregates.condition(arguments["having"].this) if "having" in arguments else None
    order = arguments["order"].expressions if "order" in arguments else []
    limit, offset = (_count(arguments[name], name) if name in arguments else None for name in ("limit", "offset"))
    return Ending(having, tuple(_ordering(one, aggregates) for one in order), limit, offset or 0)


def _ordering(node: Parsed, aggregates: Aggregates) -> Ordering:
    of = node.this
    if type(node).__name__ != "Ordered" or node.args.get("with_fill"):
        raise InvalidJoin(f"ORDER BY has {sql_of(node)}; sort by names, expressions or numbers of the SELECT.")
    text = str(of.sql(dialect="duckdb"))
    ways = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    if type(of).__name__ == "Literal" and not of.is_string and str(of.this).isdecimal():
        return Ordering(int(str(of.this)), *ways)
    if has_aggregate(of):
        return Ordering(Item(text, aggregates.formula(of), text, aggregated=True), *ways)
    return Ordering(Item(text, from_sqlglot(of, "ORDER BY"), text), *ways)


def _count(node: Parsed, name: str) -> int:
    of = node.expression
    if type(of).__name__ != "Literal" or of.is_string or not str(of.this).isdecimal():
        raise InvalidJoin(f"The query has {sql_of(node).strip()}; give {name.upper()} a whole number.")
    return int(str(of.this))
