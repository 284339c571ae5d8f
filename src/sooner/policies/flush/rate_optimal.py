"""Flush what is least likely to meet a new arrival: RPJ's optimal flush (RPJ sec. 4, Lemma 1).

The chance that the next row belongs to input i and partition j is the share of j among all rows of i so far, times
the recent share of i among all rows (sec. 4.2, equation 6); it is nothing for an input that has ended. The smaller
that chance, the less a row of the *other* inputs in partition j is worth in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sooner.policies.view import EvictUpTo, JoinView, Numbers, Together


@dataclass(frozen=True)
class RateOptimal:
    """Chances are rounded to steps of `tolerance`, since the counts behind them say no more. Of those on one step the
    largest goes first, so that what is written is worth a write. The steps are fixed, each so much above the last:
    two chances on one step differ by less than `tolerance`, but two that differ by less may lie on neighbouring steps.
    With a tolerance of 0 this is Lemma 1 to the letter.
    """

    tolerance: float = 0.05

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:
        n_inputs, n_partitions = view.resident_bytes.shape
        chances = arrival_chances(view)
        victims = range(n_inputs)[::-1]  # the last one first, where it makes no difference
        meeting = np.array([np.delete(chances, victim, axis=0).sum(axis=0) for victim in victims]).ravel()
        order = np.lexsort((-view.resident_bytes[::-1].ravel(), self._rounded(meeting)))
        for place in order.tolist():
            victim, partition = victims[place // n_partitions], place % n_partitions
            resident_bytes = int(view.resident_bytes[victim, partition])
            if resident_bytes:
                why = f"the next row can match one of these with a chance of {meeting[place]:.2g}"
                yield [EvictUpTo(victim, partition, min(needed_bytes, resident_bytes), why=why)]
                needed_bytes = max(1, needed_bytes - resident_bytes)

    def _rounded(self, chances: Numbers) -> Numbers:
        if not self.tolerance:
            return chances
        steps: Numbers = np.round(np.log(np.maximum(chances, 1e-12)) / np.log1p(self.tolerance))
        return steps


def arrival_chances(view: JoinView) -> Numbers:
    """[input, partition]: the probability that the next row falls there."""
    total = np.maximum(view.arrived_rows.sum(axis=1, keepdims=True), 1)
    recent = view.recent_rows.sum()
    input_chance = view.recent_rows / recent if recent > 0 else np.full(len(total), 1 / len(total))
    alive = ~np.array(view.ended)
    chances: Numbers = view.arrived_rows / total * (input_chance * alive)[:, None]
    return chances
