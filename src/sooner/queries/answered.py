"""From the values of groups to the rows of an answer: formulas over them, HAVING, ORDER BY and LIMIT."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from sooner.estimation.formulas import exactly
from sooner.estimation.groups import Key as GroupKey
from sooner.estimation.question import Aggregate, is_gathered
from sooner.estimation.workings import GroupColumn
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Arithmetic, Column, Literal, Negative, Node, columns_of
from sooner.queries.answers import GROUP, Answer, Key
from sooner.queries.rows import type_of, values_of

_COUNTS: Final = ("count",)
Found = Mapping[str, Sequence[Any]]
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

    def table(self, keys: Sequence[GroupKey], values: Mapping[str, Sequence[Any]]) -> pa.Table:
        """The rows of the answer, of groups with these keys and values."""
        found = self.found(keys, values)
        rows = self.rows(found, len(keys))
        columns = []
        for (_, node), field in zip(self._answer.shown, self.schema, strict=True):
            of_all = self.column(node, found, len(keys))
            columns.append(array_of([of_all[at] for at in rows], field.type))
        return pa.Table.from_arrays(columns, self.schema.names)

    def found(self, keys: Sequence[GroupKey], values: Mapping[str, Sequence[Any]]) -> Found:
        """All that is known of groups, by its names here."""
        n_groups = sum(name.startswith(GROUP) for name in self._found.names)
        return {**{f"{GROUP}{at}": [key[at] for key in keys] for at in range(n_groups)}, **values}

    def rows(self, found: Found, n_rows: int) -> list[int]:
        """Which groups are shown, in their order."""
        rows = list(range(n_rows))
        if self._having is not None and rows:
            holds = self._having.mask(self._batch(self._having, found, n_rows)).tolist()
            rows = [at for at in rows if holds[at]]
        if self._answer.distinct:
            shown = [self.column(node, found, n_rows) for _, node in self._answer.shown]
            rows = list({tuple(map(_comparable, (one[at] for one in shown))): at for at in reversed(rows)}.values())[
                ::-1
            ]
        for key in reversed(self._answer.order):
            rows = _sorted(rows, self.column(key.of, found, n_rows), key)
        end = None if self._answer.limit is None else self._answer.offset + self._answer.limit
        return rows[self._answer.offset : end]

    def column(self, node: Node, found: Found, n_rows: int) -> Sequence[Any]:
        """The values of an expression over what is known of groups."""
        if isinstance(node, Column):
            return found[node.name]
        if is_arithmetic(node) and all(_is_number(self._found.field(one.name).type) for one in columns_of(node)):
            return [exactly(node, {name: values[at] for name, values in found.items()}) for at in range(n_rows)]
        if not n_rows:
            return []
        expression = typed(node, self._found, "SELECT")
        values: list[Any] = values_of(expression, self._batch(expression, found, n_rows)).to_pylist()
        return values

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


def _sorted(rows: list[int], values: Sequence[Any], key: Key) -> list[int]:
    """NaN is larger than all numbers; the order of equal ones stays as it is."""
    known = [at for at in rows if values[at] is not None]
    nulls = [at for at in rows if values[at] is None]
    known.sort(key=lambda at: _comparable(values[at]), reverse=key.descending)
    return [*nulls, *known] if key.nulls_first else [*known, *nulls]


def _comparable(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def array_of(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Whole numbers of more than 64 bits make a column of decimals."""
    try:
        return pa.array(values, type_)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([None if one is None else Decimal(one) for one in values], pa.decimal128(38, 0))
