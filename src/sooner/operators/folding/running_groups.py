"""Aggregates of rows by groups, exact over what has come so far.

Sums are those of a fold over one rectangle without tags; what no sums tell is gathered beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sooner.estimation.question import Question, is_gathered
from sooner.estimation.reckoning import Reckoning, Rectangle
from sooner.estimation.workings import GroupColumn, Workings, workings_of_rows
from sooner.operators.folding.evaluated import evaluated, factors_of
from sooner.operators.folding.folds import bytes_of_cell, groups_of, power_of_two, sums_of
from sooner.operators.folding.gathered import Gathered, GatheredValues, gathered_of
from sooner.operators.folding.room import GROWING
from sooner.sides import LEFT


@dataclass(frozen=True)
class GroupWorkings:
    """What a question about single rows asks for, fitted to their columns."""

    sums: Workings
    gathered: tuple[Gathered, ...] = ()

    @property
    def by(self) -> tuple[GroupColumn, ...]:
        return self.sums.by


def group_workings_of(question: Question, schema: pa.Schema) -> GroupWorkings:
    """Refuses what does not fit the columns."""
    summed = tuple(one for one in question.aggregates if not is_gathered(one))
    sums = workings_of_rows(replace(question, aggregates=summed), schema)
    return GroupWorkings(sums, gathered_of(question.aggregates, schema))


class RunningGroups:
    def __init__(self, workings: GroupWorkings) -> None:
        self._workings = workings
        self._groups = groups_of(workings.sums, LEFT)
        self._sums = sums_of(workings.sums, 1, (len(self._groups), 1))
        self._gathered = [GatheredValues(one) for one in workings.gathered]
        self.rows = 0  # that counted

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def n_bytes(self) -> int:
        """What groups take, and what making room for more of them takes beside that."""
        sums = bytes_of_cell(self._workings.sums) * power_of_two(len(self)) * GROWING
        return sums + self._groups.n_bytes + sum(one.n_bytes for one in self._gathered)

    def add(self, batch: pa.RecordBatch) -> None:
        found = evaluated(self._workings.sums, self._groups, batch)
        if found is None:
            return
        batch, values, groups = found
        self._sums.grow((power_of_two(len(self._groups)), 1))
        tags = np.zeros(batch.num_rows, np.int32)
        self._sums.fold_pairs(*factors_of(self._workings.sums, values, (tags, tags), groups), None, None)
        for one in self._gathered:
            one.add(batch, groups)
        self.rows += batch.num_rows

    def by(self) -> list[pa.Array]:
        """What groups have in common; without any to group by, there is one group."""
        columns = zip(self._workings.by, self._groups.values.columns, strict=True)
        return [column.known(values.combine_chunks()) for column, values in columns]

    def values(self) -> dict[str, Sequence[object]]:
        """Those of all aggregates by their names, in the order of the groups."""
        found: dict[str, Sequence[object]] = {one.name: one.values(len(self)) for one in self._gathered}
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
