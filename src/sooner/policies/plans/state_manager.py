"""The State Manager (AGF sec. 5, algorithm 2): which join of a plan works on disk, and on which of its groups.

From the root down, the first join whose best group on disk promises more results of the whole plan than memory gives
is sent to disk. Those above it go on in memory, and what comes for it and for those below waits. In a silence memory
gives nothing; if no group promises anything either, the rest is joined meanwhile.
"""

from dataclasses import dataclass

import numpy as np

from sooner.policies.groups import buffer_seconds, disk_throughput, final_share, unmet_results
from sooner.policies.plan_view import MergeGroup, StageView, StageViews, groups_of


@dataclass(frozen=True)
class StateManager:
    """`memory_constant` weighs results in memory (memConst). `buffer_rows` may wait meanwhile: a merge for which more
    would come is not begun (sec. 5.3, BufTime > DskTime); None is no limit, where sources wait themselves.
    """

    memory_constant: float = 1.0
    buffer_rows: int | None = None

    def choose(self, views: StageViews) -> MergeGroup | None:
        rest: MergeGroup | None = None
        for at, (name, view) in reversed([*enumerate(views.items())]):
            if not view.unmet_on_disk.any():
                continue
            group, is_better = self._best_on_disk(view)
            if is_better and self._there_is_room(view, group, list(views.values())[: at + 1]):
                return MergeGroup(name, group)
            if view.around.silent and rest is None:
                rest = MergeGroup(name, group)
        return rest

    def _best_on_disk(self, view: StageView) -> tuple[int, bool]:
        """The best group on disk, and whether it is better than memory."""
        groups = groups_of(view)
        share = final_share(groups.final, groups.local)
        local = unmet_results(view.unmet_on_disk, groups.distinct)
        throughput = disk_throughput(local, share, view.spilled_rows.sum(axis=0).astype(np.float64))
        throughput[view.unmet_on_disk <= 0] = -1.0
        best = int(throughput.argmax())
        in_memory = 0.0 if view.around.silent else self.memory_constant * float(groups.final.sum())
        on_disk = throughput[best] * rows_per_second(view) * groups.seconds
        return best, bool(on_disk > in_memory)

    def _there_is_room(self, view: StageView, group: int, below: list[StageView]) -> bool:
        if self.buffer_rows is None or view.around.silent:
            return True
        disk_seconds = float(view.spilled_rows[:, group].sum()) / rows_per_second(view)
        came = sum(float(groups_of(one).came.sum()) for one in below)
        return not came or buffer_seconds(groups_of(view).seconds, self.buffer_rows, came) > disk_seconds


def rows_per_second(view: StageView) -> float:
    """How many rows can be read from disk (dskConst)."""
    rows, n_bytes = int(view.spilled_rows.sum()), int(view.spilled_bytes.sum())
    bytes_per_second = view.device.page_bytes / view.device.sequential_seconds
    return bytes_per_second * max(rows, 1) / max(n_bytes, 1)
