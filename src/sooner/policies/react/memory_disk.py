"""Join the largest memory partition with the other side's disk partition: XJoin's second stage (RPJ sec. 2.1)."""

import numpy as np

from sooner.policies.view import JoinView, MemoryDisk, Task


class LargestMemoryDisk:
    def choose(self, view: JoinView) -> Task | None:
        if not view.around.silent:
            return None
        rows = np.where(view.unmet_with_disk > 0, view.resident_rows, 0)
        if not rows.any():
            return None
        which, partition = np.unravel_index(int(rows.argmax()), rows.shape)
        return MemoryDisk(int(which), int(partition))
