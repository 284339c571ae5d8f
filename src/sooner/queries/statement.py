"""What a query in SQL asks for, once it is read. Names are as they were written; `naming` finds what they mean."""

from dataclasses import dataclass

from sooner.estimation.question import Aggregate
from sooner.expressions.tree import Column, Node


@dataclass(frozen=True)
class TableName:
    name: str
    alias: str


@dataclass(frozen=True)
class Star:
    """All columns, or those of one table."""

    table: str | None = None


@dataclass(frozen=True)
class Item:
    """Something of the select list, and what it is called.

    Of an aggregated one the columns of the node are names of aggregates, as in a formula.
    """

    name: str
    node: Node
    text: str
    aggregated: bool = False


@dataclass(frozen=True)
class Group:
    """What is grouped by: an expression, or the n-th of the select list, counted from 1."""

    text: str
    of: Node | int


@dataclass(frozen=True)
class Statement:
    tables: tuple[TableName, TableName]
    how: str
    on: tuple[tuple[Column, Column], ...]  # pairs that must be equal
    using: tuple[str, ...]
    items: tuple[Item | Star, ...]
    aggregates: tuple[Aggregate, ...]
    where: Node | None
    groups: tuple[Group, ...]
