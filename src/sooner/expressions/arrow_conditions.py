"""A condition that is given as a `pyarrow.compute.Expression`, which cannot be looked into.

It means what it means to Arrow, also of NaN, which equals nothing there and is neither less nor more. Which columns it
needs is found by trying it on tables without rows: one that lacks a column it needs is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.steps import Step
from sooner.expressions.tree import Column, Node
from sooner.kernels.arrow_plans import projected
from sooner.kernels.keys import decoded


@dataclass(frozen=True, eq=False)
class ArrowCondition(Node):
    """An expression of Arrow, and which columns stand for the names in it."""

    expression: Any
    names: tuple[tuple[str, Column], ...]

    def children(self) -> Iterator[Node]:
        return (column for _, column in self.names)

    def with_columns(self, mapping: Mapping[Column, Node]) -> ArrowCondition:
        names = []
        for name, column in self.names:
            to = mapping.get(column, column)
            if not isinstance(to, Column):
                raise InvalidJoin(f"{self} is an expression of pyarrow and needs the column {name!r}, not {to}.")
            names.append((name, to))
        return ArrowCondition(self.expression, tuple(names))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrowCondition):
            return NotImplemented
        return self.names == other.names and bool(self.expression.equals(other.expression))

    def __hash__(self) -> int:
        return hash((str(self.expression), self.names))

    def __str__(self) -> str:
        return str(self.expression)


@dataclass(frozen=True, eq=False)
class Condition(Step):
    expression: Any
    names: tuple[tuple[str, str], ...]
    what: str

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset(column for _, column in self.names)

    def _evaluate(self, batch: pa.RecordBatch) -> Any:
        if not self.names:
            batch = pa.record_batch([pa.nulls(batch.num_rows)], names=["rows"])
        else:
            columns = [decoded(batch.column(column)) for _, column in self.names]
            batch = pa.record_batch(columns, names=[name for name, _ in self.names])
        try:
            return projected(self.expression, pa.Table.from_batches([batch]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidJoin(
                f"{self.what} cannot be evaluated for some row ({_first_line(error)}); correct it."
            ) from error


def from_arrow(expression: Any, schema: pa.Schema, what: str) -> ArrowCondition:
    """The condition over columns of this schema, or a sentence that says what does not fit."""
    text = str(expression)
    candidates = [name for name in dict.fromkeys(schema.names) if name in text and schema.names.count(name) == 1]
    try:
        kind = projected(expression, _empty(schema, candidates)).type
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidJoin(
            f"{what} is {text}, which does not fit the columns {', '.join(schema.names) or 'none'} "
            f"({_first_line(error)}); correct it."
        ) from error
    if not pa.types.is_boolean(kind):
        raise InvalidJoin(f"{what} is {text}, which gives {kind} and is not a condition; compare it with something.")
    needed = list(candidates)
    for name in candidates:
        rest = [other for other in needed if other != name]
        if _works(expression, _empty(schema, rest)):
            needed = rest
    return ArrowCondition(expression, tuple((name, Column(name)) for name in needed))


def _empty(schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    columns = [decoded(pa.nulls(0, schema.field(name).type)) for name in names]
    return pa.table(columns, names=list(names)) if names else pa.table({"": pa.nulls(0)})


def _works(expression: Any, table: pa.Table) -> bool:
    try:
        projected(expression, table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
