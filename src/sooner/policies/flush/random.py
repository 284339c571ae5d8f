"""Flush partitions in a random order: what any clever policy must beat."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sooner.policies.flush.order import evict_in_order
from sooner.policies.view import JoinView, Together


@dataclass(frozen=True)
class Random:
    seed: int = 0

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        # Seeded by the tick as well: the same state gives the same choice, without a generator to save.
        scores = np.random.default_rng((self.seed, view.tick)).random(view.resident_rows.shape)
        return evict_in_order(view, scores, "one side")
