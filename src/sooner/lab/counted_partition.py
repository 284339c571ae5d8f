"""One partition of a join whose rows are only counted, by key.

It rests on two facts. Rows of a key leave memory together, or those first that came first. And what a row has not met
on disk is what was there when it came: what left later it met in memory, and a memory-disk task shows it the rest
(RPJ's Lemma 2). So a few numbers a key tell all that tasks will find: `KeyCounts`, and for each flush its rows, and how
many pairs these and unseen rows in memory have met; those are the oldest of the unseen rows. When a run is written,
what it has open with each run of the other side follows from them, and is one number for each cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from sooner.kernels.array_types import Positions
from sooner.policies.view import Counts, Numbers
from sooner.runs.ledger import CoveredCells, Rectangle
from sooner.sides import LEFT, SIDES, opposite

NO_FLUSH: Final = 2**62  # comes after all there are


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
        self._has_met = False  # whether there may be any
        self._first_met = np.full(keys, NO_FLUSH)  # from which flush on there are, of each key
        self._next_number = 1

    @property
    def rows(self) -> Numbers:
        return self._rows[:, : len(self.in_run)]

    @property
    def met(self) -> Numbers:
        """Pairs with unseen rows in memory of the other side."""
        return self._met[:, : len(self.in_run)]

    def forget_met(self) -> None:
        """All rows in memory of the other side have seen all there is."""
        if self._has_met:
            self.met[:] = 0
            self._has_met = False
            self._first_met[:] = NO_FLUSH

    def take_met(self, keys: Positions, unseen: Counts) -> tuple[int, Numbers]:
        """So many of those rows in memory leave, the oldest of each key: how many of the pairs they had met, [key,
        flush], beginning with some flush. Before that one nothing has met, which spares most of the table.
        """
        first = min(int(self._first_met[keys].min(initial=NO_FLUSH)), len(self.in_run))
        pairs, rest = unseen[:, None] * self.rows[keys, first:], self.met[keys, first:]
        met = np.minimum(pairs, rest, out=pairs)
        rest -= met
        self.met[keys, first:] = rest
        left = rest > 0
        self._first_met[keys] = (
            np.where(left.any(axis=1), first + left.argmax(axis=1), NO_FLUSH) if rest.size else NO_FLUSH
        )
        return first, met

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(run.number for run in self.runs)

    def new_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    def append(self, run: CountedRun, keys: Positions, rows: Counts, met: Counts) -> None:
        """A flush of so many rows of each of these keys."""
        place = len(self.in_run)
        if place == self._rows.shape[1]:
            self._rows, self._met = (np.hstack((table, np.zeros_like(table))) for table in (self._rows, self._met))
        self.runs.append(run)
        self.in_run = np.append(self.in_run, run.number)
        self._rows[keys, place], self._met[keys, place] = rows, met
        has_met = keys[met > 0]
        self._has_met = self._has_met or len(has_met) > 0
        self._first_met[has_met] = np.minimum(self._first_met[has_met], place)

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
    """If nothing is done on disk before the end, it is enough to know how many results there are in all: what has not
    come out by then is open.
    """

    def __init__(self, counts: KeyCounts, join_size: int | None = None) -> None:
        self.counts = counts
        self._join_size = join_size
        self.disk = [DiskSide(counts.memory.shape[1]) for _ in SIDES]
        self.cells = CoveredCells()
        self._open = np.zeros((4, 4), np.int64)  # results, by numbers of runs [left, right]

    def leave(self, side: int, keys: Positions, rows: Counts, unmet_pairs: Counts, row_bytes: int) -> CountedRun:
        """So many rows of each of these keys leave memory, the oldest, as a new run; so many pairs go with them."""
        mine, other, counts = self.disk[side], self.disk[opposite(side)], self.counts
        n_rows = int(rows.sum())
        run = CountedRun(mine.new_number(), 0, n_rows, n_rows * row_bytes)
        counts.on_disk[side][keys] += rows
        if self._join_size is not None:
            mine.runs.append(run)
            counts.memory[side][keys] -= rows
            return run
        unseen = np.maximum(0, rows - (counts.memory[side][keys] - counts.unseen[side][keys]))
        open_of_flushes, open_of_keys = unseen @ other.rows[keys], unseen * counts.on_disk[opposite(side)][keys]
        first, met = other.take_met(keys, unseen)
        open_of_flushes[first:] -= met.sum(axis=0)
        np.add.at(self._open_of(side, run.number), other.in_run, open_of_flushes.astype(np.int64))
        mine.append(run, keys, rows, rows * counts.unseen[opposite(side)][keys])
        counts.memory[side][keys] -= rows
        counts.unseen[side][keys] -= unseen
        counts.unmet_matches[side][keys] -= open_of_keys - met.sum(axis=1).astype(np.int64)
        counts.unmet_pairs[side][keys] -= unmet_pairs
        return run

    def meet_as_whole(self, matched_pairs: int) -> int:
        """All that is open, if so many results are out."""
        if self._join_size is not None:
            return self._join_size - matched_pairs
        left, right = (disk.numbers for disk in self.disk)
        return sum(map(self.meet_disk, SIDES)) + self.meet_on_disk([(left, right)])

    def meet_disk(self, side: int) -> int:
        """Rows in memory of this side meet the disk of the other; how many results that gives."""
        results = int(self.counts.unmet_matches[side].sum())
        for counts in (self.counts.unseen, self.counts.unmet_matches, self.counts.unmet_pairs):
            counts[side] = 0
        self.disk[opposite(side)].forget_met()
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
