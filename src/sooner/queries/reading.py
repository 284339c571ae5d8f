"""From the text of a query to a statement, by sqlglot's parser in the dialect of DuckDB.

What joins cannot answer is refused here, in a sentence that names the part.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import Node, conjuncts
from sooner.queries.aggregates import Aggregates, has_aggregate
from sooner.queries.reading_endings import ending_of
from sooner.queries.reading_subqueries import join_of
from sooner.queries.reading_tables import Tables, arguments_of
from sooner.queries.statement import NO_ENDING, Group, Item, Star, Statement, UnionOf, first_of

_UNDERSTOOD: Final = {
    "expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset", "kind", "hint", "with",
    "distinct",
}  # fmt: skip
_REFUSED: Final = {
    "fetch": ("FETCH", "write LIMIT"),
    "qualify": ("QUALIFY", "window functions need all rows at once; leave it out"),
    "windows": ("WINDOW", "window functions need all rows at once; leave it out"),
}
_SAMPLE: Final = "SELECT o.region, SUM(o.price) FROM orders AS o JOIN customers AS c ON o.customer = c.id GROUP BY 1"


def asked_in(text: object) -> Statement | UnionOf:
    return _asked(_parsed(text), Tables(_asked, {}))


def _asked(node: Parsed, tables: Tables) -> Statement | UnionOf:
    """What a SELECT or a UNION of some asks for, where names in FROM may mean those of a WITH around it."""
    name, arguments = type(node).__name__, arguments_of(node)
    if name in ("Union", "Except", "Intersect"):
        return _union(node, tables)
    if name == "Subquery" and arguments.keys() == {"this"}:
        return _asked(node.this, tables)
    if name != "Select":
        raise InvalidJoin(f"The query has {sql_of(node)}, which is no SELECT; give one, such as {_SAMPLE!r}.")
    return _statement(node, tables.with_names(arguments.get("with")))


def _union(node: Parsed, tables: Tables) -> UnionOf:
    arguments = arguments_of(node)
    understood = {"this", "expression", "with", "distinct", "order", "limit", "offset"}
    if type(node).__name__ != "Union" or arguments.keys() - understood:
        raise InvalidJoin(
            f"The query has {type(node).__name__.upper()}, in {sql_of(node)}: of several SELECTs there are UNION and "
            "UNION ALL; ask for each by itself."
        )
    inside = tables.with_names(arguments.get("with"))
    parts = [_asked(side, inside) for side in (node.this, node.expression)]
    first = first_of(parts[0])
    ending = replace(ending_of(node, Aggregates(), first.items), distinct=bool(node.args.get("distinct")))
    if not ending.distinct:  # one after the other is as good as each inside of the next
        both = [one.parts if isinstance(one, UnionOf) and one.ending == NO_ENDING else (one,) for one in parts]
        parts = list(itertools.chain(*both))
    return UnionOf(tuple(parts), ending)


def _statement(select: Parsed, tables: Tables) -> Statement:
    _refuse_parts(select)
    arguments = arguments_of(select)
    if "from" not in arguments:
        raise InvalidJoin(f"The query has no FROM; name two tables, as in {_SAMPLE}.")
    first, joins = tables.of_select(select)
    conditions: list[Node] = []
    for one in () if "where" not in arguments else _parts(arguments["where"].this):
        taken = [first.alias, *(join.table.alias for join in joins)]
        if (join := join_of(one, tables, taken)) is not None:
            joins.append(join)
        else:
            conditions += _conditions(one)
    aliases = [first.alias, *(join.table.alias for join in joins)]
    for at, alias in enumerate(aliases):
        if alias in aliases[:at]:
            raise InvalidJoin(f"FROM has two tables named {alias}; give each a name of its own with AS.")
    aggregates = Aggregates()
    items = tuple(_item(part, aggregates) for part in arguments["expressions"])
    groups = _groups(arguments.get("group"), items)
    ending = ending_of(select, aggregates, items)
    found = Statement(first, tuple(joins), items, aggregates.found, tuple(conditions), groups, ending)
    if ending.having is not None and not found.is_grouped:
        raise InvalidJoin("The query has HAVING, which is for groups; put it into WHERE.")
    return found


def _parts(where: Parsed) -> Iterator[Parsed]:
    """The conditions that must all hold."""
    if type(where).__name__ == "And":
        for side in (where.this, where.expression):
            yield from _parts(side)
    elif type(where).__name__ == "Paren" and type(where.this).__name__ == "And":
        yield from _parts(where.this)
    else:
        yield where


def _parsed(text: object) -> Parsed:
    import sqlglot

    if not isinstance(text, str) or not text.strip():
        raise InvalidJoin(f"The query is {text!r}; give a text, such as {_SAMPLE!r}.")
    try:
        found = [one for one in sqlglot.parse(text, dialect="duckdb") if one is not None]
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).splitlines()[0].split(". Line")[0].rstrip(".")
        raise InvalidJoin(f"The query is not SQL ({reason}); correct {_short(text)!r}.") from error
    if len(found) != 1:
        raise InvalidJoin(f"The query has {len(found)} statements; give one.")
    return found[0]


def _refuse_parts(select: Parsed) -> None:
    from sqlglot import expressions as e

    for name, value in arguments_of(select).items():
        if name in _REFUSED:
            word, cure = _REFUSED[name]
            raise InvalidJoin(f"The query has {word}, which is not supported; {cure}.")
        if name not in _UNDERSTOOD:
            one = value[0] if isinstance(value, list) else value
            shown = sql_of(one) if hasattr(one, "sql") else str(one)
            raise InvalidJoin(f"The query has {shown} ({name.upper()}), which is not supported; leave it out.")
    for node in (one for part in select.expressions for one in part.walk()):
        if isinstance(node, e.Query | e.Exists | e.SubqueryPredicate):
            raise InvalidJoin(f"SELECT has {sql_of(node)}, a subquery; join its table, or put its value there.")
        if isinstance(node, e.Window):
            raise InvalidJoin(f"The query has {sql_of(node)}, a window function, which needs all rows; leave it out.")


def _conditions(node: Parsed) -> list[Node]:
    if has_aggregate(node):
        raise InvalidJoin(f"WHERE has {sql_of(node)}, with an aggregate; WHERE is asked of single rows.")
    return conjuncts(from_sqlglot(node, "WHERE"))


def _item(node: Parsed, aggregates: Aggregates) -> Item | Star:
    of = node.this if type(node).__name__ == "Alias" else node
    is_column = type(of).__name__ == "Column"
    if type(of).__name__ == "Star" or (is_column and type(of.this).__name__ == "Star"):
        star = of.this if is_column else of
        if arguments_of(star):
            raise InvalidJoin(f"SELECT has {sql_of(of)}; name the columns that you want.")
        return Star(of.table or None if is_column else None)
    text = str(of.sql(dialect="duckdb", comments=False))
    name = str(node.alias) if of is not node else str(of.name) if is_column else text
    return Item(name, aggregates.expression(of, "SELECT"), text)


def _groups(group: Parsed, items: Sequence[Item | Star]) -> tuple[Group, ...]:
    if group is None:
        return ()
    if arguments_of(group).keys() == {"all"}:
        alone = [one.aggregated if isinstance(one, Item) else False for one in items]
        return tuple(Group(str(at), at) for at, aggregated in enumerate(alone, 1) if not aggregated)
    if arguments_of(group).keys() != {"expressions"}:
        shown = sql_of(group).strip()
        raise InvalidJoin(f"The query has {shown}; group by names, expressions or numbers of the SELECT.")
    return tuple(_group(one) for one in group.expressions)


def _group(node: Parsed) -> Group:
    text = str(node.sql(dialect="duckdb", comments=False))
    if type(node).__name__ == "Literal" and not node.is_string and str(node.this).isdecimal():
        return Group(text, int(str(node.this)))
    if has_aggregate(node):
        raise InvalidJoin(f"GROUP BY has {text}, with an aggregate; group by what single rows have.")
    return Group(text, from_sqlglot(node, "GROUP BY"))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
