"""Flush what is least likely to meet a new arrival: RPJ's optimal flush (RPJ sec. 4, Lemma 1).

The chance that the next row belongs to side i and partition j is the share of j among all rows of i so far, times
the recent share of i among all rows (sec. 4.2, equation 6); it is nothing for a side that has ended. The smaller
that chance, the less a row of the *opposite* side in partition j is worth in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sooner.policies.view import Evict, JoinView, Numbers, Together
from sooner.sides import SIDES, opposite


@dataclass(frozen=True)
class RateOptimal:
    """Chances are rounded to steps of `tolerance`, since the counts behind them say no more. Of those on one step the
    largest goes first, so that what is written is worth a write. The steps are fixed, each so much above the last:
    two chances on one step differ by less than `tolerance`, but two that differ by less may lie on neighbouring steps.
    With a tolerance of 0 this is Lemma 1 to the letter.
    """

    tolerance: float = 0.05

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        victim_bytes = view.resident_bytes[::-1]  # seen from the side whose chance it is
        for place in np.lexsort((-victim_bytes.ravel(), self._rounded(arrival_chances(view)).ravel())):
            side, partition = divmod(int(place), view.resident_bytes.shape[1])
            resident_bytes = int(victim_bytes[side, partition])
            if resident_bytes:
                yield [Evict(opposite(side), partition, at_most_bytes=min(needed_bytes, resident_bytes))]
                needed_bytes = max(1, needed_bytes - resident_bytes)

    def _rounded(self, chances: Numbers) -> Numbers:
        if not self.tolerance:
            return chances
        steps: Numbers = np.round(np.log(np.maximum(chances, 1e-12)) / np.log1p(self.tolerance))
        return steps


def arrival_chances(view: JoinView) -> Numbers:
    """[side, partition]: the probability that the next row falls there."""
    total = np.maximum(view.arrived_rows.sum(axis=1, keepdims=True), 1)
    recent = view.recent_rows.sum()
    side_chance = view.recent_rows / recent if recent > 0 else np.full(len(SIDES), 1 / len(SIDES))
    alive = ~np.array(view.ended)
    chances: Numbers = view.arrived_rows / total * (side_chance * alive)[:, None]
    return chances
