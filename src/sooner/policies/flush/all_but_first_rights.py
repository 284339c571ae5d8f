"""Keep the right rows that filled the memory first; all others leave: hash ripple join (PR-Join sec. 3.2.2).

Left rows meet them as they come, for which nothing is read from disk. If the left has too little to give, some of them
have to leave after all: what comes after that waits.
"""

from collections.abc import Iterable
from typing import Final

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import EvictSince, JoinView, Together

KEPT: Final = 1  # the input whose first rows stay: the right one


class AllButFirstRights:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        inputs, partitions = map(range, view.resident_rows.shape)
        others = [which for which in inputs if which != KEPT]
        yield [eviction for partition in partitions for eviction in evict_partition(view, partition, others)]
        if view.full_since is not None:
            yield [EvictSince(KEPT, partition, view.full_since) for partition in partitions]
        for partition in partitions:
            yield evict_partition(view, partition, (KEPT,))
