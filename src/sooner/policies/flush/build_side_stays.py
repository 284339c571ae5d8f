"""Rows of the left, which look for a match, leave before those of the right, which are looked for: hybrid hash join.

Of the right whole partitions leave, the largest first; in those that stay a left row meets all that it can, and is not
kept.
"""

from collections.abc import Iterator

import numpy as np

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together


class BuildSideStays:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterator[Together]:  # noqa: ARG002 - the contract
        for which in range(len(view.resident_rows)):
            for partition in np.argsort(-view.resident_bytes[which], kind="stable").tolist():
                if evictions := evict_partition(view, partition, (which,)):
                    yield evictions
