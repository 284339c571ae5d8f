"""Evict whole partitions in a given order: what all size-based policies share."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from sooner.policies.view import Counts, EvictAll, JoinView, Numbers, Together

Scope = Literal["one side", "both sides"]


def evict_in_order(view: JoinView, score: Counts | Numbers, scope: Scope) -> Iterator[Together]:
    """Non-empty partitions by ascending `score`; ties by partition, then side.

    For "one side" the score is [side, partition]; for "both sides" it is [partition], and the two sides of a
    partition leave together (HMJ's concurrent flushing, RPJ sec. 2.2).
    """
    if scope == "both sides":
        for partition in np.argsort(score, kind="stable"):
            yield evict_partition(view, int(partition), range(len(view.resident_rows)))
    else:
        for place in np.argsort(score.T.ravel(), kind="stable"):
            partition, side = divmod(int(place), len(score))
            yield evict_partition(view, partition, (side,))


def evict_partition(view: JoinView, partition: int, inputs: Sequence[int], why: str = "") -> Together:
    """The rows of a partition, of those of these inputs that have any in memory."""
    return [EvictAll(which, partition, why=why) for which in inputs if view.resident_rows[which, partition]]


def partition_rows(view: JoinView, scope: Scope) -> Counts:
    """Rows in memory, of each side's partitions or of both sides together."""
    return view.resident_rows if scope == "one side" else view.resident_rows.sum(axis=0)
