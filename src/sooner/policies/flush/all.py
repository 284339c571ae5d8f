"""Flush everything (PMJ; HMJ's "flush all", RPJ sec. 2.2): simple, and the worst for early results."""

from collections.abc import Iterable

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together


class All:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        inputs, partitions = map(range, view.resident_rows.shape)
        yield [eviction for partition in partitions for eviction in evict_partition(view, partition, inputs)]
