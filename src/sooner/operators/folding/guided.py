"""Blocks of one side that come after all that they can match: they meet it at once, and are not kept."""

from collections.abc import Sequence

from sooner.operators.ledgers.horizons import Horizons
from sooner.runs.run import Run


class GuidedArrival:
    """As the ledger has it, but for blocks of the guided side, as long as rows do not wait."""

    def __init__(self, horizons: Horizons, side: int) -> None:
        self._horizons = horizons
        self._side = side

    def met_on_arrival(self, side: int, p: int) -> Sequence[Run]:
        return self._horizons.met_on_arrival(side, p)

    def is_probed(self, p: int) -> bool:  # noqa: ARG002 - blocks meet few runs, however many there are
        return False

    def is_met_at_once(self, side: int, p: int) -> bool:
        guided = side == self._side and not self._horizons.rows_wait
        return guided or self._horizons.is_met_at_once(side, p)
