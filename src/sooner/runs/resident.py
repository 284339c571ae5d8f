"""The rows of one side and partition that are in memory: a few sorted runs, merged in tiers.

A run of n rows is in tier log(n); as soon as FANOUT runs share a tier they become one run of a higher tier.
So a probe sees O(log n) runs and each row is moved O(log n) times (the log-structured merge tree's argument). Where
nothing probes them, more may share a tier, and rows are moved less often.
"""

from collections.abc import Callable, Iterator
from typing import Final

from sooner.runs.run import Run, merge, tier_of

FANOUT: Final = 4
UNPROBED_FANOUT: Final = 32


class ResidentRuns:
    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.n_bytes = 0
        self.n_rows = 0

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: Run) -> None:
        self._runs.append(run)
        self.n_bytes += run.n_bytes
        self.n_rows += len(run)

    def merge_tiers(
        self, may_grow_by: Callable[[int], bool], merge_up_to_bytes: int, fanout: int = FANOUT, few_rows: int = 0
    ) -> None:
        """Merge tiers that are full, and before them all runs of less than a few rows.

        A merged run can weigh a little more or less than its parts (a validity bitmap for all or for none), so
        the owner of the budget is asked; `merge_up_to_bytes` bounds the scratch copy that a merge makes.
        """
        while group := self._small(merge_up_to_bytes, few_rows) or self._full_tier(merge_up_to_bytes, fanout):
            merged = merge(group)
            if not may_grow_by(merged.n_bytes - sum(part.n_bytes for part in group)):
                return
            for part in group:
                self._drop(part)
            self.add(merged)

    def reduce(self, kept_of: Callable[[Run], Run]) -> None:
        """Hold of each run only what is kept of it; each goes before the next is looked at."""
        runs, self._runs = self._runs, []
        self.n_bytes, self.n_rows = 0, 0
        while runs:
            kept = kept_of(runs.pop(0))
            if len(kept):
                self.add(kept)

    def become_one(self, may_grow_by: Callable[[int], bool], merge_up_to_bytes: int) -> bool:
        """Merge all runs, on the same terms; whether there is one now."""
        if len(self._runs) > 1 and self.n_bytes <= merge_up_to_bytes:
            merged = merge(self._runs)
            if may_grow_by(merged.n_bytes - self.n_bytes):
                self.replace(merged)
        return len(self._runs) == 1

    def replace(self, run: Run) -> None:
        """Hold this run instead of what was held."""
        self.clear()
        self.add(run)

    def clear(self) -> None:
        self._runs, self.n_bytes, self.n_rows = [], 0, 0

    def _drop(self, run: Run) -> None:
        self._runs = [other for other in self._runs if other is not run]
        self.n_bytes -= run.n_bytes
        self.n_rows -= len(run)

    def _small(self, merge_up_to_bytes: int, few_rows: int) -> list[Run] | None:
        small = [run for run in self._runs if len(run) < few_rows]
        fits = sum(part.n_bytes for part in small) <= merge_up_to_bytes
        return small if len(small) > 1 and fits else None

    def _full_tier(self, merge_up_to_bytes: int, fanout: int) -> list[Run] | None:
        tiers: dict[int, list[Run]] = {}
        for run in self._runs:
            tier = tiers.setdefault(tier_of(len(run), fanout), [])
            tier.append(run)
            if len(tier) == fanout and sum(part.n_bytes for part in tier) <= merge_up_to_bytes:
                return tier
        return None
