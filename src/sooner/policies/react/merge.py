"""Merge the runs on disk, partition after partition: HMJ's merging phase (PSMJ with a fan-in, RPJ sec. 2.2)."""

from dataclasses import dataclass

import numpy as np

from sooner.policies.view import DiskDisk, JoinView, Task, require_fan_in


@dataclass(frozen=True)
class Merge:
    fan_in: int = 10

    def __post_init__(self) -> None:
        require_fan_in(self.fan_in)

    def choose(self, view: JoinView) -> Task | None:
        waiting = np.flatnonzero(view.unmet_on_disk > 0)
        if not len(waiting) or not view.around.silent:
            return None
        # The partition that waits longest: every partition has its turn, as in HMJ's round over all of them.
        return DiskDisk(int(waiting[view.last_merge[waiting].argmin()]), self.fan_in)
