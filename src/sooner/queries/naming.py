"""Which column of which table a name means: `o.price`, or `price` where only one table has it.

As in SQL the case of letters does not matter, unless a name with exactly these letters is there.
"""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, NoReturn

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.tree import Column, Node, columns_of, renamed
from sooner.queries.statement import Group, Item, Star, Statement, TableName

HIDING: Final = ("semi", "anti")  # joins that give nothing of their table


class ColumnAt(NamedTuple):
    """A column of a table, by the place of the table in FROM."""

    table: int
    name: str


Equal = tuple[ColumnAt, ColumnAt]


@dataclass(frozen=True)
class Place:
    """A column of a table; of several where they must be equal and have that name."""

    tables: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class Scope:
    """The columns of all tables, how each joins those before it, and which columns must be equal.

    Names are looked for in those that are `seen`; of a subquery, first in its own table, which is `inner`.
    """

    tables: tuple[TableName, ...]
    schemas: Sequence[pa.Schema]
    hows: tuple[str, ...]
    seen: tuple[int, ...]
    equal: tuple[Equal, ...] = ()
    inner: int | None = None

    def place(self, column: Column, part: str) -> Place:
        if column.table is not None:
            table = self.table(column.table, f"{part} has {column}")
            found = nearest_of(column.name, self.schemas[table].names)
            return Place((table,), found) if found is not None else self._unknown(column, part, [table])
        if self.inner is not None and (own := nearest_of(column.name, self.schemas[self.inner].names)) is not None:
            return Place((self.inner,), own)
        named = {at: name for at in self.seen if (name := nearest_of(column.name, self.schemas[at].names)) is not None}
        if not named:
            self._unknown(column, part, self.seen)
        tables, names = tuple(named), set(named.values())
        if len(tables) > 1 and (len(names) > 1 or self.tables_with(ColumnAt(tables[0], *names)) != tables):
            aliases = [f"{self.tables[at].alias}.{column.name}" for at in tables]
            both = "both" if len(tables) == 2 else f"{len(tables)}"
            raise InvalidJoin(f"{part} has {column.name}, which is in {both} tables; write {' or '.join(aliases)}.")
        return Place(tables, named[tables[0]])

    def tables_with(self, column: ColumnAt) -> tuple[int, ...]:
        """Those that have a column of that name which must be equal to this one."""
        reached, more = {column.table}, True
        while more:
            pairs = [{one.table, other.table} for one, other in self.equal if one.name == other.name == column.name]
            found = {table for pair in pairs if pair & reached for table in pair if table in self.seen}
            more, reached = not found <= reached, reached | found
        return tuple(sorted(reached))

    def sources(self, place: Place) -> tuple[int, ...]:
        """The tables whose values a column has in joined rows: that of the first of these that is there."""
        found = place.tables[:1]
        for table in place.tables[1:]:
            found = {"right": (table,), "full": (*found, table)}.get(self.hows[table], found)
        return found

    def has(self, column: Column) -> bool:
        return column.table is not None or any(nearest_of(column.name, self.schemas[at].names) for at in self.seen)

    def table(self, name: str, context: str) -> int:
        aliases = {one.alias: at for at, one in enumerate(self.tables)}
        found = nearest_of(name, [alias for alias, at in aliases.items() if at in (*self.seen, self.inner)])
        if found is not None:
            return aliases[found]
        hidden = nearest_of(name, list(aliases))
        if hidden is not None and self.hows[aliases[hidden]] in HIDING:
            how = self.hows[aliases[hidden]].upper()
            raise InvalidJoin(f"{context}, but {how} JOIN gives nothing of {hidden}; leave it out.")
        known = [self.tables[at].alias for at in self.seen]
        raise InvalidJoin(f"{context}, and there is no table {name} in FROM; there are {_listed(known)}.")

    @property
    def aliases(self) -> list[str]:
        return [table.alias for table in self.tables]

    def among(self, seen: Iterable[int], inner: int | None = None) -> "Scope":
        """The same where only these tables are looked at."""
        return replace(self, seen=tuple(seen), inner=inner)

    def resolved(self, node: Node, part: str, to: Callable[[Place], Node]) -> Node:
        """The same tree with other nodes in the places of columns."""
        return renamed(node, {column: to(self.place(column, part)) for column in columns_of(node)})

    def places(self, node: Node, part: str) -> set[Place]:
        return {self.place(column, part) for column in columns_of(node)}

    def tables_of(self, node: Node, part: str) -> set[int]:
        """Those whose values an expression needs in joined rows."""
        return {table for place in self.places(node, part) for table in self.sources(place)}

    def named(self, column: ColumnAt) -> Column:
        """The column by its whole name."""
        return Column(column.name, self.tables[column.table].alias)

    def _unknown(self, column: Column, part: str, tables: Iterable[int]) -> NoReturn:
        names = [name for at in tables for name in self.schemas[at].names]
        where = " or ".join(self.tables[at].name for at in tables)
        raise InvalidJoin(f"{part} has {column}, and {where} has no such column; {hint_of(column.name, names)}.")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
