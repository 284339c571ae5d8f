"""Do the disk work with the best expected output rate: RPJ's reactive stage (RPJ sec. 5).

Each memory-disk task and each disk-disk task is rated by expected new results over expected seconds. The results
are the pairs that have not met yet (kept exactly, see the operator's statistics) times the selectivity observed so
far: RPJ's Er_mem and Er_disk with 1/s measured instead of given. Seconds follow from the pages of the task.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sooner.policies.view import DiskDisk, JoinView, MemoryDisk, Numbers, Task, require_fan_in
from sooner.sides import SIDES, opposite


@dataclass(frozen=True)
class BestRate:
    fan_in: int = 10
    tasks: Literal["both", "memory-disk", "disk-disk"] = "both"

    def __post_init__(self) -> None:
        require_fan_in(self.fan_in)

    def choose(self, view: JoinView) -> Task | None:
        if not view.around.silent:
            return None
        nothing = np.zeros(view.resident_rows.shape)
        scans = nothing if self.tasks == "disk-disk" else memory_disk_rates(view)
        merges = nothing[0] if self.tasks == "memory-disk" else disk_disk_rates(view, self.fan_in)
        if max(scans.max(), merges.max()) <= 0:
            return None
        if merges.max() > scans.max():
            return DiskDisk(int(merges.argmax()), self.fan_in)
        side, partition = np.unravel_index(int(scans.argmax()), scans.shape)
        return MemoryDisk(int(side), int(partition))


def memory_disk_rates(view: JoinView) -> Numbers:
    """[side in memory, partition]: expected results per second of scanning the other side's disk partition."""
    rates = np.zeros(view.resident_rows.shape)
    for side in SIDES:
        runs, n_bytes = view.spilled_runs[opposite(side)], view.spilled_bytes[opposite(side)]
        for p in np.flatnonzero(view.unmet_with_disk[side] > 0):
            results = view.unmet_with_disk[side, p] * view.selectivity[p]
            rates[side, p] = results / view.device.scan_seconds(int(runs[p]), float(n_bytes[p]))
    return rates


def disk_disk_rates(view: JoinView, fan_in: int) -> Numbers:
    """[partition]: expected results per second of merging both disk partitions in as many passes as they need."""
    rates = np.zeros(view.resident_rows.shape[1])
    for p in np.flatnonzero(view.unmet_on_disk > 0):
        results = view.unmet_on_disk[p] * view.selectivity[p]
        passes = max(1.0, np.ceil(np.log(max(view.spilled_runs[:, p].max(), 1)) / np.log(fan_in)))
        rates[p] = results / (view.device.merge_seconds(float(view.spilled_bytes[:, p].sum())) * passes)
    return rates
