"""From the values of groups to the rows of an answer: formulas over them, HAVING, ORDER BY and LIMIT."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.estimation.formulas import exactly
from sooner.estimation.groups import Key as GroupKey
from sooner.estimation.question import Aggregate
from sooner.estimation.workings import GroupColumn
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Column, Node
from sooner.queries.answers import GROUP, Answer, Key
from sooner.queries.rows import type_of

_COUNTS: Final = ("count",)
_SAME: Final = ("sum", "min", "max")  # as what they are of; all others are doubles


class Answering:
    """Of groups by these columns, and aggregates of joined rows with this schema."""

    def __init__(
        self, answer: Answer, by: Sequence[GroupColumn], aggregates: Sequence[Aggregate], joined: pa.Schema
    ) -> None:
        self._answer = answer
        groups = [pa.field(f"{GROUP}{at}", one.type_of_values) for at, one in enumerate(by)]
        found = [pa.field(one.name, _type_of_aggregate(one, joined)) for one in aggregates]
        self._found = pa.schema([*groups, *found])
        self.schema = pa.schema([pa.field(name, self._type_of(node)) for name, node in answer.shown])
        for key in answer.order:
            self._type_of(key.of)
        self._having = None if answer.having is None else condition(answer.having, self._found, "HAVING")

    def table(self, keys: Sequence[GroupKey], values: Mapping[str, Sequence[Any]]) -> pa.Table:
        """The rows of the answer, of groups with these keys and values."""
        found: dict[str, Sequence[Any]] = {f"{GROUP}{at}": [key[at] for key in keys] for at in range(self._n_groups)}
        found |= values
        rows = list(range(len(keys)))
        if self._having is not None and rows:
            rows = [at for at, holds in enumerate(self._mask(self._having, found, len(keys))) if holds]
        for key in reversed(self._answer.order):
            rows = _sorted(rows, _column(key.of, found, len(keys)), key)
        end = None if self._answer.limit is None else self._answer.offset + self._answer.limit
        rows = rows[self._answer.offset : end]
        columns = []
        for (_, node), field in zip(self._answer.shown, self.schema, strict=True):
            of_all = _column(node, found, len(keys))
            columns.append(_array([of_all[at] for at in rows], field.type))
        return pa.Table.from_arrays(columns, self.schema.names)

    @property
    def _n_groups(self) -> int:
        return sum(name.startswith(GROUP) for name in self._found.names)

    def _mask(self, having: Typed, found: Mapping[str, Sequence[Any]], n_rows: int) -> Sequence[bool]:
        names = [name for name in self._found.names if name in having.columns]
        arrays = [_array(found[name], self._found.field(name).type) for name in names]
        batch = pa.RecordBatch.from_arrays([pa.nulls(n_rows), *arrays], ["#", *names])
        return having.mask(batch).tolist()  # type: ignore[no-any-return]

    def _type_of(self, node: Node) -> pa.DataType:
        if isinstance(node, Column):
            return self._found.field(node.name).type
        found = typed(node, self._found, "SELECT")
        for name in found.columns:
            if not pa.types.is_floating(one := self._found.field(name).type) and not _is_exact(one):
                raise InvalidJoin(
                    f"SELECT has {node}, but {name} is {one}; of aggregates only numbers are reckoned with."
                )
        return type_of(found)


def _is_exact(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def _type_of_aggregate(one: Aggregate, joined: pa.Schema) -> pa.DataType:
    if one.function in _COUNTS:
        return pa.int64()
    assert one.of is not None, "all but counts are of an expression"
    return type_of(typed(one.of, joined, one.name)) if one.function in _SAME else pa.float64()


def _column(node: Node, found: Mapping[str, Sequence[Any]], n_rows: int) -> Sequence[Any]:
    if isinstance(node, Column):
        return found[node.name]
    return [exactly(node, {name: values[at] for name, values in found.items()}) for at in range(n_rows)]


def _sorted(rows: list[int], values: Sequence[Any], key: Key) -> list[int]:
    """NaN is larger than all numbers; the order of equal ones stays as it is."""
    known = [at for at in rows if values[at] is not None]
    nulls = [at for at in rows if values[at] is None]
    known.sort(key=lambda at: _comparable(values[at]), reverse=key.descending)
    return [*nulls, *known] if key.nulls_first else [*known, *nulls]


def _comparable(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Whole numbers of more than 64 bits make a column of decimals."""
    try:
        return pa.array(values, type_)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([None if one is None else Decimal(one) for one in values], pa.decimal128(38, 0))
