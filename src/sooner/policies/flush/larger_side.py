"""The partition with the most rows in memory lets go of its larger side: PR-Join's sharing of memory (sec. 5.1).

The two sides of a partition share its memory page by page, so when it is full the larger one has at least half of it.
The paper spills that half, so that the other half stays, whatever it is of. Here all of the larger side leaves, as one
run, and what stays is the smaller side: nothing, if a partition has rows of one side only.
"""

from collections.abc import Iterable

from sooner.policies.flush.order import evict_partition
from sooner.policies.view import JoinView, Together


class LargerSide:
    def choose(self, view: JoinView, needed_bytes: int) -> Iterable[Together]:  # noqa: ARG002 - the contract
        rows = view.resident_rows.copy()
        for _ in range(rows.size):
            partition = int(rows.sum(axis=0).argmax())
            side = int(rows[:, partition].argmax())
            if not rows[side, partition]:
                return
            yield evict_partition(view, partition, (side,))
            rows[side, partition] = 0
