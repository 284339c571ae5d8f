"""Aggregates of rows by groups, exact over what has come so far.

Sums are those of a fold over one rectangle without tags; the least and the largest of a group are kept beside them.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.estimation.groups import Key
from sooner.estimation.question import Question
from sooner.estimation.reckoning import Reckoning, Rectangle
from sooner.estimation.workings import GroupColumn, Workings, workings_of_rows
from sooner.expressions.checking import Typed, typed
from sooner.expressions.kinds import Kind
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.operators.folding.evaluated import evaluated, factors_of
from sooner.operators.folding.folds import bytes_of_cell, groups_of, power_of_two, sums_of
from sooner.operators.folding.room import GROWING
from sooner.sides import LEFT

EXTREMES: Final = ("min", "max")
_BYTES_OF_ENTRY: Final = 150  # of a group among all, without its values
_FEW: Final = 2**16  # rows that wait to be compared


class Extreme(NamedTuple):
    name: str
    function: str
    of: Typed


@dataclass(frozen=True)
class GroupWorkings:
    """What a question about single rows asks for, fitted to their columns."""

    sums: Workings
    extremes: tuple[Extreme, ...]

    @property
    def by(self) -> tuple[GroupColumn, ...]:
        return self.sums.by

    def kind_of(self, name: str) -> Kind | None:
        """Of the values of an extreme; None of what is no extreme."""
        return next((one.of.kind for one in self.extremes if one.name == name), None)


def group_workings_of(question: Question, schema: pa.Schema) -> GroupWorkings:
    """Refuses what does not fit the columns."""
    extremes, others = [], []
    for one in question.aggregates:
        if one.function in EXTREMES:
            assert one.of is not None, "an extreme is of an expression"
            extremes.append(Extreme(one.name, one.function, typed(one.of, schema, one.name)))
        else:
            others.append(one)
    alone = Question(tuple(others), question.by, question.where)
    return GroupWorkings(workings_of_rows(alone, schema), tuple(extremes))


class RunningGroups:
    def __init__(self, workings: GroupWorkings) -> None:
        self._workings = workings
        self._groups = groups_of(workings.sums, LEFT)
        self._sums = sums_of(workings.sums, 1, (len(self._groups), 1))
        self._extremes = [_Extremes(one) for one in workings.extremes]
        self._key_bytes = 0
        self.rows = 0  # that counted

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def n_bytes(self) -> int:
        """What groups take, and what making room for more of them takes beside that."""
        sums = bytes_of_cell(self._workings.sums) * power_of_two(len(self)) * GROWING
        return sums + self._key_bytes + sum(one.n_bytes for one in self._extremes)

    def add(self, batch: pa.RecordBatch) -> None:
        known = len(self._groups)
        found = evaluated(self._workings.sums, self._groups, batch)
        if found is None:
            return
        batch, values, groups = found
        self._key_bytes += sum(map(_bytes_of, self._groups.newest(len(self._groups) - known)))
        self._sums.grow((power_of_two(len(self._groups)), 1))
        tags = np.zeros(batch.num_rows, np.int32)
        self._sums.fold_pairs(*factors_of(self._workings.sums, values, (tags, tags), groups), None, None)
        for extremes in self._extremes:
            extremes.add(batch, groups)
        self.rows += batch.num_rows

    def keys(self) -> list[Key]:
        """The values of all groups; without any to group by, there is one group."""
        return [tuple(column.value(part) for column, part in zip(self._workings.by, key, strict=True)) for key in
                self._groups.keys]  # fmt: skip

    def values(self) -> dict[str, Sequence[object]]:
        """Those of all aggregates by their names, in the order of the groups."""
        found: dict[str, Sequence[object]] = {one.name: one.values(len(self)) for one in self._extremes}
        ones = np.ones(1)
        reckoning = Reckoning(
            self._workings.sums, [Rectangle(self._sums, (ones, ones), (1.0, 1.0))], confidence=0.5, exact=True
        )
        for measure in self._workings.sums.measures:
            if self.rows:
                found[measure.name] = [one.value for one in reckoning.values(measure)]
            else:
                found[measure.name] = [0 if measure.function == "count" else None] * len(self)
        return found


class _Extremes:
    """The least or the largest value of each group. Rows wait until they are as many as groups, and are sorted then."""

    def __init__(self, asked: Extreme) -> None:
        self.name = asked.name
        self._of = asked.of
        self._is_max = asked.function == "max"
        self._known = pa.table({"group": pa.array([], pa.int32()), "value": pa.array([], asked.of.kind.type)})
        self._waiting: list[pa.Table] = []

    @property
    def n_bytes(self) -> int:
        return int(self._known.nbytes) + sum(int(one.nbytes) for one in self._waiting)

    def add(self, batch: pa.RecordBatch, groups: npt.NDArray[np.int32] | None) -> None:
        numbers = np.zeros(batch.num_rows, np.int32) if groups is None else groups
        rows = pa.table({"group": to_arrow(numbers), "value": self._of.evaluate(batch)})
        self._waiting.append(rows.filter(rows.column("value").is_valid()))
        if sum(one.num_rows for one in self._waiting) > max(_FEW, self._known.num_rows):
            self._settle()

    def values(self, n_groups: int) -> list[object]:
        self._settle()
        found: list[object] = [None] * n_groups
        scale = self._of.kind.scale
        column = GroupColumn(self.name, LEFT, self._of.kind.type, scale)
        groups, values = (self._known.column(name).to_pylist() for name in ("group", "value"))
        for group, value in zip(groups, values, strict=True):
            found[group] = column.value(value)
        return found

    def _settle(self) -> None:
        if self._waiting:
            rows = pa.concat_tables([self._known, *self._waiting]).combine_chunks()
            self._known, self._waiting = _extremes(rows, "max" if self._is_max else "min"), []


def _extremes(rows: pa.Table, function: str) -> pa.Table:
    """A row of each group. Arrow's groups are fast, but not of all types, and they leave NaN out."""
    import pyarrow.compute as pc

    values = rows.column("value")
    is_float = pa.types.is_floating(values.type)
    if pc.any(pc.is_nan(values)).as_py() is not True if is_float else _is_counted(values.type):
        found = rows.group_by("group").aggregate([("value", function)])
        return found.select(["group", f"value_{function}"]).rename_columns(["group", "value"])
    # NaN is the largest here
    rows = rows.take(pc.sort_indices(rows, [("group", "ascending"), ("value", "ascending")]))
    groups = to_numpy(rows.column("group").combine_chunks())
    changes = np.flatnonzero(np.diff(groups))
    at = np.append(changes, len(groups) - 1) if function == "max" else np.append(0, changes + 1)
    return rows.take(to_arrow(at)) if len(groups) else rows


def _is_counted(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_date(type_) or pa.types.is_timestamp(type_))


def _bytes_of(key: Key) -> int:
    return _BYTES_OF_ENTRY + sum(map(sys.getsizeof, key))
