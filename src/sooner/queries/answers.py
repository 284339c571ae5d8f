"""What is shown of groups: the columns of the select list, of which groups, in which order.

Here what is grouped by is a column with a number, and aggregates are columns of their own names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from sooner.errors import InvalidJoin
from sooner.expressions.tree import Column, Node, columns_of, renamed
from sooner.queries.naming import require_distinct
from sooner.queries.questions import Asked
from sooner.queries.statement import AGGREGATE, Item, Ordering, Statement

GROUP: Final = "#group "  # with a number


class Key(NamedTuple):
    """By what groups are sorted."""

    of: Node
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Answer:
    shown: tuple[tuple[str, Node], ...]
    having: Node | None = None
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int = 0


def answer_of(statement: Statement, asked: Asked) -> Answer:
    shown = tuple((one.name, _node(one, asked, "SELECT")) for one in asked.items)
    require_distinct([name for name, _ in shown])
    ending = statement.ending
    having = None if ending.having is None else _having(ending.having, dict(shown), asked)
    order = tuple(_key(one, shown, asked) for one in ending.order)
    return Answer(shown, having, order, ending.limit, ending.offset)


def _node(item: Item, asked: Asked, part: str) -> Node:
    if item.aggregated:
        return item.node
    place = asked.place_of(item.node, part)
    if place is None:
        raise InvalidJoin(f"{part} has {item.text}, which is neither grouped by nor aggregated; add it to GROUP BY.")
    return Column(f"{GROUP}{place}")


def _having(node: Node, shown: dict[str, Node], asked: Asked) -> Node:
    """Columns are aggregates, what is grouped by, or else names of the select list."""

    def meant(column: Column) -> Node:
        if column.table == AGGREGATE:
            return Column(column.name)
        return _shown_or(column, shown, lambda: _node(Item(str(column), column, str(column)), asked, "HAVING"))

    return renamed(node, {column: meant(column) for column in columns_of(node)})


def _shown_or(column: Column, shown: dict[str, Node], other: Callable[[], Node]) -> Node:
    """A column that is grouped by comes first, then a name of the select list."""
    if column.table is None and column.name in shown:
        try:
            return other()
        except InvalidJoin:
            return shown[column.name]
    return other()


def _key(ordering: Ordering, shown: tuple[tuple[str, Node], ...], asked: Asked) -> Key:
    ways = ordering.descending, ordering.nulls_first
    if isinstance(ordering.of, int):
        if not 1 <= ordering.of <= len(shown):
            raise InvalidJoin(f"ORDER BY has {ordering.of}, but SELECT has {len(shown)} items; count from 1.")
        return Key(shown[ordering.of - 1][1], *ways)
    item, names = ordering.of, dict(shown)
    if isinstance(item.node, Column) and item.node.table is None and item.name in names and not item.aggregated:
        return Key(names[item.name], *ways)  # as in SQL, names of the select list come first here
    return Key(_node(item, asked, "ORDER BY"), *ways)
