"""All rows of one side leave, that of which fewer have left: two-way DBO (PR-Join sec. 3.2.4).

So the sides take turns, and a run of one side meets the run of the other that was there before it and the one that
comes after it. DBO reads its inputs in turn as well: then it finds twice what SMS does, where both sides leave at once.
Where both sides arrive together, one has grown in memory by the time that it leaves, and it is 4/3 of that.
"""

from collections.abc import Iterable

import numpy as np

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together


class OneSide:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        partitions = range(view.resident_rows.shape[1])
        for side in np.argsort(view.spilled_rows.sum(axis=1), kind="stable").tolist():
            yield [eviction for partition in partitions for eviction in evict_partition(view, partition, (side,))]
