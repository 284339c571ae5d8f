"""What is observed of the groups of one join in a plan: what comes, what the join gives, and what becomes of it.

In which group a row of a result has lived follows from its key columns, which every result has: rows carry no ids.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes
from sooner.operators.inputs import Input
from sooner.operators.statistics.arrivals import Counts
from sooner.operators.statistics.distinct import DistinctCodes
from sooner.operators.statistics.observing import Maintenance, Observed
from sooner.policies.plan_view import GroupsView
from sooner.sides import LEFT, SIDES


class Groups:
    """Of a join with these inputs; they are observed for so many seconds each time."""

    def __init__(
        self,
        inputs: tuple[Input, Input],
        arrived_rows: Counts,
        maintenance: Maintenance,
        every_seconds: float,
        *,
        is_root: bool,
    ) -> None:
        self._inputs = inputs
        self._arrived_rows = arrived_rows  # [side, partition], which the join counts
        self._seconds = every_seconds
        partitions = len(inputs[LEFT].partitions)
        self._given = np.zeros(partitions)
        self._contributed = self._given if is_root else np.zeros(partitions)  # all that the root gives is final
        self._distinct = DistinctCodes(partitions)
        self._observed_came = Observed((len(SIDES), partitions), maintenance, every_seconds)
        self._observed_local = Observed((partitions,), maintenance, every_seconds)
        self._observed_final = Observed((partitions,), maintenance, every_seconds)

    def look(self, now: float) -> None:
        self._observed_came.look(self._arrived_rows.astype(np.float64), now)
        self._observed_local.look(self._given, now)
        self._observed_final.look(self._contributed, now)

    def rows_come(self, side: int, rows: pa.RecordBatch) -> None:
        self._distinct.add(*self._places(side, rows))

    def gave(self, results: pa.RecordBatch) -> None:
        """The join gave these results."""
        self._given += self._counted(results)

    def contributed(self, results: pa.RecordBatch) -> None:
        """These results of the whole plan came out."""
        self._contributed += self._counted(results)

    def view(self) -> GroupsView:
        return GroupsView(
            came=self._observed_came.value(self._arrived_rows.astype(np.float64)),
            local=self._observed_local.value(self._given),
            final=self._observed_final.value(self._contributed),
            contributed=self._contributed.copy(),
            distinct=self._distinct.counts,
            seconds=self._seconds,
        )

    def to_plain(self) -> dict[str, Any]:
        observed = (self._observed_came, self._observed_local, self._observed_final)
        return {
            "given": self._given.tolist(),
            "contributed": self._contributed.tolist(),
            "distinct": self._distinct.to_plain(),
            "observed": [one.to_plain() for one in observed],
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        self._given[:] = data["given"]
        self._contributed[:] = data["contributed"]
        self._distinct.load_plain(data["distinct"])
        observed = (self._observed_came, self._observed_local, self._observed_final)
        for one, saved in zip(observed, data["observed"], strict=True):
            one.load_plain(saved)

    def _counted(self, results: pa.RecordBatch) -> "np.typing.NDArray[np.int64]":
        """Results by group. A row of the left may be missing in them, and then it has lived in none."""
        partitions, _ = self._places(LEFT, results)
        return np.bincount(partitions, minlength=len(self._given))

    def _places(self, side: int, rows: pa.RecordBatch) -> tuple[Counts, Codes]:
        """The partitions and the codes of rows that have a key."""
        codes, wanted = self._inputs[side].code(rows)
        codes = codes if wanted is None else codes[wanted]
        return np.searchsorted(self._inputs[side].bounds, codes, side="right"), codes
