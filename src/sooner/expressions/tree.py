"""What an expression is made of, once it is read: small frozen values that compare, hash and pickle.

The tree says what was asked and nothing of types; `checking` adds those. What SQL has several words for is here once:
BETWEEN is two comparisons, IF and NULLIF are a CASE, IS DISTINCT FROM is a COALESCE of a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from sooner.expressions.kinds import BOOLEAN, INTEGER, Kind


@dataclass(frozen=True)
class Node:
    """A part of an expression. Its text is SQL again, for sentences to name it."""

    def children(self) -> Iterator[Node]:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (part for part in value if isinstance(part, Node))

    def with_columns(self, mapping: Mapping[Column, Node]) -> Node:
        """The same tree with other nodes in the places of these columns."""
        return self.with_children(lambda child: child.with_columns(mapping))

    def with_children(self, change: Callable[[Node], Node]) -> Node:
        """The same node over what becomes of its children."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Node):
                changed[field.name] = change(value)
            elif isinstance(value, tuple):
                changed[field.name] = tuple(change(v) if isinstance(v, Node) else v for v in value)
        return replace(self, **changed) if changed else self


@dataclass(frozen=True)
class Column(Node):
    name: str
    table: str | None = None

    def with_columns(self, mapping: Mapping[Column, Node]) -> Node:
        return mapping.get(self, self)

    def __str__(self) -> str:
        return self.name if self.table is None else f"{self.table}.{self.name}"


@dataclass(frozen=True)
class Interval:
    """A span of time as SQL has it: months have no fixed number of days."""

    months: int
    microseconds: int


@dataclass(frozen=True)
class Literal(Node):
    """A constant. An exact number is its unscaled value: 0.05 is 5, of a kind with scale 2."""

    value: bool | int | float | str | date | datetime | Interval | None
    kind: Kind

    def __str__(self) -> str:
        if isinstance(self.value, bool) or self.value is None:
            return "NULL" if self.value is None else str(self.value).upper()
        if self.kind.is_exact:
            return str(Decimal(int(self.value)).scaleb(-self.kind.scale))  # type: ignore[arg-type]
        if isinstance(self.value, float):
            return repr(self.value) if "e" in repr(self.value) else f"{self.value!r}e0"  # else it were a decimal
        if isinstance(self.value, Interval):
            return f"INTERVAL '{self.value.months} months {self.value.microseconds} microseconds'"
        quoted = "'" + str(self.value).replace("'", "''") + "'"
        return quoted if isinstance(self.value, str) else f"{_WORDS.get(self.kind.name, '')}{quoted}"


_WORDS: Final = {"date": "DATE ", "local time": "TIMESTAMP ", "instant": "TIMESTAMPTZ "}
ZERO: Final = Literal(0, INTEGER)
ONE: Final = Literal(1, INTEGER)
FALSE: Final = Literal(False, BOOLEAN)


@dataclass(frozen=True)
class Arithmetic(Node):
    operator: str  # + - * / // %
    left: Node
    right: Node

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Negative(Node):
    of: Node

    def __str__(self) -> str:
        return f"-{self.of}"


@dataclass(frozen=True)
class Comparison(Node):
    operator: str  # = <> < <= > >=
    left: Node
    right: Node

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Logic(Node):
    operator: str  # AND OR
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return "(" + f" {self.operator} ".join(map(str, self.parts)) + ")"


@dataclass(frozen=True)
class Not(Node):
    of: Node

    def __str__(self) -> str:
        return f"(NOT {self.of})"


@dataclass(frozen=True)
class IsNull(Node):
    of: Node

    def __str__(self) -> str:
        return f"({self.of} IS NULL)"


@dataclass(frozen=True)
class In(Node):
    of: Node
    options: tuple[Node, ...]

    def __str__(self) -> str:
        return f"({self.of} IN ({', '.join(map(str, self.options))}))"


@dataclass(frozen=True)
class Like(Node):
    """A pattern in Arrow's form: a backslash takes the meaning from what follows it."""

    of: Node
    pattern: str
    any_case: bool = False

    def __str__(self) -> str:
        return f"({self.of} {'ILIKE' if self.any_case else 'LIKE'} '{self.pattern}')"


@dataclass(frozen=True)
class Case(Node):
    """The result of the first condition that is true; conditions[i] belongs to results[i]."""

    conditions: tuple[Node, ...]
    results: tuple[Node, ...]
    otherwise: Node | None = None

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(self.conditions, self.results, strict=True))
        return f"CASE {whens}{'' if self.otherwise is None else f' ELSE {self.otherwise}'} END"


@dataclass(frozen=True)
class Coalesce(Node):
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"COALESCE({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Cast(Node):
    of: Node
    to: Kind

    def __str__(self) -> str:
        decimal = f"DECIMAL({max(18, self.to.scale)}, {self.to.scale})" if self.to.scale else "BIGINT"
        return f"CAST({self.of} AS {decimal if self.to.is_exact else _TYPES.get(self.to.name, self.to.name)})"


_TYPES: Final = {"float": "DOUBLE", "text": "VARCHAR", "date": "DATE", "local time": "TIMESTAMP", "boolean": "BOOLEAN"}


@dataclass(frozen=True)
class Call(Node):
    """A function of one row's values, by its name in `checking`."""

    name: str
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"{self.name.upper()}({', '.join(map(str, self.parts))})"


def columns_of(node: Node) -> frozenset[Column]:
    if isinstance(node, Column):
        return frozenset((node,))
    return frozenset[Column]().union(*map(columns_of, node.children()))


def renamed(node: Node, mapping: Mapping[Column, Node]) -> Node:
    """The same with other columns, or anything else, in the places of columns."""
    return node.with_columns(mapping)


def conjuncts(node: Node) -> list[Node]:
    """The conditions that must all hold: those between the ANDs on top."""
    if isinstance(node, Logic) and node.operator == "AND":
        return [found for part in node.parts for found in conjuncts(part)]
    return [node]


def all_of(parts: Sequence[Node]) -> Node:
    """The conjunction of conditions, of which there is at least one."""
    return parts[0] if len(parts) == 1 else Logic("AND", tuple(parts))
