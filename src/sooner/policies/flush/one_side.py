"""All rows of one side leave, that which has more in memory: two-way DBO (PR-Join sec. 3.2.4).

Both sides arrive, so they take turns: each run of one side meets the run of the other that was there before it and the
one that comes after it, which is twice what SMS finds, where both leave together.
"""

from collections.abc import Iterable

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together
from sooner.sides import LEFT, RIGHT


class OneSide:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        rows = view.resident_rows.sum(axis=1)
        larger_first = (LEFT, RIGHT) if rows[LEFT] >= rows[RIGHT] else (RIGHT, LEFT)
        for side in larger_first:
            partitions = range(view.resident_rows.shape[1])
            yield [eviction for partition in partitions for eviction in evict_partition(view, partition, (side,))]
