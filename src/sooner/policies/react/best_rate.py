"""Do the disk work with the best expected output rate: RPJ's reactive stage (RPJ sec. 5).

Each memory-disk task and each disk-disk task is rated by expected new results over expected seconds. The results
are the pairs that have not met yet (kept exactly, see the operator's statistics) times the selectivity observed so
far: RPJ's Er_mem and Er_disk with 1/s measured instead of given. Seconds follow from the pages of the task. A disk-disk
task is all the merges that make one run of each side, and so it is rated and done.

How many passes over its pages that takes follows from the number of runs. RPJ's formula has the number of pages in its
place (sec. 5.3), as if each page were a run: too many by one or two for runs of a hundred pages. `passes_by="pages"` is
the paper to the letter.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from sooner.policies.view import Counts, DeviceCosts, DiskDisk, JoinView, MemoryDisk, Numbers, Task, require_fan_in

PassesBy = Literal["runs", "pages"]
Tasks = Literal["both", "memory-disk", "disk-disk"]


@dataclass(frozen=True)
class BestRate:
    fan_in: int = 10
    tasks: Tasks = "both"
    passes_by: PassesBy = "runs"

    def __post_init__(self) -> None:
        require_fan_in(self.fan_in)

    def choose(self, view: JoinView) -> Task | None:
        if not view.around.silent:
            return None
        nothing = np.zeros(view.resident_rows.shape)
        scans = nothing if self.tasks == "disk-disk" else memory_disk_rates(view)
        merges = nothing[0] if self.tasks == "memory-disk" else disk_disk_rates(view, self.fan_in, self.passes_by)
        scan, merge = int(scans.argmax()), int(merges.argmax())
        best_scan, best_merge = scans.item(scan), merges.item(merge)
        if max(best_scan, best_merge) <= 0:
            return None
        if best_merge > best_scan:
            return DiskDisk(merge, self.fan_in)
        return MemoryDisk(*divmod(scan, len(merges)))


def memory_disk_rates(view: JoinView) -> Numbers:
    """[side in memory, partition]: expected results per second of scanning the other side's disk partition."""
    seconds = _scan_seconds(view.device, view.spilled_runs.tobytes(), view.spilled_bytes.tobytes())
    return _rates(view.unmet_with_disk * view.selectivity, seconds)


def disk_disk_rates(view: JoinView, fan_in: int, passes_by: PassesBy = "runs") -> Numbers:
    """[partition]: expected results per second of merging both disk partitions in as many passes as they need."""
    on_disk = view.spilled_runs.tobytes(), view.spilled_bytes.tobytes()
    return _rates(view.unmet_on_disk * view.selectivity, _merge_seconds(view.device, *on_disk, fan_in, passes_by))


# A policy is asked all the time, and what is on disk changes seldom. So what tasks take is kept for what was there
# last: the bytes of arrays [side, partition].


@lru_cache(maxsize=8)
def _scan_seconds(device: DeviceCosts, spilled_runs: bytes, spilled_bytes: bytes) -> Numbers:
    """[side in memory, partition]: of scanning the disk partition of the other side."""
    return device.scan_seconds(_by_side(spilled_runs)[::-1], _by_side(spilled_bytes)[::-1])


@lru_cache(maxsize=8)
def _merge_seconds(
    device: DeviceCosts, spilled_runs: bytes, spilled_bytes: bytes, fan_in: int, passes_by: PassesBy
) -> Numbers:
    """[partition]: of merging both disk partitions in as many passes as they need."""
    n_bytes = _by_side(spilled_bytes)
    pieces = _by_side(spilled_runs) if passes_by == "runs" else device.pages(n_bytes)
    passes = np.maximum(1.0, np.ceil(np.log(np.maximum(pieces.max(axis=0), 1)) / np.log(fan_in)))
    seconds: Numbers = device.merge_seconds(n_bytes.sum(axis=0)) * passes
    return seconds


def _by_side(counts: bytes) -> Counts:
    return np.frombuffer(counts, np.int64).reshape(2, -1)


def _rates(results: Numbers, seconds: Numbers) -> Numbers:
    rates: Numbers = np.divide(results, seconds, out=np.zeros(results.shape), where=results > 0)
    return rates
