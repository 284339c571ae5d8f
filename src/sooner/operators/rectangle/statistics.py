"""How much of the rectangle is open where rows wait: all that came since a partition was whole."""

from sooner.operators.two_way.statistics import JoinStatistics
from sooner.sides import opposite


class RectangleStatistics(JoinStatistics):
    """`unmet_on_disk` is all that is open in a partition, wherever its rows are."""

    rows_wait = False

    def rows_arrived(self, side: int, partition: int, rows: int) -> None:
        """Rows that wait have met nothing of the other side."""
        self.arrived_rows[side, partition] += rows
        if self.rows_wait:
            self.unmet_on_disk[partition] += rows * self.arrived_rows[opposite(side), partition]

    def begin_waiting(self) -> None:
        """All that is there has met."""
        self.rows_wait = True
        self.whole_rows[:] = self.arrived_rows.sum(axis=0)

    def _limit_to_rows(self, partition: int) -> None:
        """Rows in memory are open too."""
