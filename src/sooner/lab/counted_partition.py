"""One partition of a join whose rows are only counted, by key.

It rests on two facts. Rows of a key leave memory together, or those first that came first: so a row is known by its
place among those of its side and key. And what a row has not met on disk is what was there when it came: what left
later it met in memory, and a memory-disk task shows it the rest (RPJ's Lemma 2). So a few numbers a key tell all that
tasks will find: `KeyCounts`, and `LeftRows` for each flush. What two runs have open follows from those of both, when a
task asks for it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from sooner.kernels.counting import CountedRows, KeyCounts, LeftRows
from sooner.policies.view import Counts
from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.sides import SIDES

ROOM: Final = 2**40  # for the rows of a key, where keys and the places of their rows are one number


class CountedRun(NamedTuple):
    """The twin of `sooner.runs.store.SpilledRun`."""

    number: int
    level: int
    n_rows: int
    n_bytes: int


class LeftLog:
    """All rows that have left memory, of both sides and all partitions, one after another."""

    def __init__(self) -> None:
        self._table = np.empty((len(LeftRows._fields), 1024), np.int64)  # with room for more
        self.size = 0

    def append(self, rows: CountedRows, places: Counts, leaving: Counts) -> Counts:
        """So many rows of each key of some sides and partitions leave; what is gained is told as by `rows`."""
        while self.size + leaving.size > self._table.shape[1]:
            self._table = np.hstack((self._table, np.empty_like(self._table)))
        totals = rows.leave(places, leaving, self._table, self.size)
        self.size += int(totals[:, 0].sum())
        return totals

    def parts(self, parts: Sequence[tuple[int, int]]) -> LeftRows:
        """From each begin up to its end."""
        begins, ends = np.array(parts).T
        lengths = ends - begins
        places = np.repeat(ends - lengths.cumsum(), lengths) + np.arange(lengths.sum())
        return LeftRows(*self._table.take(places, axis=1))


class DiskSide:
    """The runs of one side on disk."""

    def __init__(self, log: LeftLog) -> None:
        self.runs: list[CountedRun] = []
        self._log = log
        self._parts: dict[int, list[tuple[int, int]]] = {}  # of the log: what is in each run, by its number
        self._next_number = 1
        self._numbers: tuple[int, ...] | None = None  # of all runs, if they have been asked for

    @property
    def numbers(self) -> tuple[int, ...]:
        """Asked for again and again between two flushes."""
        if self._numbers is None:
            self._numbers = tuple(run.number for run in self.runs)
        return self._numbers

    def append(self, part: tuple[int, int], n_rows: int, n_bytes: int) -> CountedRun:
        """A flush of so many rows, which are this part of the log."""
        run = CountedRun(self._new_number(), 0, n_rows, n_bytes)
        self.runs.append(run)
        self._numbers = None
        self._parts[run.number] = [part]
        return run

    def become_one(self, members: Sequence[int], level: int) -> CountedRun:
        """These runs are one, and the first."""
        going = [run for run in self.runs if run.number in members]
        n_rows, n_bytes = (sum(getattr(run, size) for run in going) for size in ("n_rows", "n_bytes"))
        merged = CountedRun(self._new_number(), level, n_rows, n_bytes)
        self._parts[merged.number] = [part for member in members for part in self._parts.pop(member)]
        self.runs = [merged, *(run for run in self.runs if run.number not in members)]
        self._numbers = None
        return merged

    def lift(self, members: Sequence[int], level: int) -> None:
        self.runs = [run._replace(level=level) if run.number in members else run for run in self.runs]

    def rows_of(self, numbers: Sequence[int]) -> LeftRows:
        """All that is in these runs."""
        return self._log.parts([part for number in numbers for part in self._parts[number]])

    def _new_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1


class CountedPartition:
    def __init__(self, p: int, counts: KeyCounts, rows: CountedRows, log: LeftLog) -> None:
        self._p = p
        self._counts = counts
        self._rows = rows
        self._log = log
        self.disk = [DiskSide(log) for _ in SIDES]
        self.cells = CoveredCells()

    def meet_as_whole(self) -> int:
        """All that is open; how many results that gives."""
        left, right = (disk.numbers for disk in self.disk)
        return sum(map(self.meet_disk, SIDES)) + self.meet_on_disk([(left, right)])

    def meet_disk(self, side: int) -> int:
        """Rows in memory of this side meet the disk of the other; how many results that gives."""
        return self._rows.meet_disk(side, self._p)

    def meet_on_disk(self, rectangles: Sequence[Rectangle]) -> int:
        """These runs meet, as far as they have not; how many results that gives."""
        results = 0
        for lefts, rights in rectangles:
            for rectangle in self.cells.open_rectangles(lefts, rights):
                left, right = (disk.rows_of(numbers) for disk, numbers in zip(self.disk, rectangle, strict=True))
                results += unmet_results(left, right) + unmet_results(right, left)
            self.cells.cover(lefts, rights)
        return results

    def become_one(self, side: int, members: Sequence[int], level: int) -> CountedRun:
        merged = self.disk[side].become_one(members, level)
        self.cells.merge(side, members, merged.number)
        return merged

    def forget(self) -> None:
        """Nobody needs these rows any more."""
        for counts in self._counts:
            counts[:] = 0
        self.disk = [DiskSide(self._log) for _ in SIDES]


def unmet_results(on_disk: LeftRows, later: LeftRows) -> int:
    """Results of rows on disk with later ones of the other side, that came when those had left, and were unseen.

    Of each key these are places from the first that came too late up to the last that left; so it is enough to sort
    where the later rows end, and to count what is behind.
    """
    unseen = np.flatnonzero(later.unseen)
    ends, lengths = later.keys[unseen] * ROOM + later.up_to[unseen], later.unseen[unseen]
    order = np.argsort(ends, kind="stable")
    ends, lengths = ends[order], lengths[order]
    before = np.append(0, lengths.cumsum())  # each of them, and all
    begins = np.append(ends - lengths, np.iinfo(np.int64).max)
    first = on_disk.keys * ROOM
    too_late = first + on_disk.came
    place = ends.searchsorted(too_late, "right")
    in_time = before[place] + np.maximum(0, too_late - begins[place])
    return int((on_disk.rows * (before[ends.searchsorted(first + ROOM)] - in_time)).sum())
