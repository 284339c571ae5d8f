"""What a join of rectangles knows: of each partition, the rectangle that has met, by when its rows came."""

from typing import Any

from sooner.operators.rectangle.statistics import RectangleStatistics
from sooner.operators.two_way.pairs import Filter, Pairs
from sooner.operators.two_way.regions import RegionStatistics
from sooner.operators.two_way.state import JoinState, Numbers
from sooner.runs.ledger import Horizon


class RectangleState(JoinState):
    """Until rows leave memory for the first time all that is there has met, as in any other join. From then on what
    arrives waits, and a partition has a *horizon*: all that came before it has met. Cells say of runs as wholes what
    follows from it, so that nothing is read for nothing.
    """

    is_stamped = False
    statistics: RectangleStatistics

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.horizons = [Horizon()] * self.n_partitions

    def _new_statistics(self, partitions: int, regions: RegionStatistics | None) -> RectangleStatistics:
        return RectangleStatistics(partitions, regions)

    @property
    def rows_wait(self) -> bool:
        return self.statistics.rows_wait

    def begin_waiting(self) -> None:
        """All that is there has met; what comes from now on waits."""
        self.statistics.begin_waiting()
        self.horizons = [Horizon(self.tick, self.tick)] * self.n_partitions

    def only_open(self, p: int, until: int) -> Filter:
        """Pairs beyond the horizon."""
        only_beyond = self.horizons[p].only_beyond

        def keep(pairs: Pairs) -> Pairs:
            kept = only_beyond(until, pairs.left, pairs.right, pairs.at_left, pairs.at_right)
            return Pairs(pairs.left, pairs.right, *kept)

        return keep

    def is_open(self, p: int) -> bool:
        return self.statistics.open_pairs(p) > 0

    def meets_memory(self, side: int) -> bool:  # noqa: ARG002 - of neither side
        return not self.rows_wait

    def is_met_at_once(self, side: int, p: int) -> bool:
        return not self.rows_wait and super().is_met_at_once(side, p)

    def is_known_in_memory(self, side: int, p: int) -> bool:
        return not self.rows_wait and super().is_known_in_memory(side, p)

    def left_since(self, p: int, runs: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
        """Rows do not say whether a task had met them by then: it finds them wherever they are, by when they came."""
        now = self.run_numbers(p)
        left, right = (tuple(n for n in now[side] if n not in runs[side]) for side in range(2))
        return left, right

    def met_as_whole(self, p: int, runs: tuple[Numbers, Numbers], tick: int) -> None:
        self.cells[p].cover(*runs)
        self.horizons[p] = Horizon(tick, tick)

    def memory_met_disk(self, side: int, p: int, tick: int, up_to_code: int | None = None) -> None:
        """Of rows in memory nothing is noted."""

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"rows_wait": self.rows_wait, "horizons": self.horizons}

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self.statistics.rows_wait = data["rows_wait"]
        self.horizons = [Horizon(*ticks) for ticks in data["horizons"]]
