"""How much of the rectangle is open where rows wait: all that came since a partition was whole."""

from typing import Any, ClassVar

import numpy as np

from sooner.operators.statistics.open_pairs import JoinStatistics
from sooner.sides import LEFT, RIGHT, opposite


class RectangleStatistics(JoinStatistics):
    """`unmet_on_disk` is all that is open in a partition, wherever its rows are."""

    SAVED: ClassVar[tuple[str, ...]] = (*JoinStatistics.SAVED, "kept_rights")
    rows_wait = False

    def __init__(self, partitions: int, *more: Any) -> None:
        super().__init__(partitions, *more)
        self.kept_rights = np.zeros(partitions, np.int64)  # rows that those of the left meet as they come

    def rows_arrived(self, side: int, partition: int, rows: int) -> None:
        """Rows that wait have met nothing of the other side."""
        self.arrived_rows[side, partition] += rows
        if self.rows_wait:
            met = self.kept_rights[partition] if side == LEFT else 0
            self.unmet_on_disk[partition] += rows * (self.arrived_rows[opposite(side), partition] - met)

    def begin_waiting(self, *, keeps_rights: bool) -> None:
        """All that is there has met."""
        self.rows_wait = True
        self.whole_rows[:] = self.arrived_rows.sum(axis=0)
        if keeps_rights:
            self.kept_rights[:] = self.arrived_rows[RIGHT]

    def _limit_to_rows(self, partition: int) -> None:
        """Rows in memory are open too."""
