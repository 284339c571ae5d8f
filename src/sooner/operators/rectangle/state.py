"""What a join of rectangles knows: of each partition, the rectangle that has met, by when its rows came."""

from collections.abc import Sequence
from typing import Any

from sooner.operators.pairs import Filter, Pairs
from sooner.operators.rectangle.statistics import RectangleStatistics
from sooner.operators.state.state import JoinState, Numbers
from sooner.operators.statistics.regions import RegionStatistics
from sooner.runs.ledger import Horizon
from sooner.runs.run import NEVER, STILL_HERE, Run, arrived_between
from sooner.sides import LEFT, SIDES


class RectangleState(JoinState):
    """Until rows leave memory for the first time all that is there has met, as in any other join. From then on what
    arrives waits, and a partition has a *horizon*: all that came before it has met. Cells say of runs as wholes what
    follows from it, so that nothing is read for nothing.

    Left rows may still meet the right rows that came before that, as long as these are in memory (hash ripple join).
    Then the rectangle has no end on the left.
    """

    is_stamped = False
    statistics: RectangleStatistics

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.horizons = [Horizon()] * self.n_partitions
        self.full_since: int | None = None
        self.is_evened_out = False

    def _new_statistics(self, partitions: int, regions: RegionStatistics | None) -> RectangleStatistics:
        return RectangleStatistics(partitions, regions)

    @property
    def rows_wait(self) -> bool:
        return self.full_since is not None

    def begin_waiting(self, *, keeps_rights: bool = False) -> None:
        """All that is there has met; what comes from now on waits."""
        self.full_since = self.tick
        self.statistics.begin_waiting(keeps_rights=keeps_rights)
        self.horizons = [Horizon(STILL_HERE if keeps_rights else self.tick, self.tick)] * self.n_partitions

    def whole_begins(self, p: int) -> None:
        """What comes in the middle of it waits, or the rectangle would have a step."""
        self.first_rights_leave(p)

    def first_rights_leave(self, p: int) -> None:
        """Left rows that come from now on do not meet them any more."""
        if self._keeps_first_rights(p):
            self.horizons[p] = self.horizons[p]._replace(left=self.tick)
            self.statistics.kept_rights[p] = 0

    def only_open(self, p: int, until: int) -> Filter:
        """Pairs beyond the horizon."""
        only_beyond = self.horizons[p].only_beyond

        def keep(pairs: Pairs) -> Pairs:
            kept = only_beyond(until, pairs.left, pairs.right, pairs.at_left, pairs.at_right)
            return Pairs(pairs.left, pairs.right, *kept)

        return keep

    def is_open(self, p: int) -> bool:
        return self.statistics.open_pairs(p) > 0

    def met_on_arrival(self, side: int, p: int) -> Sequence[Run]:
        """Nothing once rows wait, unless left rows meet the right rows that came before that."""
        if not self.rows_wait:
            return super().met_on_arrival(side, p)
        if side != LEFT or not self._keeps_first_rights(p):
            return []
        rights = super().met_on_arrival(side, p)
        return [first for run in rights if len(first := arrived_between(run, NEVER, self.horizons[p].right))]

    def _keeps_first_rights(self, p: int) -> bool:
        return self.horizons[p].left == STILL_HERE

    def is_probed(self, p: int) -> bool:
        return not self.rows_wait or self._keeps_first_rights(p)

    def is_met_at_once(self, side: int, p: int) -> bool:
        return not self.rows_wait and super().is_met_at_once(side, p)

    def is_known_in_memory(self, side: int, p: int) -> bool:
        return not self.rows_wait and super().is_known_in_memory(side, p)

    def left_since(self, p: int, runs: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
        """Rows do not say whether a task had met them by then: it finds them wherever they are, by when they came."""
        now = self.run_numbers(p)
        left, right = (tuple(number for number in now[side] if number not in runs[side]) for side in SIDES)
        return left, right

    def met_as_whole(self, p: int, runs: tuple[Numbers, Numbers], tick: int) -> None:
        self.cells[p].cover(*runs)
        self.horizons[p] = Horizon(tick, tick)
        self.statistics.kept_rights[p] = 0

    def memory_met_disk(self, side: int, p: int, tick: int, up_to_code: int | None = None) -> None:
        """Of rows in memory nothing is noted."""

    def to_plain(self) -> dict[str, Any]:
        mine = {"full_since": self.full_since, "horizons": self.horizons, "is_evened_out": self.is_evened_out}
        return super().to_plain() | mine

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self.full_since, self.is_evened_out = data["full_since"], data["is_evened_out"]
        self.statistics.rows_wait = self.rows_wait
        self.horizons = [Horizon(*ticks) for ticks in data["horizons"]]
