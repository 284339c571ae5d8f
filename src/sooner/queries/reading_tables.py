"""FROM and its joins, as sqlglot has parsed them."""

from typing import Any, Final

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import conjuncts
from sooner.queries.statement import Join, TableName

KINDS: Final = {
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


def arguments_of(node: Parsed) -> dict[str, Any]:
    """The arguments that are there; newer versions of sqlglot write `from_` and `with_`."""
    return {name.rstrip("_"): value for name, value in node.args.items() if value}


def tables_of(select: Parsed) -> tuple[TableName, list[Join]]:
    arguments = arguments_of(select)
    return table_of(arguments["from"].this), [_join(one) for one in arguments.get("joins") or ()]


def table_of(node: Parsed) -> TableName:
    arguments = arguments_of(node)
    alias = arguments.get("alias")
    if type(node).__name__ != "Table" or type(node.this).__name__ != "Identifier":
        raise InvalidJoin(f"FROM has {sql_of(node)}, which is no name of a table; give it in tables=, and name it.")
    if (alias is not None and arguments_of(alias).keys() - {"this"}) or arguments.keys() - {"this", "alias", "db"}:
        raise InvalidJoin(f"FROM has {sql_of(node)}; of a table there is its name and AS with another name.")
    name = ".".join(part for part in (node.text("db"), node.name) if part)
    return TableName(name, node.alias or node.name)


def _join(join: Parsed) -> Join:
    arguments = arguments_of(join)
    words = [str(arguments[name]).upper() for name in ("method", "side", "kind") if name in arguments]
    how = KINDS.get(" ".join(word for word in words if word not in ("OUTER", "INNER")))
    if how is None or arguments.keys() - {"this", "method", "side", "kind", "on", "using"}:
        raise InvalidJoin(
            f"The query has {sql_of(join)}, which is no kind of join here; there are INNER, LEFT, RIGHT, FULL, SEMI "
            "and ANTI, with ON or USING."
        )
    using = tuple(str(one.name) for one in arguments.get("using") or ())
    on = tuple(conjuncts(from_sqlglot(arguments["on"], "ON"))) if "on" in arguments else ()
    return Join(table_of(join.this), how, on, using)
