"""Keep both sides in memory: HMJ's adaptive policy (RPJ sec. 2.2).

The two sides of a partition leave together. The victim's sides should differ little, so that memory stays
balanced, and be large together, so that the flush is worth it: among partitions of at least average size, the
most even one goes first.
"""

from collections.abc import Iterable

import numpy as np

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together


class Balanced:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        size = view.resident_rows.sum(axis=0)
        difference = np.ptp(view.resident_rows, axis=0)
        large = size >= size[size > 0].mean() if size.any() else size > 0
        for partition in np.lexsort((-size, difference, ~large)):
            yield evict_partition(view, int(partition), range(len(view.resident_rows)))
