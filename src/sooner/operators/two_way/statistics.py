"""What an operator knows about its inputs, kept up to date by addition and subtraction only.

The heart is the area of the join's rectangle that is not covered yet, in pairs of rows, split by what could cover it:

- `unmet_with_disk[side, p]`: a memory-disk task. A row that arrives has not met what is on disk by then: all rows of
  the other side that left memory before (RPJ sec. 5.3, Er_mem, case 1).
- `unmet_on_disk[p]`: a disk-disk task. A row that leaves memory without having met the disk since its arrival carries
  its share over from the first number to the second (Er_mem case 2, Er_disk; S_bfr from the flush history).

Times the selectivity, these are RPJ's Er_mem and Er_disk; over the whole rectangle, the fraction covered. They are
exact, but for the time within a disk-disk task of several merges, when the task's share is spread over its cells, and
for rows that stay in memory through more than MOMENTS_KEPT flushes of the other side.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from sooner.policies.view import Counts, DeviceCosts, JoinView, Numbers
from sooner.runs.run import Ticks
from sooner.sides import SIDES, opposite

MOMENTS_KEPT: Final = 256
_ARRAYS: Final = (
    "received_rows",
    "arrived_rows",
    "resident_rows",
    "resident_bytes",
    "spilled_rows",
    "spilled_bytes",
    "spilled_runs",
    "unmet_with_disk",
    "unmet_on_disk",
    "compared_pairs",
    "matched_pairs",
    "last_merge",
)


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
        totals = np.array([0, *self.totals])
        return int(totals[np.searchsorted(np.array(self.ticks, np.int32), arrivals)].sum())

    def forget_moments(self) -> None:
        """Forget the moments: whoever asks from now on arrived after all of them."""
        del self.ticks[:-1], self.totals[:-1]


class Statistics:
    def __init__(self, partitions: int, decay: float = 0.5, time_unit_seconds: float = 1.0) -> None:
        shape = (len(SIDES), partitions)
        self.received_rows = np.zeros(len(SIDES), np.int64)  # with those whose null keys can match nothing
        self.arrived_rows = np.zeros(shape, np.int64)
        self.resident_rows = np.zeros(shape, np.int64)
        self.resident_bytes = np.zeros(shape, np.int64)
        self.spilled_rows = np.zeros(shape, np.int64)
        self.spilled_bytes = np.zeros(shape, np.int64)
        self.spilled_runs = np.zeros(shape, np.int64)
        self.unmet_with_disk = np.zeros(shape, np.float64)
        self.unmet_on_disk = np.zeros(partitions, np.float64)
        self.compared_pairs = np.zeros(partitions, np.float64)
        self.matched_pairs = np.zeros(partitions, np.float64)
        self.last_merge = np.zeros(partitions, np.int64)
        self.history = [[FlushHistory() for _ in range(partitions)] for _ in SIDES]
        self.recent = RecentArrivals(decay, time_unit_seconds)
        self.results = 0

    def rows_received(self, side: int, rows: int, now: float) -> None:
        self.received_rows[side] += rows
        self.recent.add(side, rows, now)

    def rows_arrived(self, side: int, partition: int, rows: int) -> None:
        self.arrived_rows[side, partition] += rows
        self.unmet_with_disk[side, partition] += rows * self.spilled_rows[opposite(side), partition]

    def rows_compared(self, partition: int, pairs: int, matches: int) -> None:
        self.compared_pairs[partition] += pairs
        self.matched_pairs[partition] += matches

    def rows_spilled(self, side: int, partition: int, tick: int, rows: int, unseen: Ticks) -> None:
        """So many rows left memory; `unseen` are the arrivals of those that came after the last memory-disk task."""
        other = opposite(side)
        carried = self.history[other][partition].flushed_before(unseen)
        carried = min(carried, self.unmet_with_disk[side, partition])  # an old history is coarse
        self.unmet_with_disk[side, partition] -= carried
        self.unmet_on_disk[partition] += carried
        self.history[side][partition].add(tick, rows)
        if not self.resident_rows[side, partition]:
            self.history[other][partition].forget_moments()

    def met_disk(self, side: int, partition: int) -> None:
        self.unmet_with_disk[side, partition] = 0

    def merged_on_disk(self, partition: int, tick: int, share: float) -> None:
        """A disk-disk task covered this share of the partition's open cells."""
        self.unmet_on_disk[partition] *= 1 - share
        self.last_merge[partition] = tick

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

    def view(self, tick: int, ended: tuple[bool, bool], device: DeviceCosts) -> JoinView:
        return JoinView(
            tick=tick,
            ended=ended,
            arrived_rows=_read_only(self.arrived_rows),
            resident_rows=_read_only(self.resident_rows),
            resident_bytes=_read_only(self.resident_bytes),
            spilled_rows=_read_only(self.spilled_rows),
            spilled_bytes=_read_only(self.spilled_bytes),
            spilled_runs=_read_only(self.spilled_runs),
            recent_rows=self.recent.rows,
            unmet_with_disk=_read_only(self.unmet_with_disk),
            unmet_on_disk=_read_only(self.unmet_on_disk),
            selectivity=self.selectivity,
            last_merge=_read_only(self.last_merge),
            device=device,
        )

    def to_plain(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name).tolist() for name in _ARRAYS},
            "history": [[[h.ticks, h.totals] for h in side] for side in self.history],
            "recent": self.recent.to_plain(),
            "results": self.results,
        }

    def load_plain(self, data: dict[str, Any]) -> None:
        for name in _ARRAYS:
            getattr(self, name)[...] = data[name]
        self.history = [[FlushHistory(list(t), list(n)) for t, n in side] for side in data["history"]]
        self.recent.load_plain(data["recent"])
        self.results = data["results"]


class RecentArrivals:
    """Rows of each side that came lately: counted per time unit, with exponential decay (RPJ sec. 4.2)."""

    def __init__(self, decay: float, unit_seconds: float) -> None:
        self._decay = decay
        self._unit_seconds = unit_seconds
        self._unit = 0
        self._in_unit = np.zeros(len(SIDES))
        self._settled: Numbers | None = None  # until the first unit is over, its count is all there is

    def add(self, side: int, rows: int, now: float) -> None:
        self._turn_to(int(now / self._unit_seconds))
        self._in_unit[side] += rows

    @property
    def rows(self) -> Numbers:
        return self._in_unit.copy() if self._settled is None else self._settled.copy()

    def _turn_to(self, unit: int) -> None:
        if unit <= self._unit:
            return
        settled = self._in_unit if self._settled is None else self._blend(self._settled, self._in_unit)
        self._settled = settled * self._decay ** (unit - self._unit - 1)  # units in which nothing came
        self._in_unit = np.zeros(len(SIDES))
        self._unit = unit

    def _blend(self, old: Numbers, new: Numbers) -> Numbers:
        return self._decay * old + (1 - self._decay) * new

    def to_plain(self) -> list[Any]:
        settled = None if self._settled is None else self._settled.tolist()
        return [self._unit, self._in_unit.tolist(), settled]

    def load_plain(self, data: list[Any]) -> None:
        self._unit, in_unit, settled = data
        self._in_unit = np.array(in_unit)
        self._settled = None if settled is None else np.array(settled)


def _read_only(array: Counts | Numbers) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
