"""How the tables of a statement are joined: by which equal columns, and which conditions hold for whom besides.

Conditions of one table are asked of its rows before they are joined, where that makes no difference; others of joined
rows. Equal columns that would close a circle among inner joins are such conditions as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.tree import Coalesce, Column, Comparison, Node, columns_of, renamed
from sooner.queries.naming import HIDING, ColumnAt, Equal, Place, Scope
from sooner.queries.statement import Join, Statement

_NULLS_BEFORE = ("right", "full")  # joins that give rows without those of the tables before them
_NULLS_HERE = ("left", "full")  # and those without rows of their own table


class Condition(NamedTuple):
    """`table` is where it is asked: of joined rows, if of none."""

    node: Node  # of columns by their whole names, or of keys of several tables
    part: str
    table: int | None


@dataclass(frozen=True)
class Joining:
    scope: Scope  # of joined rows
    order: tuple[int, ...]  # in which tables can join one after the other
    equal: tuple[Equal, ...]  # a column of an earlier table and one of a later
    conditions: tuple[Condition, ...]
    not_in: tuple[Equal, ...] = ()  # pairs that must not be equal, where a null forbids

    @property
    def hows(self) -> tuple[str, ...]:
        return self.scope.hows

    @property
    def is_inner(self) -> bool:
        return all(how == "inner" for how in self.hows)

    def keys(self, table: int) -> list[str]:
        """Its columns that must be equal to others."""
        return [one.name for pair in self.equal for one in pair if one.table == table]

    @property
    def stages(self) -> list[tuple[int, list[Equal]]]:
        """The tables after the first in the order in which they join, each with the columns of earlier ones and its own
        that must be equal.
        """
        found, joined = [], {self.order[0]}
        for at in self.order[1:]:
            pairs = [(one, other) if other.table == at else (other, one) for one, other in self.equal]
            found.append((at, [pair for pair in pairs if pair[1].table == at and pair[0].table in joined]))
            joined.add(at)
        return found

    def column(self, place: Place) -> Node:
        """The value that a place has in joined rows, by whole names."""
        found = tuple(self.scope.named(ColumnAt(table, place.name)) for table in self.scope.sources(place))
        return found[0] if len(found) == 1 else Coalesce(found)

    def conditions_of(self, table: int | None) -> list[Condition]:
        return [one for one in self.conditions if one.table == table]


def joining_of(statement: Statement, schemas: Sequence[pa.Schema]) -> Joining:
    return _Reading(statement, schemas).joining()


class _Reading:
    def __init__(self, statement: Statement, schemas: Sequence[pa.Schema]) -> None:
        self._statement = statement
        self._hows = statement.hows
        self._seen = [at for at, how in enumerate(self._hows) if how not in HIDING]
        self._scope = Scope(statement.tables, schemas, self._hows, tuple(self._seen))
        self._conditions: list[Condition] = []
        self._not_in: list[Equal] = []

    def joining(self) -> Joining:
        for at, join in enumerate(self._statement.joins, 1):
            self._read_join(at, join)
        for one in self._statement.where:
            self._read_where(one, "WHERE", len(self._hows) - 1)
        equal = self._scope.equal
        order = self._ordered(equal)
        kept = _without_circles(equal) if self._is_inner else self._without_repeats(equal, order)
        for pair in equal:
            if pair not in kept:
                self._add_rest(Comparison("=", *map(self._scope.named, pair)), "WHERE", pair[1].table)
        return Joining(self._scope, tuple(order), tuple(kept), tuple(self._conditions), tuple(self._not_in))

    @property
    def _is_inner(self) -> bool:
        return all(how == "inner" for how in self._hows)

    # Reading conditions

    def _read_join(self, at: int, join: Join) -> None:
        before = [table for table in self._seen if table < at]
        for name in join.using:
            left = self._column(self._scope.among(before), self._scope.among(before).place(Column(name), "USING"))
            right = self._scope.among([at]).place(Column(name, join.table.alias), "USING")
            self._add_equal((left, ColumnAt(at, right.name)))
        for of, own in join.pairs:
            compared = self._only_column(of, before), self._only_column(own, [at])
            self._add_equal(compared)
            self._not_in += [compared] if join.forbids_nulls else []
        here = self._scope.among(before, inner=at) if join.inside else self._scope.among([*before, at])
        for one in join.on:
            pair = self._equal_in(here, one, "ON")
            if join.forbids_nulls and here.tables_of(one, "WHERE") - {at}:
                raise InvalidJoin(f"NOT IN has {one}, of a table outside of its SELECT; write NOT EXISTS.")
            if pair is not None and pair[0].table != pair[1].table == at:
                self._add_equal(pair)
            elif join.how == "inner" or (join.how == "semi" and at not in here.tables_of(one, "ON")):
                self._read_where(self._whole(here, one, "ON"), "ON", at)
            else:
                self._read_outer(here, one, at)

    def _only_column(self, node: Node, tables: Sequence[int]) -> ColumnAt:
        if not isinstance(node, Column):
            raise InvalidJoin(
                f"IN compares {node}, which is no column; give what it is a name by WITH, and compare that."
            )
        scope = self._scope.among(tables)
        return self._column(scope, scope.place(node, "WHERE"))

    def _read_outer(self, here: Scope, one: Node, at: int) -> None:
        """A condition of a join that is not inner: one of the side whose rows need not be there."""
        how, own, tables = self._hows[at], self._scope.tables[at].alias, here.tables_of(one, "ON")
        asked_before = [table for table in range(at) if not self._may_be_missing(table, at - 1)]
        allowed = asked_before if how == "right" else [] if how == "full" else [at]
        if len(tables) > 1 or not allowed or not tables <= set(allowed):
            of = {"right": " and by conditions of the left", "full": ""}.get(how, f" and by conditions of {own}")
            raise InvalidJoin(
                f"ON of {how.upper()} JOIN has {one}, but rows join there by equal columns{of} alone; leave it out."
            )
        self._conditions.append(Condition(self._whole(here, one, "ON"), "ON", [*tables, *allowed][0]))

    def _read_where(self, one: Node, part: str, until: int) -> None:
        """A condition on what the joins up to this one give."""
        pair = self._equal_in(self._scope, one, part)
        tables = self._scope.tables_of(one, part)
        (table,) = tables if len(tables) == 1 else (None,)
        if pair is not None and table is None and self._joins_by(pair[1].table):
            self._add_equal(pair)
        elif table is None or self._may_be_missing(table, until):
            self._add_rest(one, part, until)
        else:
            self._conditions.append(Condition(one, part, table))

    def _add_rest(self, one: Node, part: str, until: int) -> None:
        if part == "ON" and any(how in _NULLS_BEFORE for how in self._hows[until + 1 :]):
            raise InvalidJoin(f"ON has {one} before a RIGHT or FULL JOIN, which is not supported; put it into WHERE.")
        self._conditions.append(Condition(one, part, None))

    def _joins_by(self, table: int) -> bool:
        """Whether a condition on all rows may say how this table joins: nothing comes without it later on."""
        return self._hows[table] == "inner" and not any(how in _NULLS_BEFORE for how in self._hows[table + 1 :])

    def _may_be_missing(self, table: int, until: int) -> bool:
        """Whether the joins up to this one give rows without this table."""
        later = self._hows[table + 1 : until + 1]
        return self._hows[table] in _NULLS_HERE or any(how in _NULLS_BEFORE for how in later)

    # Equal columns

    def _equal_in(self, scope: Scope, one: Node, part: str) -> Equal | None:
        """The two columns, that of the earlier table first, if a condition only says that they are equal."""
        if not isinstance(one, Comparison) or one.operator != "=":
            return None
        if not isinstance(one.left, Column) or not isinstance(one.right, Column):
            return None
        places = [scope.place(column, part) for column in (one.left, one.right)]
        if any(len(scope.sources(place)) > 1 for place in places):
            return None
        first, second = sorted((self._column(scope, place) for place in places), key=lambda column: column.table)
        return first, second

    def _column(self, scope: Scope, place: Place) -> ColumnAt:
        sources = scope.sources(place)
        if len(sources) > 1:
            raise InvalidJoin(
                f"USING has {place.name} after a FULL JOIN, where it is of either table; write ON and name one of them."
            )
        return ColumnAt(sources[0], place.name)

    def _add_equal(self, pair: Equal) -> None:
        if pair not in self._scope.equal:
            self._scope = replace(self._scope, equal=(*self._scope.equal, pair))

    def _whole(self, scope: Scope, node: Node, part: str) -> Node:
        """The same by whole names, which mean the same in any scope; keys of several tables stay as they are."""
        places = {column: scope.place(column, part) for column in columns_of(node)}
        alone = {column: place for column, place in places.items() if len(place.tables) == 1}
        return renamed(
            node,
            {column: self._scope.named(ColumnAt(place.tables[0], place.name)) for column, place in alone.items()},
        )

    def _ordered(self, equal: Sequence[Equal]) -> list[int]:
        """The tables in an order in which each is equal to one before it; only inner joins may change places."""
        names = [table.alias for table in self._scope.tables]
        order, waiting = [0], list(range(1, len(names)))
        n_inner = next((at for at, how in enumerate(self._hows) if how != "inner"), len(names))
        while waiting:
            candidates = [at for at in waiting if at < n_inner] or waiting[:1]
            pairs = [{one.table for one in pair} for pair in equal]
            found = [at for at in candidates if any(at in pair and pair <= {at, *order} for pair in pairs)]
            if not found:
                first, second = names[order[-1]], names[candidates[0]]
                raise InvalidJoin(
                    f"The query does not say which columns of {first} and {second} must be equal; add ON, such as ON "
                    f"{first}.k = {second}.k."
                )
            order.append(found[0])
            waiting.remove(found[0])
        return order

    def _without_repeats(self, equal: Sequence[Equal], order: Sequence[int]) -> list[Equal]:
        """Those by which each table joins: a column is compared once there, and once more in what is joined."""
        kept: list[Equal] = []
        for pair in equal:
            later = max(pair, key=lambda one: order.index(one.table)).table
            of_table = [one for one in kept if max(one, key=lambda each: order.index(each.table)).table == later]
            if not any(set(pair) & set(one) for one in of_table):
                kept.append(pair)
            elif not self._joins_by(later):
                first, second = map(self._scope.named, pair)
                raise InvalidJoin(f"ON has {first} = {second}, and one of them is compared already; leave it out.")
        return kept


def _without_circles(equal: Sequence[Equal]) -> list[Equal]:
    """As many as one operator of many inputs takes: with them, tables and what they have in common are a tree.

    First come those by which tables hang together at all, which are never a circle.
    """
    kept: list[Equal] = []
    together: dict[int, set[int]] = {}
    for one, other in equal:
        mine, theirs = (together.get(column.table, {column.table}) for column in (one, other))
        if not mine & theirs:
            kept.append((one, other))
            together |= dict.fromkeys(mine | theirs, mine | theirs)
    for pair in equal:
        if pair not in kept and _is_forest([*kept, pair]):
            kept.append(pair)
    return kept


def _is_forest(equal: Iterable[Equal]) -> bool:
    groups: list[set[ColumnAt]] = []
    for pair in equal:
        touched = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in touched] + [set(pair).union(*touched)]
    members = [frozenset(column.table for column in group) for group in groups]
    if any(len(tables) < len(group) for tables, group in zip(members, groups, strict=True)):
        return False  # two columns of one table
    trees: list[set[int]] = []
    for tables in set(members):  # columns of the same tables are compared together
        touched_trees = [tree for tree in trees if not tree.isdisjoint(tables)]
        if any(len(tree & tables) > 1 for tree in touched_trees):
            return False
        trees = [tree for tree in trees if tree not in touched_trees] + [set(tables).union(*touched_trees)]
    return True
