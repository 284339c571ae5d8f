"""A statement with aggregates as a question about the joined row, which is estimated."""

from collections.abc import Mapping

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.formulas import Formula
from sooner.estimation.question import Aggregate, Question
from sooner.estimation.workings import JoinedColumn
from sooner.expressions.checking import condition, typed
from sooner.expressions.tree import Column, Node
from sooner.queries.naming import Place, Scope, group_of, require_distinct
from sooner.queries.statement import Item, Statement
from sooner.sides import SIDES


def question_in(
    statement: Statement, scope: Scope, where: Node | None, joined: pa.Schema, columns: Mapping[str, JoinedColumn]
) -> Question:
    """Of the columns of the joined row, by their names there."""
    names: dict[Place, Node] = {}
    for name, column in columns.items():
        sides = (*SIDES, None) if column.shared else (column.side,)
        names |= {Place(side, column.name): Column(name) for side in sides}
    groups: list[tuple[str, Node]] = []
    items = [one for one in statement.items if isinstance(one, Item)]
    if len(items) < len(statement.items):
        raise InvalidJoin("SELECT has * beside aggregates; name the columns that are grouped by.")
    nodes = {id(one): scope.resolved(one.node, "SELECT", names.__getitem__) for one in items if not one.aggregated}
    for group in statement.groups:
        node = scope.resolved(group_of(group, statement, scope), "GROUP BY", names.__getitem__)
        typed(node, joined, "GROUP BY")
        taken = [name for name, _ in groups]  # one expression may be there twice, under two names
        named = [one.name for one in items if not one.aggregated and nodes[id(one)] == node and one.name not in taken]
        groups.append((named[0] if named else group.text, node))
    for one in items:
        if not one.aggregated and nodes[id(one)] not in [node for _, node in groups]:
            raise InvalidJoin(f"SELECT has {one.text}, which is neither grouped by nor aggregated; add it to GROUP BY.")
    aggregates = []
    for one_of in statement.aggregates:
        of = None if one_of.of is None else scope.resolved(one_of.of, "SELECT", names.__getitem__)
        if of is not None:
            typed(of, joined, "SELECT")
        aggregates.append(Aggregate(one_of.name, one_of.function, of))
    if where is not None:
        where = condition(scope.resolved(where, "WHERE", names.__getitem__), joined, "WHERE").node
    shown = tuple(Formula(one.name, one.node) for one in items if one.aggregated)
    require_distinct([*(name for name, _ in groups), *(one.name for one in shown)])
    return Question(tuple(aggregates), tuple(groups), where, shown)
