"""What a query in SQL asks for, once it is read. Names are as they were written; `naming` finds what they mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from sooner.estimation.question import Aggregate
from sooner.expressions.parsed import AGGREGATE
from sooner.expressions.tree import Node, columns_of


class FileNamed(NamedTuple):
    """Files that FROM names: in quotes, or as what a function such as read_csv takes."""

    paths: tuple[str, ...]
    function: str | None = None  # what it reads, such as parquet


@dataclass(frozen=True)
class TableName:
    """`of` is what is asked for it, if it is no table that was given; `file` is what it may be besides."""

    name: str
    alias: str
    of: "Statement | UnionOf | None" = None
    file: FileNamed | None = None


@dataclass(frozen=True)
class Join:
    """A table that joins those before it, and under which conditions.

    `pairs` must be equal as well: an expression over the tables before, and one over this. A table `inside` of a
    subquery is the first that names mean there. Where NOT IN `forbids_nulls`, none of them is known not to be equal.
    """

    table: TableName
    how: str = "inner"
    on: tuple[Node, ...] = ()
    using: tuple[str, ...] = ()
    pairs: tuple[tuple[Node, Node], ...] = ()
    inside: bool = False
    forbids_nulls: bool = False


@dataclass(frozen=True)
class Star:
    """All columns, or those of one table."""

    table: str | None = None


@dataclass(frozen=True)
class Item:
    """Something of the select list, and what it is called. In it aggregates are columns of the table AGGREGATE."""

    name: str
    node: Node
    text: str

    @property
    def aggregated(self) -> bool:
        return any(column.table == AGGREGATE for column in columns_of(self.node))


@dataclass(frozen=True)
class Group:
    """What is grouped by: an expression, or the n-th of the select list, counted from 1."""

    text: str
    of: Node | int


@dataclass(frozen=True)
class Ordering:
    """By what an answer is sorted: an item, or the n-th of the select list."""

    of: Item | int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Ending:
    """What becomes of the rows of an answer: which are left out, in which order they are, and how many.

    `having` is asked of groups.
    """

    having: Node | None = None
    distinct: bool = False
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


NO_ENDING: Final = Ending()


@dataclass(frozen=True)
class Statement:
    first: TableName
    joins: tuple[Join, ...]
    items: tuple[Item | Star, ...]
    aggregates: tuple[Aggregate, ...]
    where: tuple[Node, ...]  # conditions that must all hold
    groups: tuple[Group, ...]
    ending: Ending = NO_ENDING

    @property
    def tables(self) -> tuple[TableName, ...]:
        return (self.first, *(join.table for join in self.joins))

    @property
    def hows(self) -> tuple[str, ...]:
        """How each table joins those before it; the first is as one that all rows come with."""
        return ("inner", *(join.how for join in self.joins))

    @property
    def is_grouped(self) -> bool:
        return bool(self.aggregates or self.groups)


@dataclass(frozen=True)
class UnionOf:
    """The rows of all of these; where the ending has `distinct`, each once."""

    parts: "tuple[Statement | UnionOf, ...]"
    ending: Ending = NO_ENDING


def first_of(asked: Statement | UnionOf) -> Statement:
    """The first SELECT, which says how columns are called."""
    return asked if isinstance(asked, Statement) else first_of(asked.parts[0])


def selects_in(asked: Statement | UnionOf) -> int:
    """How many SELECTs that keep rows run at once: of those of a union, one."""
    if isinstance(asked, UnionOf):
        return max(map(selects_in, asked.parts))
    inside = sum(selects_in(table.of) for table in asked.tables if table.of is not None)
    return inside + (1 if asked.joins or asked.is_grouped else 0)


def tables_in(asked: Statement | UnionOf) -> Iterator[TableName]:
    """All that must be given, each as often as it is read."""
    if isinstance(asked, UnionOf):
        for part in asked.parts:
            yield from tables_in(part)
        return
    for table in asked.tables:
        yield from [table] if table.of is None else tables_in(table.of)
