"""A side that has ended and is all in memory: rows of the other side meet it in whatever order they come.

Such rows are not kept (`OnArrival.is_met_at_once`), so it would be a waste to sort them. When they are as many as the
rows of this side, it pays to have those as one run with an index.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Flags
from sooner.kernels.columns import Columns
from sooner.kernels.gathering import as_one
from sooner.kernels.looking_up import CodeIndex, counts_between
from sooner.kernels.matching import EQUAL
from sooner.operators.deciding.existence import Existence
from sooner.operators.inputs import Input
from sooner.operators.pairs import Findings
from sooner.operators.state.state import JoinState
from sooner.operators.statistics.arrivals import Counts
from sooner.runs.run import NEVER, Run
from sooner.runs.slabs import ALL_CODES
from sooner.sides import opposite

MOST_BYTES: Final = 2**31 - 1  # of text in one column
FindByIndex = Callable[[int, Run, Flags | None, Run, CodeIndex], Iterator[Findings]]


class EndedSide:
    """Its rows once more, with an index; `n_bytes` of the memory are reserved for that."""

    def __init__(self, state: JoinState, side: int, n_bytes: int) -> None:
        self._residents = _once_each(state.inputs[side])
        self.side = side
        self.n_bytes = n_bytes
        runs = self._residents
        rows = as_one([run.rows for run in runs])
        self._run = Run(np.concatenate([run.codes for run in runs]), Columns.of(rows), NEVER)
        if state.inputs[side].follows_matches:
            self._run = replace(self._run, matched=np.concatenate([run.matched for run in runs]))
        self._index = CodeIndex(self._run.codes)
        self._bounds = CodeIndex(state.inputs[side].bounds)
        self._other = state.inputs[opposite(side)]

    def coded(self, batch: pa.RecordBatch) -> tuple[Run, Flags | None]:
        """These rows of the other side, in no order: good for being met, not for being kept; and which have a key."""
        codes, wanted = self._other.code(batch)
        return self._other.followed(Run(codes, Columns.of(batch), NEVER)), wanted

    def met_by(self, rows: Run, wanted: Flags | None, find: FindByIndex) -> Iterator[Findings]:
        """All pairs with these rows."""
        return find(opposite(self.side), rows, wanted, self._run, self._index)

    def matched_by(self, rows: Run, wanted: Flags | None, existence: Existence) -> Flags:
        """Which of these rows match anything."""
        matched = np.zeros(len(rows), np.bool_)
        known = matched.copy() if wanted is None else ~wanted
        for at in existence.look_up(opposite(self.side), rows, self._run, self._index, known):
            matched[at] = True
        return matched

    def counts(self, rows: Run, wanted: Flags | None) -> Counts:
        """How many of the rows each partition has."""
        return counts_between(rows.codes, wanted, self._bounds)

    def note_matches(self) -> None:
        """Let the rows in memory know which of them have been matched."""
        if self._run.matched is not None:
            ends = np.cumsum([len(run) for run in self._residents])[:-1]
            for run, matched in zip(self._residents, np.split(self._run.matched, ends), strict=True):
                assert run.matched is not None
                run.matched[:] = matched


def _once_each(input_: Input) -> list[Run]:
    """Its rows in memory, in the order of their codes; of those that are in several partitions, where they belong."""
    if input_.overlap == EQUAL:
        return [run for partition in input_.partitions for run in partition.resident]
    bounds = [0, *input_.bounds.tolist(), ALL_CODES]
    own = zip(input_.partitions, itertools.pairwise(bounds), strict=True)
    return [run.between(*between) for partition, between in own for run in partition.resident]


def in_one_piece(state: JoinState, side: int, merge_bytes: int) -> EndedSide | None:
    """This side with an index, if there is memory for it, and Arrow can address all of it as one."""
    input_, account = state.inputs[side], state.account
    if input_.resident_bytes > MOST_BYTES:
        return None
    residents = [partition.resident for partition in input_.partitions if len(partition.resident)]
    if not all(resident.become_one(account.try_reserve, merge_bytes) for resident in residents):
        return None
    n_bytes = input_.resident_bytes + CodeIndex.n_bytes(sum(resident.n_rows for resident in residents))
    return EndedSide(state, side, n_bytes) if residents and account.try_reserve(n_bytes) else None
