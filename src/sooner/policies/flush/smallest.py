"""Flush the smallest partitions first (HMJ's "flush smallest", RPJ sec. 2.2 and 4.3): good for harmony."""

from collections.abc import Iterable
from dataclasses import dataclass

from sooner.policies.flush.order import Scope, evict_in_order, partition_rows
from sooner.policies.view import JoinView, Together


@dataclass(frozen=True)
class Smallest:
    scope: Scope = "one side"

    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        return evict_in_order(view, partition_rows(view, self.scope), self.scope)
