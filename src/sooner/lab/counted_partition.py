"""One partition of a join whose rows are only counted, by key.

It rests on two facts. Rows of a key leave memory together, or those first that came first. And what a row has not met
on disk is what was there when it came: what left later it met in memory, and a memory-disk task shows it the rest
(RPJ's Lemma 2). So a few numbers a key tell all that tasks will find: `KeyCounts`, and for each flush its rows, and how
many pairs these and unseen rows in memory have met; those are the oldest of the unseen rows. When a run is written,
what it has open with each run of the other side follows from them, and is one number for each cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from sooner.policies.view import Counts, Numbers
from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.sides import LEFT, SIDES, opposite


@dataclass(frozen=True)
class KeyCounts:
    """Arrays are indexed [side, ..., key]."""

    memory: Counts  # rows
    unseen: Counts  # rows in memory that came after the last memory-disk task
    unmet_matches: Counts  # results of those with rows on disk of the other side
    unmet_pairs: Counts  # the same, whatever the keys of the rows on disk
    on_disk: Counts  # rows

    @staticmethod
    def of_nothing(*shape: int) -> "KeyCounts":
        return KeyCounts(*(np.zeros((len(SIDES), *shape), np.int64) for _ in fields(KeyCounts)))

    def __iter__(self) -> Iterator[Counts]:
        return (getattr(self, field.name) for field in fields(KeyCounts))

    def of_partition(self, p: int) -> "KeyCounts":
        """The counts of one partition, not a copy."""
        return KeyCounts(*(counts[:, p] for counts in self))

    def in_one_row(self) -> "KeyCounts":
        """All keys of all partitions of the left, then those of the right; not a copy."""
        return KeyCounts(*(counts.reshape(-1) for counts in self))


@dataclass(frozen=True)
class CountedRun:
    """The twin of `sooner.runs.store.SpilledRun`."""

    number: int
    level: int
    n_rows: int
    n_bytes: int


class DiskSide:
    """The runs of one side on disk. Arrays are indexed [key, flush], since few keys may meet many of them; they are
    floats, whose products are fast, and exact as long as numbers are below 2**53.
    """

    def __init__(self, keys: int) -> None:
        self.runs: list[CountedRun] = []
        self.in_run = np.zeros(0, np.int64)  # the number of the run that has the rows of each flush by now
        self._rows, self._met = (np.zeros((keys, 4)) for _ in range(2))  # with room for more
        self._next_number = 1

    @property
    def rows(self) -> Numbers:
        return self._rows[:, : len(self.in_run)]

    @property
    def met(self) -> Numbers:
        """Pairs with unseen rows in memory of the other side."""
        return self._met[:, : len(self.in_run)]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(run.number for run in self.runs)

    def new_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    def append(self, run: CountedRun, rows: Counts, met: Counts) -> None:
        place = len(self.in_run)
        if place == self._rows.shape[1]:
            self._rows, self._met = (np.hstack((table, np.zeros_like(table))) for table in (self._rows, self._met))
        self.runs.append(run)
        self.in_run = np.append(self.in_run, run.number)
        self._rows[:, place], self._met[:, place] = rows, met

    def become_one(self, members: Sequence[int], level: int) -> CountedRun:
        """These runs are one, and the first."""
        going = [run for run in self.runs if run.number in members]
        n_rows, n_bytes = (sum(getattr(run, size) for run in going) for size in ("n_rows", "n_bytes"))
        merged = CountedRun(self.new_number(), level, n_rows, n_bytes)
        self.in_run[np.isin(self.in_run, members)] = merged.number
        self.runs = [merged, *(run for run in self.runs if run.number not in members)]
        return merged

    def lift(self, members: Sequence[int], level: int) -> None:
        self.runs = [replace(run, level=level) if run.number in members else run for run in self.runs]


class CountedPartition:
    def __init__(self, counts: KeyCounts) -> None:
        self.counts = counts
        self.disk = [DiskSide(counts.memory.shape[1]) for _ in SIDES]
        self.cells = CoveredCells()
        self._open = np.zeros((4, 4), np.int64)  # results, by numbers of runs [left, right]

    def leave(self, side: int, rows: Counts, unmet_pairs: Counts, row_bytes: int) -> CountedRun:
        """So many rows of each key leave memory, the oldest, as a new run; so many pairs go with them."""
        mine, other, counts = self.disk[side], self.disk[opposite(side)], self.counts
        n_rows, keys = int(rows.sum()), np.flatnonzero(rows)
        run = CountedRun(mine.new_number(), 0, n_rows, n_rows * row_bytes)
        unseen = np.maximum(0, rows - (counts.memory[side] - counts.unseen[side]))
        pairs = unseen[keys, None] * other.rows[keys]
        met = np.minimum(pairs, other.met[keys])
        np.add.at(self._open_of(side, run.number), other.in_run, (pairs - met).sum(axis=0).astype(np.int64))
        other.met[keys] -= met
        mine.append(run, rows, rows * counts.unseen[opposite(side)])
        counts.on_disk[side] += rows
        counts.memory[side] -= rows
        counts.unseen[side] -= unseen
        counts.unmet_matches[side][keys] -= (pairs - met).sum(axis=1).astype(np.int64)
        counts.unmet_pairs[side] -= unmet_pairs
        return run

    def meet_disk(self, side: int) -> int:
        """Rows in memory of this side meet the disk of the other; how many results that gives."""
        results = int(self.counts.unmet_matches[side].sum())
        for counts in (self.counts.unseen, self.counts.unmet_matches, self.counts.unmet_pairs):
            counts[side] = 0
        self.disk[opposite(side)].met[:] = 0
        return results

    def meet_on_disk(self, rectangles: Sequence[Rectangle]) -> int:
        """These runs meet; how many results that gives."""
        results = 0
        for lefts, rights in rectangles:
            cells = np.ix_(lefts, rights)
            results += int(self._open[cells].sum())
            self._open[cells] = 0
            self.cells.cover(lefts, rights)
        return results

    def become_one(self, side: int, members: Sequence[int], level: int) -> CountedRun:
        merged = self.disk[side].become_one(members, level)
        self.cells.merge(side, members, merged.number)
        together = self._open_of(side, merged.number)
        for member in members:
            together += self._open_of(side, member)
            self._open_of(side, member)[:] = 0
        return merged

    def forget(self) -> None:
        """Nobody needs these rows any more."""
        for counts in self.counts:
            counts[:] = 0
        self.disk = [DiskSide(self.counts.memory.shape[1]) for _ in SIDES]
        self._open[:] = 0

    def _open_of(self, side: int, number: int) -> Counts:
        """What this run of a side has open with each of the other, by their numbers; not a copy."""
        if number >= len(self._open):
            wider = np.zeros((2 * number, 2 * number), np.int64)
            wider[: len(self._open), : len(self._open)] = self._open
            self._open = wider
        open_results: Counts = self._open[number] if side == LEFT else self._open[:, number]
        return open_results
