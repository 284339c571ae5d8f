"""One join of a plan at work: a two-way join, what is observed of it, and what the plan tells it to do on disk."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sooner.kernels.gathering import as_one
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.pieces import pieces
from sooner.operators.plans.algorithms import PlanAlgorithm
from sooner.operators.plans.groups import Groups
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.policies.plan_view import StageView
from sooner.policies.view import DiskDisk, JoinView, Surroundings, Task, Together
from sooner.sides import LEFT, SIDES

FAN_IN = 64  # runs of a side that are merged at once: nearly always all of a group


class Directed:
    """A react policy that wants what the plan wants, and is asked for it again until it is done."""

    wanted: int | None = None  # the group to be merged

    def choose(self, view: JoinView) -> Task | None:
        if self.wanted is None or not view.unmet_on_disk[self.wanted] > 0:
            return None
        return DiskDisk(self.wanted, FAN_IN)


class Stage:
    """`name` is that of the input that the join adds to what the joins below it give."""

    def __init__(
        self,
        name: str,
        plan: TwoWayPlan,
        names: Sequence[str],
        schemas: Sequence[pa.Schema],
        algorithm: PlanAlgorithm,
        storage: Storage,
        means: Means,
        *,
        is_root: bool,
    ) -> None:
        self.name = name
        self._directed = Directed()
        if algorithm.react is not None:
            plan = replace(plan, algorithm=replace(plan.algorithm, react=self._directed))
        self.join: TwoWayJoin[pa.RecordBatch] = plan.make(names, schemas, storage, means)
        left, right = self.join.inputs
        watched = (left, right), self.join.statistics.arrived_rows, algorithm.maintenance, algorithm.every_seconds
        self.groups = Groups(*watched, is_root=is_root) if algorithm.sees_groups else None

    def view(self, around: Surroundings) -> StageView:
        view = StageView.__new__(StageView)
        view.__dict__.update(vars(self.join.view(around)), groups=None if self.groups is None else self.groups.view())
        return view

    def evict(self, evictions: Together) -> bool:
        return self.join.evict(evictions)

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        if self.groups is not None:
            for side in SIDES:
                for batch in rows[side]:
                    self.groups.rows_come(side, batch)
        return self._counted(self.join.arrive(rows, now))

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        yield from self._counted(self.join.work(quantum_bytes, around))
        self._look_at_merge()

    def end(self, side: int) -> None:
        self.join.end(side)
        self._look_at_merge()

    def pieces(self, results: Sequence[pa.RecordBatch], at_most_bytes: int) -> Iterator[Sequence[pa.RecordBatch]]:
        """Results of the join below, as they are taken in: the same pieces of the same rows, whatever their order."""
        yield from pieces([as_one(results)], [self.join.inputs[LEFT].code], at_most_bytes)

    # A merge that the plan has ordered

    def merge(self, group: int) -> None:
        self._directed.wanted = group

    @property
    def is_merging(self) -> bool:
        return self._directed.wanted is not None

    def _look_at_merge(self) -> None:
        """It is over when nothing of the group is open, or all is cleaned up anyway."""
        wanted, join = self._directed.wanted, self.join
        if wanted is not None and (join.phase in ("clean-up", "done") or not join.statistics.unmet_on_disk[wanted] > 0):
            self._directed.wanted = None

    def to_plain(self) -> dict[str, Any]:
        return {
            "join": self.join.snapshot(),
            "groups": None if self.groups is None else self.groups.to_plain(),
            "merging": self._directed.wanted,
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        self._directed.wanted = data["merging"]
        if self.groups is not None:
            self.groups.load_plain(data["groups"])
        self.join.restore(data["join"])

    def _counted(self, results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in results:
            if self.groups is not None:
                self.groups.gave(batch)
            yield batch
