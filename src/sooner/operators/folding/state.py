"""The state of a join of rectangles with what was folded of it."""

from collections.abc import Callable
from typing import Any

from sooner.kernels.folding import Operand, Sums
from sooner.operators.folding.folds import Folds
from sooner.operators.rectangle.state import RectangleState
from sooner.operators.state.state import Numbers
from sooner.runs.run import Run
from sooner.sides import LEFT, RIGHT

Fold = Callable[[Run, Run, Sums], object]


class FoldingState(RectangleState):
    """`fold` adds up the pairs of two runs."""

    def __init__(self, folds: Folds, fold: Fold, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.folds = folds
        self.operands: dict[int, tuple[Run, Operand]] = {}  # of runs in memory that blocks meet, by their identity
        self._fold = fold

    def begin_waiting(self, *, keeps_rights: bool = False) -> None:
        """Until now partitions were not told apart; what is in memory is folded once more for each of them."""
        super().begin_waiting(keeps_rights=keeps_rights)
        self.operands = {}  # no block meets them from now on, and they are to leave memory
        all_is_there = not self.statistics.forgotten_rows.any()
        for p, sums in enumerate(self.folds.begin_waiting(all_is_there=all_is_there)):
            lefts, rights = (self.inputs[side].partitions[p].resident for side in (LEFT, RIGHT))
            for left in lefts:
                for right in rights:
                    self._fold(left, right, sums)

    def is_met_at_once(self, side: int, p: int) -> bool:
        """Also where blocks come after all that they can match."""
        return super().is_met_at_once(side, p) or (side == self.folds.guided and not self.rows_wait)

    def is_probed(self, p: int) -> bool:
        """Where blocks meet, they meet few runs, however many there are."""
        return self.folds.guided is None and super().is_probed(p)

    def whole_begins(self, p: int) -> None:
        super().whole_begins(p)
        self.folds.whole_begins(p)

    def met_as_whole(self, p: int, runs: tuple[Numbers, Numbers], tick: int) -> None:
        super().met_as_whole(p, runs, tick)
        self.folds.is_whole(p)

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"folds": self.folds.to_plain()}

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self.folds.load_plain(data["folds"])
