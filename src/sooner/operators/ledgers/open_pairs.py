"""How much of the join's rectangle is open, in pairs of rows, split by what could cover it.

- `unmet_with_disk[side, p]`: a memory-disk task. A row that arrives has not met what is on disk by then: all rows of
  the other side that left memory before (RPJ sec. 5.3, Er_mem, case 1).
- `unmet_on_disk[p]`: a disk-disk task. A row that leaves memory without having met the disk since its arrival carries
  its share over from the first number to the second (Er_mem case 2, Er_disk; S_bfr from the flush history). Where rows
  wait, it is all that is open, wherever the rows are.

Times the selectivity, these are RPJ's Er_mem and Er_disk; over the whole rectangle, the fraction covered. They are
exact, but for the time within a disk-disk task of several merges, when the task's share is spread over its cells, and
for rows that stay in memory through more than MOMENTS_KEPT flushes of the other side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from sooner.operators.statistics.arrivals import Counts, Numbers, Statistics, read_only
from sooner.operators.statistics.regions import RegionStatistics
from sooner.policies.view import DeviceCosts, JoinView, Surroundings
from sooner.runs.run import Ticks
from sooner.runs.store import RunOnDisk
from sooner.sides import LEFT, RIGHT, SIDES, opposite

MOMENTS_KEPT: Final = 256


@dataclass
class FlushHistory:
    """When how many rows of one side and partition left memory: ticks and running totals."""

    ticks: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def add(self, tick: int, rows: int) -> None:
        self.ticks.append(tick)
        self.totals.append(rows + (self.totals[-1] if self.totals else 0))
        if len(self.ticks) > MOMENTS_KEPT:  # an endless stream has more of them than an estimate needs
            del self.ticks[0:-2:2], self.totals[0:-2:2]

    def flushed_before(self, arrivals: Ticks) -> int:
        """Pairs of a row that arrived at one of these ticks and a row that had left memory by then."""
        in_order = np.sort(arrivals)  # to look for few moments among them is far cheaper than for them among moments
        later = len(arrivals) - in_order.searchsorted(np.array(self.ticks, np.int32), side="right")
        return int(np.diff([0, *self.totals]) @ later)

    def forget_moments(self) -> None:
        """Forget the moments: whoever asks from now on arrived after all of them."""
        del self.ticks[:-1], self.totals[:-1]


class JoinStatistics(Statistics):
    SAVED: ClassVar[tuple[str, ...]] = (
        *Statistics.SAVED,
        "unmet_with_disk",
        "unmet_on_disk",
        "compared_pairs",
        "matched_pairs",
        "last_merge",
        "whole_rows",
        "undecided_rows",
    )

    def __init__(self, partitions: int, regions: RegionStatistics | None = None) -> None:
        super().__init__(len(SIDES), partitions)
        self.regions = regions  # where the algorithm looks at them
        self.unmet_with_disk = np.zeros((len(SIDES), partitions), np.float64)
        self.unmet_on_disk = np.zeros(partitions, np.float64)
        self.compared_pairs = np.zeros(partitions, np.float64)
        self.matched_pairs = np.zeros(partitions, np.float64)
        self.last_merge = np.zeros(partitions, np.int64)
        self.whole_rows = np.zeros(partitions, np.int64)  # that had arrived when last nothing was open
        self.undecided_rows = np.zeros((len(SIDES), partitions), np.int64)  # that may come out by themselves one day
        self.history = [[FlushHistory() for _ in range(partitions)] for _ in SIDES]
        self.rows_wait = False  # rows that arrive meet nothing, and are open wherever they are
        self.kept_rights = np.zeros(partitions, np.int64)  # rows that those of the left meet all the same

    def rows_arrived(self, side: int, partition: int, rows: int) -> None:
        self.arrived_rows[side, partition] += rows
        other = opposite(side)
        if self.rows_wait:
            met = self.kept_rights[partition] if side == LEFT else 0
            self.unmet_on_disk[partition] += rows * (self.arrived_rows[other, partition] - met)
        else:
            self.unmet_with_disk[side, partition] += rows * self.spilled_rows[other, partition]

    def begin_waiting(self, *, keeps_rights: bool) -> None:
        """All that is there has met."""
        self.rows_wait = True
        self.whole_rows[:] = self.arrived_rows.sum(axis=0)
        if keeps_rights:
            self.kept_rights[:] = self.arrived_rows[RIGHT]

    def rows_forgotten(self, side: int, rows: Counts) -> None:
        """So many rows arrived in each partition, met all that they can match, and are not kept."""
        self.arrived_rows[side] += rows
        self.forgotten_rows[side] += rows

    def rows_compared(self, partition: int, pairs: int, matches: int) -> None:
        self.compared_pairs[partition] += pairs
        self.matched_pairs[partition] += matches

    def rows_spilled(self, side: int, partition: int, tick: int, rows: int, unseen: Ticks) -> None:
        """So many rows left memory; `unseen` are the arrivals of those that came after the last memory-disk task."""
        other = opposite(side)
        self.carry_over(side, partition, self.history[other][partition].flushed_before(unseen))
        self.history[side][partition].add(tick, rows)
        if not self.resident_rows[side, partition]:
            self.history[other][partition].forget_moments()

    def carry_over(self, side: int, partition: int, pairs: int) -> None:
        """Rows left memory that have not met so much on disk: only a disk-disk task can bring that together now."""
        if not self.open_pairs(partition):
            self.whole_rows[partition] = self.arrived_rows[:, partition].sum()
        carried = min(pairs, self.unmet_with_disk.item(side, partition))  # an old history is coarse
        self.unmet_with_disk[side, partition] -= carried
        self.unmet_on_disk[partition] += carried
        self._limit_to_rows(partition)

    def count_spilled(self, which: int, partition: int, runs: Sequence[RunOnDisk]) -> None:
        """What is open on disk is no more than is there."""
        super().count_spilled(which, partition, runs)
        self._limit_to_rows(partition)

    def _limit_to_rows(self, partition: int) -> None:
        if self.rows_wait:
            return
        left, right = (float(self.spilled_rows.item(side, partition)) for side in SIDES)
        self.unmet_on_disk[partition] = min(self.unmet_on_disk.item(partition), left * right)

    def met_disk(self, side: int, partition: int, unseen: Ticks) -> None:
        """Rows in memory have met the disk; `unseen` are the arrivals of those that have not."""
        still_unmet = self.history[opposite(side)][partition].flushed_before(unseen)
        self.unmet_with_disk[side, partition] = min(self.unmet_with_disk[side, partition], still_unmet)

    def nothing_to_meet(self, side: int, partition: int) -> None:
        """The other side has no rows on disk any more."""
        self.unmet_with_disk[side, partition] = 0

    def met_on_disk(self, partition: int, tick: int, pairs: float) -> None:
        """A task covered so much of what was open on disk."""
        self.last_merge[partition] = tick
        self.unmet_on_disk[partition] = max(0.0, self.unmet_on_disk[partition] - pairs)

    def met_as_whole(self, partition: int, tick: int, pairs: float, rows: int) -> None:
        """A task covered all that was open in a partition when so many rows had arrived: so many pairs on disk."""
        self.met_on_disk(partition, tick, pairs)
        self.whole_rows[partition] = rows

    def open_pairs(self, partition: int) -> float:
        left, right = (self.unmet_with_disk.item(side, partition) for side in SIDES)
        return left + right + self.unmet_on_disk.item(partition)

    def forget(self, partition: int) -> None:
        """Everything in this partition has met."""
        self.unmet_with_disk[:, partition] = 0
        self.unmet_on_disk[partition] = 0

    @property
    def selectivity(self) -> Numbers:
        """Results per pair compared in memory; an unseen partition is as good as one that matched always."""
        rates: Numbers = (self.matched_pairs + 1) / (self.compared_pairs + 1)
        return rates

    @property
    def arrived_pairs(self) -> float:
        """The rectangle of what has arrived, partition by partition."""
        return float((self.arrived_rows[0].astype(np.float64) * self.arrived_rows[1]).sum())

    @property
    def covered_fraction(self) -> float:
        """How much of the rectangle of what has arrived is covered."""
        area = self.arrived_pairs
        open_area = float(self.unmet_with_disk.sum() + self.unmet_on_disk.sum())
        return 1 - open_area / area if area else 1.0

    def view(
        self,
        tick: int,
        ended: tuple[bool, ...],
        around: Surroundings,
        device: DeviceCosts,
        memory_bytes: int,
        expected_rows: int | None = None,
        full_since: int | None = None,
        selectivity: Numbers | None = None,
    ) -> JoinView:
        """What policies see; the selectivity is reckoned unless it is known.

        Policies are asked all the time, and to set twenty fields of a frozen view one by one takes as long as many of
        them do.
        """
        view = JoinView.__new__(JoinView)
        view.__dict__.update(
            self._seen_by_policies,
            tick=tick,
            ended=ended,
            around=around,
            recent_rows=self.recent.rows,
            selectivity=self.selectivity if selectivity is None else selectivity,
            device=device,
            memory_bytes=memory_bytes,
            expected_rows=expected_rows,
            full_since=full_since,
        )
        return view

    @cached_property
    def _seen_by_policies(self) -> dict[str, Any]:
        """Those of these arrays that a view has: they change, but only what is in them. And no regions."""
        seen = {field.name for field in fields(JoinView)} & {*self.SAVED}
        return {"regions": None} | {name: read_only(getattr(self, name)) for name in seen}

    def to_plain(self) -> dict[str, Any]:
        history = [[[one.ticks, one.totals] for one in side] for side in self.history]
        regions = {} if self.regions is None else {"regions": self.regions.to_plain()}
        waiting = {"kept_rights": self.kept_rights.tolist()} if self.rows_wait else {}
        return super().to_plain() | {"history": history} | regions | waiting

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self.history = [[FlushHistory(list(t), list(n)) for t, n in side] for side in data["history"]]
        self.kept_rights[:] = data.get("kept_rights", 0)
        if self.regions is not None:
            self.regions.load_plain(data["regions"])
