"""A statement with groups or aggregates as a question about the joined row."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.question import Question
from sooner.expressions.checking import condition, typed
from sooner.expressions.tree import Node, all_of
from sooner.queries.joining import Condition, Joining
from sooner.queries.naming import Place, group_of
from sooner.queries.rows import RowsWanted
from sooner.queries.statement import Item, Statement


class Asked:
    """What a statement groups by and aggregates, by the names of the joined row: `column` is what a place is there."""

    def __init__(self, statement: Statement, joining: Joining, column: Callable[[Place], Node]) -> None:
        self._statement = statement
        self._scope = joining.scope
        self._column = column
        self.items = [one for one in statement.items if isinstance(one, Item)]
        if len(self.items) < len(statement.items):
            raise InvalidJoin("SELECT has * beside aggregates; name the columns that are grouped by.")
        self.groups = [self.resolved(group_of(one, statement, self._scope), "GROUP BY") for one in statement.groups]
        self._nodes = [None if one.aggregated else self.resolved(one.node, "SELECT") for one in self.items]

    def resolved(self, node: Node, part: str) -> Node:
        return self._scope.resolved(node, part, self._column)

    def place_of(self, node: Node, part: str) -> int | None:
        """Which of the groups an expression is, if it is one."""
        found = self.resolved(node, part)
        return self.groups.index(found) if found in self.groups else None

    def _names(self) -> list[str]:
        """Those of the groups: what the select list calls them, or their text."""
        taken: list[str] = []  # one expression may be there twice, under two names
        for group, node in zip(self._statement.groups, self.groups, strict=True):
            both = zip(self.items, self._nodes, strict=True)
            named = [one.name for one, of in both if of == node and one.name not in taken]
            taken.append(named[0] if named else group.text)
        return taken

    def question(self, conditions: Sequence[Condition], joined: pa.Schema) -> Question:
        """Of joined rows for which these conditions hold."""
        for node in self.groups:
            typed(node, joined, "GROUP BY")
        aggregates = []
        for one in self._statement.aggregates:
            of = None if one.of is None else self.resolved(one.of, "SELECT")
            if of is not None:
                typed(of, joined, "SELECT")
            aggregates.append(replace(one, of=of))
        where = [condition(self.resolved(one.node, one.part), joined, one.part).node for one in conditions]
        groups = tuple(zip(self._names(), self.groups, strict=True))
        return Question(tuple(aggregates), groups, all_of(where) if where else None)


def rows_to_group(statement: Statement, joining: Joining) -> RowsWanted:
    """The joined rows with all that the statement groups by and aggregates."""
    groups = Asked(statement, joining, joining.column).groups
    nodes = [*groups, *(one.of for one in statement.aggregates if one.of is not None)]
    return RowsWanted(joining, [(f"{at}", node) for at, node in enumerate(nodes)])
