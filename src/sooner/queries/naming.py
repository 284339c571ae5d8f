"""Which column of which table a name means: `o.price`, or `price` where only one table has it.

As in SQL the case of letters does not matter, unless a name with exactly these letters is there.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.tree import Column, Node, all_of, columns_of, conjuncts, renamed
from sooner.queries.reading import columns_that_are_equal
from sooner.queries.statement import Group, Item, Star, Statement, TableName


@dataclass(frozen=True)
class Place:
    """A column of a side; of no side where it is a key that both have by that name."""

    side: int | None
    name: str


@dataclass(frozen=True)
class Scope:
    """The columns of both tables, and which of them must be equal."""

    tables: tuple[TableName, TableName]
    schemas: Sequence[pa.Schema]
    keys: tuple[tuple[str, str], ...] = field(default=())

    def place(self, column: Column, part: str) -> Place:
        if column.table is not None:
            side = self.side(column.table, f"{part} has {column}")
            found = nearest_of(column.name, self.schemas[side].names)
            return Place(side, found) if found is not None else self._unknown(column, part, [side])
        left, right = (nearest_of(column.name, schema.names) for schema in self.schemas)
        if left is not None and right is not None:
            if left == right and (left, right) in self.keys:
                return Place(None, left)
            first, second = (table.alias for table in self.tables)
            raise InvalidJoin(
                f"{part} has {column.name}, which is in both tables; write {first}.{column.name} or "
                f"{second}.{column.name}."
            )
        if left is not None:
            return Place(0, left)
        return Place(1, right) if right is not None else self._unknown(column, part, (0, 1))

    def has(self, column: Column) -> bool:
        return column.table is not None or any(nearest_of(column.name, one.names) for one in self.schemas)

    def side(self, table: str, context: str) -> int:
        aliases = [one.alias for one in self.tables]
        found = nearest_of(table, aliases)
        if found is None:
            raise InvalidJoin(f"{context}, and there is no table {table} in FROM; there are {' and '.join(aliases)}.")
        return aliases.index(found)

    def resolved(self, node: Node, part: str, to: Callable[[Place], Node]) -> Node:
        """The same tree with other nodes in the places of columns."""
        return renamed(node, {column: to(self.place(column, part)) for column in columns_of(node)})

    def places(self, node: Node, part: str) -> set[Place]:
        return {self.place(column, part) for column in columns_of(node)}

    def _unknown(self, column: Column, part: str, sides: Iterable[int]) -> NoReturn:
        names = [name for side in sides for name in self.schemas[side].names]
        where = " or ".join(self.tables[side].name for side in sides)
        raise InvalidJoin(f"{part} has {column}, and {where} has no such column; {hint_of(column.name, names)}.")


def nearest_of(name: str, names: Sequence[str]) -> str | None:
    """The very name, or the one that differs in the case of letters."""
    if name in names:
        return name
    alike = [one for one in names if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def hint_of(name: str, names: Sequence[str]) -> str:
    """Which names there are, and the one that may have been meant."""
    near = difflib.get_close_matches(name, names, n=1)
    return f"{f'did you mean {near[0]}? There' if near else 'there'} are {', '.join(names)}"


def scope_of(statement: Statement, schemas: Sequence[pa.Schema]) -> tuple[Scope, Node | None]:
    """And what is left of WHERE, which says where tables meet if there is neither ON nor USING."""
    scope = Scope(statement.tables, schemas)
    if statement.using:
        keys = [_using(scope, name) for name in statement.using]
        return Scope(statement.tables, schemas, tuple(keys)), statement.where
    if statement.on:
        keys = []
        for pair in statement.on:
            if (key := _key(scope, pair, "ON")) is None:
                raise InvalidJoin(f"ON has {pair[0]} = {pair[1]}, both of one table; name a column of each.")
            keys.append(key)
        return Scope(statement.tables, schemas, tuple(keys)), statement.where
    keys, rest = [], []
    for one in [] if statement.where is None else conjuncts(statement.where):
        equal = columns_that_are_equal(one)
        key = None if equal is None else _key(scope, equal, "WHERE")
        if key is None:
            rest.append(one)
        else:
            keys.append(key)
    if not keys or statement.how != "inner":
        first, second = (table.alias for table in statement.tables)
        raise InvalidJoin(
            f"The query does not say which columns of {first} and {second} must be equal; add ON, such as ON {first}.k "
            f"= {second}.k."
        )
    return Scope(statement.tables, schemas, tuple(keys)), all_of(rest) if rest else None


def _key(scope: Scope, pair: tuple[Column, Column], part: str) -> tuple[str, str] | None:
    """The columns of left and right, if they are of different sides."""
    places = sorted((scope.place(column, part) for column in pair), key=lambda place: place.side or 0)
    return (places[0].name, places[1].name) if [place.side for place in places] == [0, 1] else None


def _using(scope: Scope, name: str) -> tuple[str, str]:
    left, right = (scope.place(Column(name, table.alias), "USING") for table in scope.tables)
    return left.name, right.name


def group_of(group: Group, statement: Statement, scope: Scope) -> Node:
    """What is grouped by: a column if there is one of that name, or else an item of the select list."""
    if isinstance(group.of, int):
        if not 1 <= group.of <= len(statement.items):
            raise InvalidJoin(f"GROUP BY has {group.of}, but SELECT has {len(statement.items)} items; count from 1.")
        item = statement.items[group.of - 1]
    elif isinstance(group.of, Column) and not scope.has(group.of):
        named = [one for one in statement.items if isinstance(one, Item) and one.name == group.of.name]
        if not named:
            return group.of
        item = named[0]
    else:
        return group.of
    if isinstance(item, Star) or item.aggregated:
        text = "*" if isinstance(item, Star) else item.text
        raise InvalidJoin(f"GROUP BY has {group.text}, which is {text}; group by what single rows have.")
    return item.node


def require_distinct(names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InvalidJoin(f"The query gives two columns named {name}; give one another name with AS.")
