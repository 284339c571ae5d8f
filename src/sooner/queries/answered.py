"""From the values of groups to the rows of an answer: formulas over them, HAVING, ORDER BY and LIMIT."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from sooner.estimation.formulas import exactly
from sooner.estimation.question import Aggregate, is_gathered
from sooner.estimation.workings import GroupColumn
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Arithmetic, Column, Literal, Negative, Node, columns_of
from sooner.kernels.array_types import Positions
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.python_values import column_of
from sooner.queries.answers import GROUP, Answer
from sooner.queries.row_order import places_in_order
from sooner.queries.rows import type_of, values_of

_COUNTS: Final = ("count",)
Values: TypeAlias = "Sequence[Any] | pa.Array"
Found: TypeAlias = Mapping[str, Values]
_SAME: Final = ("sum", "min", "max")  # as what they are of; all others are doubles


class Answering:
    """Of groups by these columns, and aggregates of joined rows with this schema; `estimated` ones are doubles."""

    def __init__(
        self,
        answer: Answer,
        by: Sequence[GroupColumn],
        aggregates: Sequence[Aggregate],
        joined: pa.Schema,
        *,
        estimated: bool = False,
    ) -> None:
        self._answer = answer
        groups = [pa.field(f"{GROUP}{at}", one.type_of_values) for at, one in enumerate(by)]
        found = []
        for one in aggregates:
            type_ = pa.float64() if estimated and not is_gathered(one) else _type_of_aggregate(one, joined)
            found.append(pa.field(one.name, type_))
        self._found = pa.schema([*groups, *found])
        self.schema = pa.schema([pa.field(name, self._type_of(node, "SELECT")) for name, node in answer.shown])
        for key in answer.order:
            self._type_of(key.of, "ORDER BY")
        self._having = None if answer.having is None else condition(answer.having, self._found, "HAVING")

    def table(self, by: Sequence[pa.Array], values: Mapping[str, Sequence[Any]], n_groups: int) -> pa.Table:
        """The rows of the answer, of groups that have these in common, and these values."""
        found = self.found(by, values)
        rows = self.rows(found, n_groups)
        shown = at_rows(found, rows)
        columns = [
            array_of(self.column(node, shown, len(rows)), field.type)
            for (_, node), field in zip(self._answer.shown, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, self.schema.names)

    def found(self, by: Sequence[pa.Array], values: Mapping[str, Sequence[Any]]) -> Found:
        """All that is known of groups, by its names here."""
        return {**{f"{GROUP}{at}": of_groups for at, of_groups in enumerate(by)}, **values}

    def rows(self, found: Found, n_rows: int) -> Positions:
        """Which groups are shown, in their order."""
        rows: Positions = np.arange(n_rows)
        if self._having is not None and n_rows:
            rows = np.flatnonzero(self._having.mask(self._batch(self._having, found, n_rows)))
        if self._answer.distinct:
            shown = [python_values(self.column(node, found, n_rows)) for _, node in self._answer.shown]
            first = {tuple(_comparable(one[at]) for one in shown): at for at in reversed(rows.tolist())}
            rows = np.array(sorted(first.values()), np.int64)
        for key in reversed(self._answer.order):
            values = array_of(self.column(key.of, found, n_rows), self._type_of(key.of, "ORDER BY")).take(
                to_arrow(rows)
            )
            places = places_in_order(values, descending=key.descending, nulls_first=key.nulls_first)
            rows = rows[to_numpy(places)]
        end = None if self._answer.limit is None else self._answer.offset + self._answer.limit
        return rows[self._answer.offset : end]

    def column(self, node: Node, found: Found, n_rows: int) -> Values:
        """The values of an expression over what is known of groups."""
        if isinstance(node, Column):
            return found[node.name]
        if is_arithmetic(node) and all(_is_number(self._found.field(one.name).type) for one in columns_of(node)):
            names = sorted({one.name for one in columns_of(node)})
            of_groups = zip(*(python_values(found[name]) for name in names), strict=True)
            return [exactly(node, dict(zip(names, one, strict=True))) for one in of_groups]
        if not n_rows:
            return []
        expression = typed(node, self._found, "SELECT")
        return values_of(expression, self._batch(expression, found, n_rows))

    def _batch(self, expression: Typed, found: Found, n_rows: int) -> pa.RecordBatch:
        names = [name for name in self._found.names if name in expression.columns]
        arrays = [array_of(found[name], self._found.field(name).type) for name in names]
        return pa.RecordBatch.from_arrays([pa.nulls(n_rows), *arrays], ["#", *names])

    def _type_of(self, node: Node, part: str) -> pa.DataType:
        return (
            self._found.field(node.name).type if isinstance(node, Column) else type_of(typed(node, self._found, part))
        )


def is_arithmetic(node: Node) -> bool:
    """Whether it is a formula: + - * / of columns and numbers."""
    if isinstance(node, Literal):
        return node.kind.is_numeric
    if isinstance(node, Arithmetic):
        return node.operator in "+-*/" and is_arithmetic(node.left) and is_arithmetic(node.right)
    return isinstance(node, Column) or (isinstance(node, Negative) and is_arithmetic(node.of))


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_) or pa.types.is_floating(type_))


def _type_of_aggregate(one: Aggregate, joined: pa.Schema) -> pa.DataType:
    if one.function in _COUNTS:
        return pa.int64()
    assert one.of is not None, "all but counts are of an expression"
    return type_of(typed(one.of, joined, one.name)) if one.function in _SAME else pa.float64()


def _comparable(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def at_rows(found: Found, rows: Positions) -> Found:
    at, each = to_arrow(rows), rows.tolist()
    return {
        name: values.take(at) if isinstance(values, pa.Array) else [values[row] for row in each]
        for name, values in found.items()
    }


def python_values(values: Values) -> Sequence[Any]:
    return values.to_pylist() if isinstance(values, pa.Array) else values


def array_of(values: Values, type_: pa.DataType) -> pa.Array:
    """Whole numbers of more than 64 bits make a column of decimals."""
    if isinstance(values, pa.Array):
        return values if values.type == type_ else values.cast(type_)
    try:
        return column_of(values, type_)
    except (OverflowError, pa.ArrowInvalid):
        return column_of([None if one is None else Decimal(one) for one in values], pa.decimal128(38, 0))
