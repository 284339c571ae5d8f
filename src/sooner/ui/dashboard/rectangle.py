"""The rectangle of two inputs as it fills up: which pairs of rows have met by now, and how.

Rows lie on either axis in the order in which they came. Events say which runs met and not which rows are in a run, so
a run is taken for the rows that came since the last one of its partition left memory, and for evenly spread over
partitions. No place is filled twice, and what is not known to have met is open.
"""

import base64
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sooner.sides import LEFT, RIGHT, SIDES, opposite

HOW: Final = ("arrival", "memory-disk", "disk-disk", "clean-up")
ARRIVAL, MEMORY_DISK, DISK_DISK, CLEAN_UP = range(len(HOW))
PLACES: Final = 48  # along either axis
MOST_PARTITIONS: Final = 16  # of more the first stand for all
MOST_RUNS: Final = 1_000  # of a partition and side whose rows are known
FULL: Final = 255

Floats = npt.NDArray[np.float64]
Stretch = tuple[float, float]  # rows of one input, by when they came
NONE: Final[Floats] = np.empty(0)


class _Partition:
    def __init__(self, places: int) -> None:
        self.met = np.zeros((len(HOW), places, places))  # pairs, by how
        self.total = np.zeros((places, places))
        self.since = [0.0, 0.0]  # rows in memory came after these
        self.seen = [0.0, 0.0]  # up to these, rows have met what is in memory
        self.runs: tuple[dict[int, Stretch], dict[int, Stretch]] = ({}, {})


class Rectangle:
    """`arrival_meets`: whether rows that come are joined at once with those in memory; of more than so many partitions
    the first stand for all.
    """

    def __init__(
        self, *, arrival_meets: bool = True, places: int = PLACES, most_partitions: int = MOST_PARTITIONS
    ) -> None:
        self._places = places
        self._most_partitions = most_partitions
        self._rows = [0.0, 0.0]
        self._width = [1.0, 1.0]  # rows in a place
        self._arrival_meets = arrival_meets
        self._partitions: dict[int, _Partition] = {}
        self._last_flush: dict[tuple[int, int], tuple[int, Stretch]] = {}
        self._before: dict[tuple[int, int], float] = {}  # bytes in memory

    def arrived(self, rows: Sequence[int]) -> None:
        for side in SIDES:
            self._rows[side] += rows[side]
            while self._rows[side] > self._places * self._width[side]:
                self._fold(side)

    def no_more_meetings(self) -> None:
        """From now on rows that come wait."""
        if self._arrival_meets:
            for partition in self._partitions.values():
                self._meet_in_memory(partition)
            self._arrival_meets = False

    def flushed(self, side: int, p: int, run: int) -> None:
        """What is in memory of a side and partition became a run."""
        if (partition := self._partition(p)) is None:
            return
        self._meet_in_memory(partition)
        gone = partition.since[side], self._rows[side]
        runs = partition.runs[side]
        runs[run] = gone
        if len(runs) > MOST_RUNS:
            del runs[next(iter(runs))]
        partition.since[side] = self._rows[side]
        self._last_flush[side, p] = run, gone

    def in_memory(self, resident_bytes: Sequence[Sequence[int]]) -> None:
        """What is in memory after an action: if a flush left something there, only the older rows are gone."""
        for p in range(min(len(resident_bytes[LEFT]), self._most_partitions)):
            self._partition(p)
        for (side, p), (run, (first, end)) in self._last_flush.items():
            left, before = resident_bytes[side][p], self._before.get((side, p), 0.0)
            if left and before:
                middle = end - (end - first) * min(left / before, 1.0)
                partition = self._partitions[p]
                partition.since[side] = middle
                partition.runs[side][run] = first, middle
        self._last_flush.clear()
        for side, some in enumerate(resident_bytes[:2]):
            for p, n_bytes in enumerate(some[: self._most_partitions]):
                self._before[side, p] = max(n_bytes, 1)

    def memory_met(self, side: int, p: int, runs: Iterable[int]) -> None:
        """What is in memory of a side met these runs of the other."""
        if (partition := self._partition(p)) is None:
            return
        self._meet_in_memory(partition)
        other = opposite(side)
        memory, disk = [(partition.since[side], self._rows[side])], self._stretches(partition, other, runs)
        self._cover(partition, MEMORY_DISK, *((memory, disk) if side == LEFT else (disk, memory)))

    def runs_met(self, p: int, how: int, left: Iterable[int], right: Iterable[int]) -> None:
        """All of these runs met each other."""
        if (partition := self._partition(p)) is None:
            return
        self._meet_in_memory(partition)
        of_left, of_right = self._stretches(partition, LEFT, left), self._stretches(partition, RIGHT, right)
        self._cover(partition, how, of_left, of_right)

    def all_met(self) -> None:
        """The clean-up is over: what was open has met in it."""
        for partition in self._partitions.values():
            self._meet_in_memory(partition)
            self._cover(partition, CLEAN_UP, *([(0.0, self._rows[side])] for side in SIDES))

    def to_plain(self) -> dict[str, Any]:
        """For each place and way the share of its pairs that met so, of 255: rows of places of the right input."""
        for partition in self._partitions.values():
            self._meet_in_memory(partition)
        met = sum((one.met for one in self._partitions.values()), np.zeros((len(HOW), self._places, self._places)))
        n = max(len(self._partitions), 1)
        room = np.full((self._places, self._places), np.inf)
        (x, rows, _), (y, columns, _) = (self._places_of(side, (0.0, self._rows[side])) for side in SIDES)
        room[x, y] = np.multiply.outer(rows, columns) * n
        shares = np.clip(np.rint(met / room * FULL), 0, FULL).astype(np.uint8)
        return {
            "places": self._places,
            "width": list(self._width),
            "rows": list(self._rows),
            "shares": [float(one.sum() / max(self._rows[LEFT] * self._rows[RIGHT] * n, 1)) for one in met],
            "met": base64.b64encode(shares.tobytes()).decode(),
        }

    def _partition(self, p: int) -> _Partition | None:
        if p not in self._partitions:
            if len(self._partitions) >= self._most_partitions:
                return None
            self._partitions[p] = _Partition(self._places)
        return self._partitions[p]

    def _meet_in_memory(self, partition: _Partition) -> None:
        """Rows that came since then met what was in memory, and each other."""
        rows, seen, since = self._rows, list(partition.seen), partition.since
        partition.seen = list(rows)
        if self._arrival_meets and seen != rows:
            for left, right in (
                ((max(seen[LEFT], since[LEFT]), rows[LEFT]), (since[RIGHT], rows[RIGHT])),
                ((since[LEFT], seen[LEFT]), (max(seen[RIGHT], since[RIGHT]), rows[RIGHT])),
            ):
                self._cover(partition, ARRIVAL, [left], [right])

    def _stretches(self, partition: _Partition, side: int, runs: Iterable[int]) -> list[Stretch]:
        """Of a run that was made of others it is not known of which: it counts as all that had left memory."""
        everything = 0.0, partition.since[side]
        joined: list[Stretch] = []
        for first, last in sorted({partition.runs[side].get(run, everything) for run in runs}):
            if joined and first <= joined[-1][1]:
                first, last = joined[-1][0], max(joined.pop()[1], last)
            joined.append((first, last))
        return joined

    def _cover(self, partition: _Partition, how: int, left: Sequence[Stretch], right: Sequence[Stretch]) -> None:
        for of_left in left:
            x, rows, all_rows = self._places_of(LEFT, of_left)
            for of_right in right:
                y, columns, all_columns = self._places_of(RIGHT, of_right)
                at = x, y
                room = np.multiply.outer(all_rows, all_columns) - partition.total[at]
                found = np.maximum(np.minimum(np.multiply.outer(rows, columns), room), 0.0)
                partition.met[how][at] += found
                partition.total[at] += found

    def _places_of(self, side: int, stretch: Stretch) -> tuple[slice, Floats, Floats]:
        """The places where these rows are, how many of them are in each, and how many rows have come for each."""
        width, rows = self._width[side], self._rows[side]
        first, last = stretch[0], min(stretch[1], rows)
        if last <= first:
            return slice(0, 0), NONE, NONE
        begin, end = int(first // width), int(-(-last // width))
        ours = np.full(end - begin, width)
        alls = ours.copy()
        ours[-1] -= end * width - last
        ours[0] -= first - begin * width
        alls[-1] = min(width, rows - (end - 1) * width)
        return slice(begin, end), ours, alls

    def _fold(self, side: int) -> None:
        """Two places become one."""
        self._width[side] *= 2
        half = self._places // 2
        for partition in self._partitions.values():
            met = np.zeros_like(partition.met)
            if side == LEFT:
                met[:, :half] = partition.met[:, ::2] + partition.met[:, 1::2]
            else:
                met[:, :, :half] = partition.met[:, :, ::2] + partition.met[:, :, 1::2]
            partition.met, partition.total = met, met.sum(axis=0)
