"""Rows that nothing will match any more, although their inputs go on: which they are, and what is known of that.

Each row has a *mark*, a plain number. By *lateness* it is the value of its range column: no row comes that is so far
behind the newest of its own input, so what the other side's future rows cannot reach is dead. By *retention* it is the
tick at which the row came: what came so long ago is dead, and pairs further apart in time are given up.

Of a side whose rows come out when they match nothing, what is dead is *decided* first: all of the other side that it
could match must still be there. So rows of the other side stay until that is done, and only then are they *gone*: below
such a mark nobody needs a row, wherever it is, if it was there at that tick. (One may be dead when it comes, and still
match what is there.) Marks and ticks only rise. All of it follows from committed state.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Flags
from sooner.kernels.lines import can_match
from sooner.kernels.ranges import RangePlan, values_in
from sooner.runs.run import NEVER, Run
from sooner.sides import LEFT, SIDES, opposite

Mark = int | float
Marks = npt.NDArray[Any]
SOON: Final = 16  # rows in memory are decided when so small a part of a lifetime has passed since the last time
LATER: Final = 4  # ... and those on disk, which must be read for it
MOMENTS_KEPT: Final = 256


class Expiry(ABC):
    """What is known of a join whose rows die; `decided` and `gone` are [side][partition], None is nothing yet."""

    def __init__(self, partitions: int, examined: Sequence[int]) -> None:
        self._examined = examined
        self.decided: list[list[Mark | None]] = [[None] * partitions for _ in SIDES]
        self.gone: list[list[Mark | None]] = [[None] * partitions for _ in SIDES]
        self._ticks = [NEVER] * partitions  # of which rows that is said: those that came up to then
        self.late_rows = [0] * len(SIDES)

    @abstractmethod
    def marks(self, side: int, run: Run) -> Marks:
        """Of the rows of a run."""

    @abstractmethod
    def dead_below(self, side: int) -> Mark | None:
        """Rows of a side with lower marks have no match to come."""

    @abstractmethod
    def _partners_below(self, side: int, mark: Mark) -> Mark:
        """Below which mark all that rows of a side can match has marks of the other side below this one."""

    @abstractmethod
    def _lifetimes(self, older: Mark, newer: Mark) -> float:
        """How long one mark is after another, in lifetimes of a row."""

    @abstractmethod
    def arrive(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take notice of rows that come; those that come too late are counted and left out."""

    @abstractmethod
    def tick(self, tick: int, now: float) -> None:
        """Rows have arrived at this tick, at this time."""

    @abstractmethod
    def learn(self, newest: Sequence[Mark | None], tick: int, now: float) -> None:
        """So new are the newest rows of each side, wherever they came; and after this tick it is so late."""

    @property
    def newest_of_all(self) -> tuple[Mark | None, ...]:
        """Values of each side, of rows that came here and of others that are known; nothing where nobody asks."""
        return ()

    def is_due(self, p: int, parts: float) -> bool:
        """Whether such a part of a lifetime has passed since rows of a partition were decided."""
        for side in SIDES:
            dead, done = self.dead_below(side), self.decided[side][p]
            if dead is not None and (done is None or (dead > done and self._lifetimes(done, dead) * parts >= 1)):
                return True
        return False

    def dying(self, side: int, p: int, until: Mark | None, run: Run) -> Flags:
        """Which rows of a run are dead by now, and not decided."""
        return below(self.marks(side, run), until) & self.undecided(side, p, run)

    def undecided(self, side: int, p: int, run: Run) -> Flags:
        return ~self._old_and_below(self.decided[side][p], side, p, run)

    def gone_rows(self, side: int, p: int, run: Run) -> Flags:
        return self._old_and_below(self.gone[side][p], side, p, run)

    def needed(self, side: int, p: int, run: Run) -> Run:
        """The rows of a run that are not gone."""
        gone = self.gone_rows(side, p, run)
        return run.take(np.flatnonzero(~gone)) if gone.any() else run

    def is_all_gone(self, side: int, p: int, newest: Mark | None) -> bool:
        """Whether rows are gone that have no mark above this one, and were there when that was last said."""
        gone = self.gone[side][p]
        return gone is not None and newest is not None and newest < gone

    def _old_and_below(self, mark: Mark | None, side: int, p: int, run: Run) -> Flags:
        if mark is None:
            return np.zeros(len(run), np.bool_)
        return below(self.marks(side, run), mark) & (np.asarray(run.arrived) <= self._ticks[p])

    def note_decided(self, p: int, dead: Sequence[Mark | None], tick: int) -> None:
        """All rows that came up to a tick have met, and what was dead of sides that are examined has come out."""
        self._ticks[p] = tick
        for side in SIDES:
            self.decided[side][p] = _latest(self.decided[side][p], dead[side])
        for side in SIDES:
            gone, other = dead[side], self.decided[opposite(side)][p]
            if opposite(side) in self._examined and gone is not None:
                gone = None if other is None else min(gone, self._partners_below(side, other))
            self.gone[side][p] = _latest(self.gone[side][p], gone)

    def to_plain(self) -> dict[str, Any]:
        return {"decided": self.decided, "gone": self.gone, "ticks": self._ticks, "late_rows": self.late_rows}

    def load_plain(self, data: dict[str, Any]) -> None:
        self.decided, self.gone = ([list(marks) for marks in data[name]] for name in ("decided", "gone"))
        self._ticks, self.late_rows = list(data["ticks"]), list(data["late_rows"])


class ByLateness(Expiry):
    """`newest` are the values that count, of each side; those that were `seen` here count at once, or when told."""

    def __init__(
        self, partitions: int, examined: Sequence[int], plan: RangePlan, lateness: Mark, *, alone: bool = True
    ) -> None:
        super().__init__(partitions, examined)
        self._plan = plan
        self._lateness = lateness
        self._alone = alone
        self.newest: list[Mark | None] = [None] * len(SIDES)
        self.seen: list[Mark | None] = [None] * len(SIDES)

    def learn(self, newest: Sequence[Mark | None], tick: int, now: float) -> None:  # noqa: ARG002 - values tell
        self.newest = [_latest(known, news) for known, news in zip(self.newest, newest, strict=True)]

    @property
    def newest_of_all(self) -> tuple[Mark | None, ...]:
        return tuple(_latest(known, seen) for known, seen in zip(self.newest, self.seen, strict=True))

    def marks(self, side: int, run: Run) -> Marks:
        return values_in(run.rows, self._column(side), self._plan)[0]

    def arrive(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        marks, values = values_in(batch, self._column(side), self._plan)
        usable = can_match(values)
        too_late = below(marks, self._floor(side))
        if usable is not None:
            too_late &= usable
        if too_late.any():
            self.late_rows[side] += int(np.count_nonzero(too_late))
            kept = ~too_late
            batch, marks, usable = batch.filter(pa.array(kept)), marks[kept], None if usable is None else usable[kept]
        known = marks if usable is None else marks[usable]
        finite = known[np.isfinite(known)] if self._plan.layout == "doubles" else known
        if len(finite):
            self.seen[side] = _latest(self.seen[side], finite.max().item())
        return batch

    def tick(self, tick: int, now: float) -> None:
        if self._alone:
            self.learn(self.seen, tick, now)

    def dead_below(self, side: int) -> Mark | None:
        """Of the left what is too low for all rows to come of the right: left + high < floor of the right."""
        floor, reach = self._floor(opposite(side)), self._plan.high if side == LEFT else self._plan.low
        if floor is None or reach is None:
            return None
        return self._less(floor, reach if side == LEFT else -reach)

    def _partners_below(self, side: int, mark: Mark) -> Mark:
        reach = self._plan.high if side == LEFT else self._plan.low
        assert reach is not None, "else no mark would be decided"
        return self._less(mark, reach if side == LEFT else -reach)

    def _lifetimes(self, older: Mark, newer: Mark) -> float:
        low, high = self._plan.low, self._plan.high
        lifetime = self._lateness + (0 if low is None or high is None else high - low)
        return float((newer - older) / lifetime) if lifetime else float(SOON)

    def _floor(self, side: int) -> Mark | None:
        newest = self.newest[side]
        return None if newest is None else self._less(newest, self._lateness)

    def _less(self, mark: Mark, by: Mark) -> Mark:
        """Of doubles a little less than that, so that rounding forgets nothing."""
        less = mark - by
        return less - (abs(mark) + abs(by)) * 2.0**-50 if self._plan.layout == "doubles" else less

    def _column(self, side: int) -> str:
        return self._plan.left if side == LEFT else self._plan.right

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"newest": self.newest, "seen": self.seen}

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self.newest, self.seen = list(data["newest"]), list(data["seen"])


class ByRetention(Expiry):
    """`moments` say when ticks were: those of rows that may be there."""

    def __init__(self, partitions: int, examined: Sequence[int], retention_seconds: float) -> None:
        super().__init__(partitions, examined)
        self._retention = retention_seconds
        self._moments: list[tuple[int, float]] = []

    def marks(self, side: int, run: Run) -> Marks:  # noqa: ARG002 - of both alike
        return np.broadcast_to(np.asarray(run.arrived), len(run))

    def arrive(self, side: int, batch: pa.RecordBatch) -> pa.RecordBatch:  # noqa: ARG002 - no row is too late
        return batch

    def learn(self, newest: Sequence[Mark | None], tick: int, now: float) -> None:  # noqa: ARG002 - time tells
        self.tick(tick, now)

    def tick(self, tick: int, now: float) -> None:
        now = max(now, self._moments[-1][1] if self._moments else now)
        if [known for known, _ in self._moments[-2:]] == [tick, tick]:
            self._moments.pop()  # when its rows came, and how late it is, is all there is to know of it
        self._moments.append((tick, now))
        if len(self._moments) > MOMENTS_KEPT:  # rows of a tick between two stay as long as those of the later
            del self._moments[0:-2:2]

    def dead_below(self, side: int) -> Mark | None:  # noqa: ARG002
        return self._first_after(self._moments[-1][1] - self._retention) if self._moments else None

    def _partners_below(self, side: int, mark: Mark) -> Mark:  # noqa: ARG002
        return self._first_after(self._time_of(mark) - self._retention)

    def _lifetimes(self, older: Mark, newer: Mark) -> float:
        return (self._time_of(newer) - self._time_of(older)) / self._retention

    def _first_after(self, time: float) -> Mark:
        """A tick with none below it that was later than this time."""
        return max((tick + 1 for tick, at in self._moments if at <= time), default=0)

    def _time_of(self, mark: Mark) -> float:
        """Of the last tick below it that is known."""
        return max((at for tick, at in self._moments if tick < mark), default=float("-inf"))

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"moments": self._moments}

    def load_plain(self, data: dict[str, Any]) -> None:
        super().load_plain(data)
        self._moments = [(tick, time) for tick, time in data["moments"]]


def below(marks: Marks, mark: Mark | None) -> Flags:
    """Which marks are lower; where there is none to compare with, none is."""
    if mark is None or not len(marks):
        return np.zeros(len(marks), np.bool_)
    if marks.dtype.kind in "iu":  # a mark may lie beyond all integers of their type
        limits = np.iinfo(marks.dtype)
        if mark <= limits.min or mark > limits.max:
            return np.full(len(marks), mark > limits.max)
    lower: Flags = marks < marks.dtype.type(mark)
    return lower


def _latest(one: Mark | None, other: Mark | None) -> Mark | None:
    return max((mark for mark in (one, other) if mark is not None), default=None)
