"""EXISTS and IN with a SELECT, as sqlglot has parsed them: a semi join, or an anti join where NOT stands before."""

from collections.abc import Sequence
from dataclasses import replace

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, sql_of
from sooner.expressions.reading import from_sqlglot
from sooner.expressions.tree import Column, Node, columns_of, conjuncts, renamed
from sooner.queries.aggregates import has_aggregate
from sooner.queries.reading_tables import Tables, arguments_of
from sooner.queries.statement import Item, Join, TableName, first_of

_WITHOUT_EFFECT = {"kind", "hint", "distinct", "order", "limit"}  # on whether there is a row


def join_of(node: Parsed, tables: Tables, taken: Sequence[str]) -> Join | None:
    """The join that a condition of WHERE is, if it is one; its table gets a name that is not taken."""
    is_not, inner = False, node
    while type(inner).__name__ in ("Not", "Paren"):
        is_not, inner = is_not != (type(inner).__name__ == "Not"), inner.this
    how = "anti" if is_not else "semi"
    if type(inner).__name__ == "Exists":
        return _exists(inner.this, how, tables, taken)
    if type(inner).__name__ == "In" and inner.args.get("query"):
        return _in(inner, how, tables, taken)
    return None


def _exists(select: Parsed, how: str, tables: Tables, taken: Sequence[str]) -> Join:
    if limit := arguments_of(select).get("limit"):
        raise InvalidJoin(f"EXISTS has {sql_of(limit).strip()}, which is not supported; leave it out.")
    table, where = _plain(select, tables)
    if table is None:
        raise InvalidJoin(
            f"The query has EXISTS ({sql_of(select)}), of more than one table and WHERE; give a part of it a name by "
            "WITH, or write IN."
        )
    renamed_table, conditions = _with_other_name(table, where, taken)
    return Join(renamed_table, how, tuple(conditions), inside=True)


def _in(node: Parsed, how: str, tables: Tables, taken: Sequence[str]) -> Join:
    of, select = from_sqlglot(node.this, "WHERE"), node.args["query"]
    select = select.this if type(select).__name__ == "Subquery" else select
    if "limit" not in arguments_of(select) and type(select).__name__ == "Select" and len(select.expressions) == 1:
        table, where = _plain(select, tables)
        item = select.expressions[0]
        item = item.this if type(item).__name__ == "Alias" else item
        if table is not None and type(item).__name__ == "Column" and type(item.this).__name__ != "Star":
            column = from_sqlglot(item, "SELECT")
            own = Column(column.name, table.alias) if isinstance(column, Column) and column.table is None else column
            table, (own, *where) = _with_other_name(table, [own, *where], taken)
            return Join(table, how, tuple(where), pairs=((of, own),), inside=True, forbids_nulls=how == "anti")
    asked = tables.read(select)
    first = first_of(asked)
    if len(first.items) != 1 or not isinstance(first.items[0], Item):
        raise InvalidJoin(f"The query has IN ({sql_of(select)}), of more than one column; name one.")
    name = _free("subquery", taken)
    own = Column(first.items[0].name, name)
    return Join(TableName(name, name, asked), how, pairs=((of, own),), inside=True, forbids_nulls=how == "anti")


def _plain(select: Parsed, tables: Tables) -> tuple[TableName | None, list[Node]]:
    """The table of a SELECT and its conditions, if it has nothing else that matters to whether there is a row."""
    arguments = arguments_of(select)
    if type(select).__name__ != "Select" or arguments.keys() - _WITHOUT_EFFECT - {"expressions", "from", "where"}:
        return None, []
    if "from" not in arguments or any(map(has_aggregate, select.expressions)):
        return None, []
    where = arguments["where"].this if "where" in arguments else None
    if where is not None and _has_subquery(where):
        return None, []
    conditions = [] if where is None else conjuncts(from_sqlglot(where, "WHERE"))
    return tables.table(arguments["from"].this), conditions


def _has_subquery(node: Parsed) -> bool:
    from sqlglot import expressions as e

    return any(isinstance(one, e.Query | e.Exists) for one in node.walk())


def _with_other_name(table: TableName, nodes: Sequence[Node], taken: Sequence[str]) -> tuple[TableName, list[Node]]:
    """What is called as a table outside means the table inside."""
    alias = _free(table.alias, taken)
    found = []
    for node in nodes:
        own = [one for one in columns_of(node) if one.table is not None and one.table.lower() == table.alias.lower()]
        found.append(renamed(node, {one: Column(one.name, alias) for one in own}))
    return replace(table, alias=alias), found


def _free(name: str, taken: Sequence[str]) -> str:
    while name.lower() in {one.lower() for one in taken}:
        name += "_"
    return name
