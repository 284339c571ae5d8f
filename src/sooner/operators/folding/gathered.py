"""Aggregates that no sums tell: the least and the largest values of groups, and aggregates of distinct ones.

They are those of the rows that have come, and say nothing of others.
"""

import base64
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.estimation.question import EXTREMES, Aggregate, is_gathered
from sooner.estimation.workings import GroupColumn
from sooner.expressions.checking import Typed, typed
from sooner.expressions.constants import real
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.arrow_plans import grouped
from sooner.sides import LEFT

_FEW: Final = 2**16  # rows that wait to be settled


class Gathered(NamedTuple):
    name: str
    function: str
    of: Typed
    distinct: bool


def gathered_of(aggregates: Sequence[Aggregate], schema: pa.Schema) -> tuple[Gathered, ...]:
    """Those of these that are; refuses what does not fit the columns."""
    found = []
    for one in aggregates:
        if is_gathered(one):
            assert one.of is not None, "what is gathered are values of an expression"
            found.append(Gathered(one.name, one.function, typed(one.of, schema, one.name), one.distinct))
    return tuple(found)


class GatheredValues:
    """Of all groups. Rows wait until they are as many as those that are known, and are settled then."""

    def __init__(self, asked: Gathered) -> None:
        self.name = asked.name
        self._asked = asked
        self._known = pa.table({"group": pa.nulls(0, pa.int32()), "value": pa.nulls(0, asked.of.kind.type)})
        self._waiting: list[pa.Table] = []

    @property
    def n_bytes(self) -> int:
        return int(self._known.nbytes) + sum(int(one.nbytes) for one in self._waiting)

    def add(self, batch: pa.RecordBatch, groups: npt.NDArray[np.int32] | None) -> None:
        numbers = np.zeros(batch.num_rows, np.int32) if groups is None else groups
        rows = pa.table({"group": to_arrow(numbers), "value": self._asked.of.evaluate(batch)})
        self._waiting.append(rows.filter(rows.column("value").is_valid()))
        if sum(one.num_rows for one in self._waiting) > max(_FEW, self._known.num_rows):
            self._settle()

    def values(self, n_groups: int) -> list[object]:
        self._settle()
        by_group: list[list[object]] = [[] for _ in range(n_groups)]
        kind = self._asked.of.kind
        values = GroupColumn(self.name, LEFT, kind.type, kind.scale).known(self._known.column("value").combine_chunks())
        for group, value in zip(self._known.column("group").to_pylist(), values.to_pylist(), strict=True):
            by_group[group].append(value)
        return [_aggregated(self._asked.function, values) for values in by_group]

    def to_plain(self) -> str:
        self._settle()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._known.schema) as writer:
            writer.write_table(self._known)
        return base64.b64encode(sink.getvalue()).decode()

    def load_plain(self, text: str) -> None:
        self._known = pa.ipc.open_stream(base64.b64decode(text)).read_all()

    def _settle(self) -> None:
        if self._waiting:
            rows = pa.concat_tables([self._known, *self._waiting]).combine_chunks()
            self._known = _distinct(rows) if self._asked.distinct else _extremes(rows, self._asked.function)
            self._waiting = []


def _aggregated(function: str, values: Sequence[Any]) -> object:
    """Of the distinct values of a group; of an extreme there is one."""
    if function == "count":
        return len(values)
    if not values or function in EXTREMES:
        return values[0] if values else None
    total = sum(values)
    return total if function == "sum" else float(total) / len(values)


def _distinct(rows: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    values = rows.column("value")
    if pa.types.is_floating(values.type):  # NaN is one value, and so are both zeros
        values = pc.if_else(pc.is_nan(values), real(math.nan), pc.add(values, real(0)))
        rows = rows.set_column(1, "value", values)
    return grouped(rows, ["group", "value"])


def _extremes(rows: pa.Table, function: str) -> pa.Table:
    """A row of each group. Arrow's groups are fast, but not of all types, and they leave NaN out."""
    import pyarrow.compute as pc

    values = rows.column("value")
    is_float = pa.types.is_floating(values.type)
    if pc.any(pc.is_nan(values)).as_py() is not True if is_float else _is_counted(values.type):
        return grouped(rows, ["group"], ("value", function))
    # NaN is the largest here
    rows = rows.take(pc.sort_indices(rows, [("group", "ascending"), ("value", "ascending")]))
    groups = to_numpy(rows.column("group").combine_chunks())
    changes = np.flatnonzero(np.diff(groups))
    at = np.append(changes, len(groups) - 1) if function == "max" else np.append(0, changes + 1)
    return rows.take(to_arrow(at)) if len(groups) else rows


def _is_counted(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_timestamp(type_))
