"""The State Manager (AGF sec. 5, algorithm 2): which join of a plan works on disk, and on which of its groups.

From the root down, the first join whose best group on disk promises more results of the whole plan than memory gives
is sent to disk. Those above it go on in memory, and what comes for it and for those below waits.
"""

from dataclasses import dataclass

import numpy as np

from sooner.policies.plan_view import MergeGroup, StageView, StageViews, groups_of
from sooner.policies.plans.expected import disk_throughput, final_share
from sooner.policies.view import Numbers


@dataclass(frozen=True)
class StateManager:
    """`memory_constant` weighs results in memory (memConst). `buffer_rows` may wait meanwhile: a merge for which more
    would come is not begun (sec. 5.3, BufTime > DskTime); None is no limit, where sources wait themselves.
    """

    memory_constant: float = 1.0
    buffer_rows: int | None = None

    def choose(self, views: StageViews) -> MergeGroup | None:
        for at, (name, view) in reversed([*enumerate(views.items())]):
            group = self._best_on_disk(view)
            if group is not None and self._there_is_room(view, group, list(views.values())[: at + 1]):
                return MergeGroup(name, group)
        return None

    def _best_on_disk(self, view: StageView) -> int | None:
        """The best group on disk, if it is better than memory. In a silence memory gives nothing."""
        if not view.unmet_on_disk.any():
            return None
        groups = groups_of(view)
        share = final_share(groups.final, groups.local)
        local = unmet_results(view.unmet_on_disk, groups.distinct)
        throughput = disk_throughput(local, share, view.spilled_rows.sum(axis=0).astype(np.float64))
        throughput[view.unmet_on_disk <= 0] = -1.0
        best = int(throughput.argmax())
        in_memory = 0.0 if view.around.silent else self.memory_constant * float(groups.final.sum())
        on_disk = throughput[best] * rows_per_second(view) * groups.seconds
        return best if on_disk > in_memory or view.around.silent else None

    def _there_is_room(self, view: StageView, group: int, below: list[StageView]) -> bool:
        if self.buffer_rows is None or view.around.silent:
            return True
        disk_seconds = float(view.spilled_rows[:, group].sum()) / rows_per_second(view)
        came = sum(float(groups_of(one).came.sum()) for one in below)
        return not came or buffer_seconds(groups_of(view).seconds, self.buffer_rows, came) > disk_seconds


def unmet_results(unmet_pairs: Numbers, distinct: Numbers) -> Numbers:
    """Results of the join that a merge of each group would give (dskLocRslt).

    The pairs on disk that have not met are counted anyway. Where groups leave as wholes they are the paper's sum over
    flushes: left rows on disk x right rows that leave, and the other way round.
    """
    return unmet_pairs / np.maximum(distinct, 1.0)


def rows_per_second(view: StageView) -> float:
    """How many rows can be read from disk (dskConst)."""
    rows, n_bytes = int(view.spilled_rows.sum()), int(view.spilled_bytes.sum())
    bytes_per_second = view.device.page_bytes / view.device.sequential_seconds
    return bytes_per_second * max(rows, 1) / max(n_bytes, 1)


def buffer_seconds(seconds: float, buffer_rows: float, came: float) -> float:
    """How long a buffer lasts, if as much comes as did in so many seconds (BufTime)."""
    return seconds * buffer_rows / came
