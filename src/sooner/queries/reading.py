"""From the text of a query to a statement, by sqlglot's parser in the dialect of DuckDB.

What a join of two tables cannot answer is refused here, in a sentence that names the part.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeAlias

from sooner.errors import InvalidJoin
from sooner.estimation.question import Aggregate
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import Column, Comparison, Node, conjuncts
from sooner.queries.aggregates import Aggregates, has_aggregate
from sooner.queries.statement import Group, Item, Star, Statement, TableName

Parsed: TypeAlias = Any  # by sqlglot, whose names for it changed between its versions

_UNDERSTOOD: Final = {"expressions", "from", "joins", "where", "group", "kind", "hint"}
_REFUSED: Final = {
    "with": ("WITH", "give what it names as a table of its own"),
    "distinct": ("DISTINCT", "group by the columns, and count"),
    "having": ("HAVING", "leave out groups of the answer yourself"),
    "order": ("ORDER BY", "rows come as they are found; sort the answer"),
    "limit": ("LIMIT", "take head(n) of the answer, or stop it with until= or seconds="),
    "offset": ("OFFSET", "rows come in no order; leave it out"),
    "fetch": ("FETCH", "take head(n) of the answer"),
    "qualify": ("QUALIFY", "window functions need all rows at once; leave it out"),
    "windows": ("WINDOW", "window functions need all rows at once; leave it out"),
}
_SAMPLE: Final = "SELECT o.region, SUM(o.price) FROM orders AS o JOIN customers AS c ON o.customer = c.id GROUP BY 1"


def statement_of(text: object) -> Statement:
    select = _parsed(text)
    _refuse_parts(select)
    arguments = _arguments(select)
    if "from" not in arguments:
        raise InvalidJoin(f"The query has no FROM; name two tables, as in {_SAMPLE}.")
    left, joins = arguments["from"].this, arguments.get("joins") or []
    if not joins or len(joins) > 1 or _arguments(left).get("joins") or _arguments(joins[0].this).get("joins"):
        named = [_sql(left), *(_sql(join.this) for join in joins)]
        raise InvalidJoin(f"The query reads {len(named)} tables ({', '.join(named)}); a join is of two.")
    tables = _table(left), _table(joins[0].this)
    if tables[0].alias == tables[1].alias:
        raise InvalidJoin(f"FROM has two tables named {tables[0].alias}; give each a name of its own with AS.")
    aggregates = Aggregates()
    items = tuple(_item(part, aggregates) for part in arguments["expressions"])
    where = None if "where" not in arguments else _condition(arguments["where"].this)
    how = _how(joins[0], bool(aggregates.found))
    on, using = _keys(joins[0])
    groups = _groups(arguments.get("group"), aggregates.found)
    return Statement(tables, how, on, using, items, aggregates.found, where, groups)


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
    name = type(found[0]).__name__
    if name in ("Union", "Except", "Intersect"):
        raise InvalidJoin(f"The query has {name.upper()}, of several SELECTs; ask each of them by itself.")
    if name != "Select":
        raise InvalidJoin(f"The query is {_short(text)!r}, which is no SELECT; give one, such as {_SAMPLE!r}.")
    return found[0]


def _refuse_parts(select: Parsed) -> None:
    from sqlglot import expressions as e

    for name, value in _arguments(select).items():
        if name in _REFUSED:
            word, cure = _REFUSED[name]
            raise InvalidJoin(f"The query has {word}, which is not supported; {cure}.")
        if name not in _UNDERSTOOD:
            shown = _sql(value if not isinstance(value, list) else value[0])
            raise InvalidJoin(f"The query has {shown} ({name.upper()}), which is not supported; leave it out.")
    for node in select.walk():
        if isinstance(node, e.Query | e.Exists | e.SubqueryPredicate) and node is not select:
            raise InvalidJoin(f"The query has {_sql(node)}, a subquery; join its table, or put its value there.")
        if isinstance(node, e.Window):
            raise InvalidJoin(f"The query has {_sql(node)}, a window function, which needs all rows; leave it out.")


def _arguments(node: Parsed) -> dict[str, Any]:
    """The arguments that are there; newer versions of sqlglot write `from_` and `with_`."""
    return {name.rstrip("_"): value for name, value in node.args.items() if value}


def _table(node: Parsed) -> TableName:
    arguments = _arguments(node)
    alias = arguments.get("alias")
    if type(node).__name__ != "Table" or type(node.this).__name__ != "Identifier":
        raise InvalidJoin(f"FROM has {_sql(node)}, which is no name of a table; give it in tables=, and name it.")
    if (alias is not None and _arguments(alias).keys() - {"this"}) or arguments.keys() - {"this", "alias", "db"}:
        raise InvalidJoin(f"FROM has {_sql(node)}; of a table there is its name and AS with another name.")
    name = ".".join(part for part in (node.text("db"), node.name) if part)
    return TableName(name, node.alias or node.name)


def _how(join: Parsed, aggregated: bool) -> str:
    arguments = _arguments(join)
    words = [str(arguments[name]).upper() for name in ("method", "side", "kind") if name in arguments]
    found = _KINDS.get(" ".join(word for word in words if word not in ("OUTER", "INNER")))
    if found is None or arguments.keys() - {"this", "method", "side", "kind", "on", "using"}:
        raise InvalidJoin(
            f"The query has {_sql(join)}, which is no kind of join here; there are INNER, LEFT, RIGHT, FULL, SEMI and "
            "ANTI, with ON or USING."
        )
    if aggregated and found != "inner":
        raise InvalidJoin(
            f"The query has {' '.join(words)} JOIN with aggregates, which are estimated for inner joins alone; write "
            "JOIN, or leave the aggregates out."
        )
    return found


_KINDS: Final = {
    "": "inner",
    "CROSS": "inner",  # of which WHERE says which rows match
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "semi",
    "LEFT SEMI": "semi",
    "ANTI": "anti",
    "LEFT ANTI": "anti",
}


def _keys(join: Parsed) -> tuple[tuple[tuple[Column, Column], ...], tuple[str, ...]]:
    arguments = _arguments(join)
    using = tuple(str(one.name) for one in arguments.get("using") or ())
    pairs = []
    for one in conjuncts(from_sqlglot(arguments["on"], "ON")) if "on" in arguments else ():
        if (pair := columns_that_are_equal(one)) is None:
            raise InvalidJoin(f"ON has {one}, but rows are joined by equal columns; put other conditions into WHERE.")
        pairs.append(pair)
    return tuple(pairs), using


def columns_that_are_equal(node: Node) -> tuple[Column, Column] | None:
    """The two columns, if a condition only says that they are equal; None otherwise."""
    if not isinstance(node, Comparison) or node.operator != "=":
        return None
    return (node.left, node.right) if isinstance(node.left, Column) and isinstance(node.right, Column) else None


def _condition(node: Parsed) -> Node:
    if has_aggregate(node):
        raise InvalidJoin(f"WHERE has {_sql(node)}, with an aggregate; WHERE is asked of single rows.")
    return from_sqlglot(node, "WHERE")


def _item(node: Parsed, aggregates: Aggregates) -> Item | Star:
    of = node.this if type(node).__name__ == "Alias" else node
    is_column = type(of).__name__ == "Column"
    if type(of).__name__ == "Star" or (is_column and type(of.this).__name__ == "Star"):
        star = of.this if is_column else of
        if _arguments(star):
            raise InvalidJoin(f"SELECT has {_sql(of)}; name the columns that you want.")
        return Star(of.table or None if is_column else None)
    text = str(of.sql(dialect="duckdb"))
    name = str(node.alias) if of is not node else str(of.name) if is_column else text
    if has_aggregate(of):
        return Item(name, aggregates.formula(of), text, aggregated=True)
    return Item(name, from_sqlglot(of, "SELECT"), text)


def _groups(group: Parsed, aggregates: Sequence[Aggregate]) -> tuple[Group, ...]:
    if group is None:
        return ()
    if not aggregates:
        raise InvalidJoin("The query has GROUP BY and no aggregate; add one, such as COUNT(*).")
    if _arguments(group).keys() != {"expressions"}:
        raise InvalidJoin(f"The query has {_sql(group).strip()}; group by names, expressions or numbers of the SELECT.")
    return tuple(_group(one) for one in group.expressions)


def _group(node: Parsed) -> Group:
    text = str(node.sql(dialect="duckdb"))
    if type(node).__name__ == "Literal" and not node.is_string and str(node.this).isdecimal():
        return Group(text, int(str(node.this)))
    if has_aggregate(node):
        _refuse_aggregate_in_group(text)
    return Group(text, from_sqlglot(node, "GROUP BY"))


def _refuse_aggregate_in_group(text: str) -> NoReturn:
    raise InvalidJoin(f"GROUP BY has {text}, with an aggregate; group by what single rows have.")


def _sql(node: Parsed) -> str:
    return _short(str(node.sql(dialect="duckdb")) if hasattr(node, "sql") else str(node))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
