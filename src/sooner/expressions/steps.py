"""What evaluates a batch: the tree again, with every type decided. Steps pickle; they hold no arrays.

Values on the way are Arrow arrays or, for constants, Arrow scalars. What only constants go into is one constant, and
what needs nothing but one column with a dictionary is found once for each of its values.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions.columns import as_floats, column_values, repeated
from sooner.expressions.constants import FALSE, TRUE
from sooner.expressions.kinds import Kind
from sooner.kernels.arrays import to_arrow, to_flags
from sooner.kernels.gathering import spread
from sooner.kernels.keys import decoded
from sooner.kernels.python_values import constant


@dataclass(frozen=True)
class Step:
    """How values come about, of what kind they are, and whether any may be null."""

    kind: Kind
    may_be_null: bool

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """A value for each row; texts may be in a dictionary."""
        name = next(iter(self.columns)) if len(self.columns) == 1 else None
        column = batch.column(name) if name is not None else None
        if isinstance(column, pa.DictionaryArray) and len(column.dictionary) < len(column):
            dictionary, places = _with_null(column)
            with contextlib.suppress(InvalidJoin):  # it may be a value that no row has
                return _of_rows(self._evaluate(pa.record_batch([dictionary], [name])), places)
        return self._evaluate(batch)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of those that it needs."""
        return frozenset(name for step in self._needed() for name in step.columns)

    def _needed(self) -> tuple[Step, ...]:
        """What goes into it."""
        return ()

    def _evaluate(self, batch: pa.RecordBatch) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Read(Step):
    name: str
    what: str

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        return column_values(batch.column(self.name), self.kind, self.name, self.what)


@dataclass(frozen=True)
class ReadAsFloat(Step):
    """A column of numbers that is cast at once, which may then be wider than exact numbers are."""

    name: str

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def _evaluate(self, batch: pa.RecordBatch) -> Any:
        return as_floats(batch.column(self.name))


@dataclass(frozen=True)
class Constant(Step):
    value: Any

    def _evaluate(self, batch: pa.RecordBatch) -> Any:  # noqa: ARG002 - the same for every batch
        return constant(self.value, self.kind.type)


@dataclass(frozen=True)
class Apply(Step):
    """A kernel by its name, to the values of other steps and what is fixed."""

    kernel: str
    parts: tuple[Step, ...]
    fixed: tuple[Any, ...]
    text: str  # of the part of the expression, for sentences
    what: str

    def _needed(self) -> tuple[Step, ...]:
        return self.parts

    def _evaluate(self, batch: pa.RecordBatch) -> Any:
        return self.of([part.evaluate(batch) for part in self.parts])

    def of(self, values: list[Any]) -> Any:
        from sooner.expressions.values import KERNELS

        plain = [_plain(value, part.kind) for value, part in zip(values, self.parts, strict=True)]
        try:
            return KERNELS[self.kernel](*plain, *self.fixed)
        except (pa.ArrowInvalid, OverflowError) as error:
            raise InvalidJoin(self._sentence(str(error))) from error

    def _sentence(self, reason: str) -> str:
        if "cast" in self.kernel or self.kernel in ("from float", "sqrt", "ln", "log10", "log2"):
            return f"{self.what} cannot compute {self.text} for some row ({reason}); leave out rows where it fails."
        cure = "write CAST(... AS DOUBLE) around what goes into it"
        return f"{self.what} overflows in {self.text}: a value of it does not fit in 64 bits; {cure}."


@dataclass(frozen=True)
class Choose(Step):
    """CASE: the result of the first condition that is true."""

    conditions: tuple[Step, ...]
    results: tuple[Step, ...]
    otherwise: Step

    def _needed(self) -> tuple[Step, ...]:
        return (*self.conditions, *self.results, self.otherwise)

    def _evaluate(self, batch: pa.RecordBatch) -> Any:
        import pyarrow.compute as pc

        holds = [pc.fill_null(condition.evaluate(batch), FALSE) for condition in self.conditions]
        results = (*self.results, self.otherwise)
        try:
            values = [_plain(result.evaluate(batch), result.kind) for result in results]
        except InvalidJoin:  # a value that the conditions may be there to keep out
            return self._of_rows_that_need_it(holds, batch)
        chosen = values[-1]
        for condition, value in zip(reversed(holds), reversed(values[:-1]), strict=True):
            chosen = pc.if_else(condition, value, chosen)
        return chosen

    def _of_rows_that_need_it(self, holds: list[Any], batch: pa.RecordBatch) -> Any:
        rows = batch.num_rows
        open_ = np.ones(rows, np.bool_)
        parts, places = [], np.empty(rows, np.int64)
        done = 0
        for condition, result in zip([*holds, TRUE], (*self.results, self.otherwise), strict=True):
            flags = np.full(rows, condition.as_py()) if isinstance(condition, pa.Scalar) else to_flags(condition)
            needed = np.flatnonzero(flags & open_)
            open_ &= ~flags
            value = (
                _plain(result.evaluate(batch.take(to_arrow(needed))), result.kind)
                if len(needed)
                else pa.nulls(0, self.kind.type)
            )
            parts.append(repeated(value, len(needed)) if isinstance(value, pa.Scalar) else value)
            places[needed] = np.arange(done, done + len(needed))
            done += len(needed)
        return pa.concat_arrays(parts).take(to_arrow(places))


def applied(
    kernel: str, parts: tuple[Step, ...], kind: Kind, text: str, what: str, *fixed: Any, may_be_null: bool | None = None
) -> Step:
    """A step, or what it gives if that is known before any row is."""
    if may_be_null is None:
        may_be_null = any(part.may_be_null for part in parts)
    step = Apply(kind, may_be_null, kernel, parts, fixed, text, what)
    if parts and all(isinstance(part, Constant) for part in parts):
        value = step.of([constant(part.value, part.kind.type) for part in parts if isinstance(part, Constant)])
        try:
            return Constant(kind, not value.is_valid, value.as_py())
        except (ValueError, OverflowError) as error:  # Python has no such day
            raise InvalidJoin(f"{what} has {text}, which is in no year from 1 to 9999; correct it.") from error
    return step


def _plain(value: Any, kind: Kind) -> Any:
    """The value without a dictionary."""
    if not isinstance(value, pa.DictionaryArray):
        return value
    values = decoded(value)
    return values if values.type == kind.type else values.cast(kind.type)


def _with_null(column: pa.DictionaryArray) -> tuple[pa.Array, pa.Array]:
    """Its values, and where among them that of each row is; a row without one has the last, which is null."""
    if not column.indices.null_count:
        return decoded(column.dictionary), column.indices
    values, last = decoded(column.dictionary), constant(len(column.dictionary), column.indices.type)
    return pa.concat_arrays([values, pa.nulls(1, values.type)]), column.indices.fill_null(last)


def _of_rows(found: Any, places: pa.Array) -> Any:
    """What was found for each value of a dictionary, for each row; texts stay in one."""
    if isinstance(found, pa.Scalar):
        return found
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        return pa.DictionaryArray.from_arrays(places, found)
    return spread(found, places)


def evaluated(step: Step, batch: pa.RecordBatch) -> pa.Array:
    """One value for each row, constants as well."""
    value = _plain(step.evaluate(batch), step.kind)
    return repeated(value, batch.num_rows) if isinstance(value, pa.Scalar) else value
