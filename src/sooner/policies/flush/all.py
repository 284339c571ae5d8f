"""Flush everything (PMJ; HMJ's "flush all", RPJ sec. 2.2): simple, and the worst for early results."""

from collections.abc import Iterable
from dataclasses import replace

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import Evict, JoinView
from sooner.sides import SIDES


class All:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Evict]:  # noqa: ARG002 - the contract
        for partition in range(view.resident_rows.shape[1]):
            for eviction in evict_partition(view, partition, SIDES):
                yield replace(eviction, and_next=True)
