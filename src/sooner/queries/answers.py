"""What is shown of groups: the columns of the select list, of which groups, in which order.

Here what is grouped by is a column with a number, and aggregates are columns of their own names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import AGGREGATE
from sooner.expressions.tree import Column, Node, columns_of
from sooner.queries.naming import require_distinct
from sooner.queries.questions import Asked
from sooner.queries.statement import Ordering, Statement

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
    distinct: bool = False

    @property
    def nodes(self) -> list[Node]:
        """All that must be known of a group."""
        having = [] if self.having is None else [self.having]
        return [*(node for _, node in self.shown), *having, *(key.of for key in self.order)]


def answer_of(statement: Statement, asked: Asked) -> Answer:
    shown = tuple((one.name, _over_groups(one.node, asked, "SELECT")) for one in asked.items)
    require_distinct([name for name, _ in shown])
    ending = statement.ending
    having = None if ending.having is None else _over_groups(ending.having, asked, "HAVING", dict(shown))
    order = tuple(_key(one, shown, asked) for one in ending.order)
    if ending.distinct and (hidden := [str(key.of) for key in order if key.of not in dict(shown).values()]):
        raise InvalidJoin(f"ORDER BY has {hidden[0]}, which SELECT DISTINCT does not show; add it to SELECT.")
    return Answer(shown, having, order, ending.limit, ending.offset, ending.distinct)


def _over_groups(node: Node, asked: Asked, part: str, shown: Mapping[str, Node] | None = None) -> Node:
    """Columns are aggregates, what is grouped by, or else names of the select list that are `shown`."""
    if isinstance(node, Column) and node.table == AGGREGATE:
        return Column(node.name)
    is_shown = shown is not None and isinstance(node, Column) and node.table is None and node.name in shown
    if not any(column.table == AGGREGATE for column in columns_of(node)):
        try:
            place = asked.place_of(node, part)
        except InvalidJoin:
            if isinstance(node, Column) and not is_shown:
                raise
            place = None
        if place is not None:
            return Column(f"{GROUP}{place}")
    if isinstance(node, Column):
        if is_shown and shown is not None:
            return shown[node.name]
        raise InvalidJoin(f"{part} has {node}, which is neither grouped by nor aggregated; add it to GROUP BY.")
    return node.with_children(lambda child: _over_groups(child, asked, part, shown))


def _key(ordering: Ordering, shown: tuple[tuple[str, Node], ...], asked: Asked) -> Key:
    ways, names = (ordering.descending, ordering.nulls_first), dict(shown)
    if isinstance(ordering.of, int):
        return Key(shown[place_in_select(ordering.of, len(shown))][1], *ways)
    node = ordering.of.node
    if isinstance(node, Column) and node.table is None and node.name in names:
        return Key(names[node.name], *ways)  # as in SQL, names of the select list come first here
    return Key(_over_groups(node, asked, "ORDER BY", names), *ways)


def place_in_select(number: int, items: int) -> int:
    """Of an item that ORDER BY gives by its number."""
    if not 1 <= number <= items:
        raise InvalidJoin(f"ORDER BY has {number}, but SELECT has {items} items; count from 1.")
    return number - 1
