"""The rows of a join in which rows wait, counted: how many have come, where they are, and what they have to give.

It rests on one fact. What has met in a partition is the rectangle of all that came before a moment (PR-Join sec. 4.2):
so what its next join as a whole finds follows from how many rows of each key have come, wherever they are by now. In
the hash ripple join left rows meet the right rows that came first as well, as long as these are in memory; what they
find is out, and the rest is open.
"""

from collections.abc import Sequence

import numpy as np

from sooner.errors import InvalidCall
from sooner.kernels.array_types import Codes, Flags, Positions
from sooner.lab.counted_partition import CountedRun
from sooner.lab.traces import Keys, key_codes
from sooner.operators.ledgers.open_pairs import JoinStatistics
from sooner.operators.order import equal_ranges
from sooner.operators.two_way.evening_out import even_bounds
from sooner.policies.view import Counts, Evict, EvictAll, EvictSince
from sooner.sides import LEFT, RIGHT, SIDES, opposite


class WaitingRows:
    def __init__(
        self, domain: int, partitions: int, row_bytes: int, statistics: JoinStatistics, *, keeps_rights: bool
    ) -> None:
        self.row_bytes = row_bytes
        self.full_since: int | None = None  # the tick since which rows wait
        self._statistics = statistics
        self._keeps_rights = keeps_rights
        self._codes = key_codes(domain, partitions)
        self.partition_of_key = self._cut_at(equal_ranges(partitions))
        self._arrived = np.zeros((len(SIDES), domain), np.int64)  # of each key
        self._first_rights = np.zeros(domain, np.int64)  # of each key: those that left rows go on meeting
        self._first_rows = np.zeros_like(statistics.resident_rows)  # in memory, that came before rows waited
        self._open_results = np.zeros(partitions, np.int64)
        self._runs: list[list[list[CountedRun]]] = [[[] for _ in range(partitions)] for _ in SIDES]
        self._last_run = np.zeros_like(statistics.spilled_runs)  # its number

    # Rows that arrive

    def begin_waiting(self, tick: int) -> None:
        """All that is there has met; what comes from now on waits."""
        self.full_since = tick
        self._statistics.begin_waiting(keeps_rights=self._keeps_rights)
        self._first_rows[:] = self._statistics.resident_rows
        if self._keeps_rights:
            self._first_rights[:] = self._arrived[RIGHT]

    def by_partition(self, keys: Sequence[Keys]) -> Counts:
        """[side, partition]: how many rows have these keys."""
        partitions = len(self._open_results)
        return np.array([np.bincount(self.partition_of_key[some], minlength=partitions) for some in keys])

    def arrive(self, keys: Sequence[Keys], are_kept: Flags) -> int:
        """Rows with these keys of each side have come; how many pairs of rows in memory a nested loop would look at."""
        statistics, rows = self._statistics, self.by_partition(keys)
        resident = statistics.resident_rows
        compared: Counts = rows[LEFT] * resident[RIGHT] + rows[RIGHT] * (resident[LEFT] + rows[LEFT])
        met = self._meet_first_rights(keys[LEFT])
        found = self._count(keys)
        if self.full_since is None:
            statistics.compared_pairs += compared
            met = found
        else:
            statistics.compared_pairs += rows[LEFT] * statistics.kept_rights
        statistics.matched_pairs += met
        statistics.results += int(met.sum())
        self._open_results += found - met
        for side in SIDES:
            for p in np.flatnonzero(rows[side]).tolist():
                statistics.rows_arrived(side, p, int(rows[side, p]))
        kept = rows * are_kept
        statistics.forgotten_rows += rows - kept
        statistics.resident_rows += kept
        statistics.resident_bytes += kept * self.row_bytes
        return int(compared.sum())

    def _count(self, keys: Sequence[Keys]) -> Counts:
        """[partition]: the results of these rows with each other and with all that came before."""
        found = np.zeros_like(self._open_results)
        for side, some in enumerate(keys):
            found += self._sums(some, self._arrived[opposite(side)])
            np.add.at(self._arrived[side], some, 1)
        return found

    def _meet_first_rights(self, keys: Keys) -> Counts:
        """[partition]: the results of left rows with the right rows that came first, where those are in memory."""
        are_there = self._statistics.kept_rights > 0
        if not are_there.any():
            return np.zeros_like(self._open_results)
        return self._sums(keys, self._first_rights) * are_there

    def _sums(self, keys: Keys, numbers: Counts) -> Counts:
        """[partition]: the sum of what is there for each of these keys."""
        sums = np.bincount(self.partition_of_key[keys], numbers[keys], len(self._open_results))
        return sums.astype(np.int64)

    def even_out(self) -> None:
        """Cut partitions anew, each with its share of the rows; all that there are, are in memory and have met."""
        statistics, partitions = self._statistics, len(self._open_results)
        self.partition_of_key = self._cut_at(even_bounds(np.repeat(self._codes, self._arrived.sum(axis=0)), partitions))
        rows = [np.bincount(self.partition_of_key, of_key, partitions) for of_key in self._arrived]
        for one in (statistics.arrived_rows, statistics.resident_rows):
            one[:] = rows
        statistics.resident_bytes[:] = statistics.resident_rows * self.row_bytes
        for pairs in (statistics.compared_pairs, statistics.matched_pairs):
            pairs[:] = pairs.mean()

    def _cut_at(self, bounds: Codes) -> Positions:
        """The partition of each key, if all but the first begin at these codes."""
        return bounds.searchsorted(self._codes, "right")

    # Rows that leave memory

    def going(self, eviction: Evict) -> int:
        """How many rows it takes."""
        side, p = eviction.input, eviction.partition
        rows = int(self._statistics.resident_rows[side, p])
        match eviction:
            case EvictAll():
                return rows
            case EvictSince(tick=tick) if tick == self.full_since:
                return rows - int(self._first_rows[side, p])
        raise InvalidCall("Rows that wait are counted if all of a side leave, or all that wait; simulate real rows.")

    def leave(self, side: int, p: int, rows: int) -> CountedRun:
        """So many rows, those that came last, leave memory as a run."""
        statistics = self._statistics
        staying = int(statistics.resident_rows[side, p]) - rows
        self._first_rows[side, p] = min(staying, self._first_rows[side, p])
        statistics.count_resident(side, p, staying, staying * self.row_bytes)
        self._last_run[side, p] += 1
        run = CountedRun(int(self._last_run[side, p]), 0, rows, rows * self.row_bytes)
        self._runs[side][p].append(run)
        statistics.add_spilled(side, p, run)
        statistics.carry_over(side, p, 0)
        return run

    def first_rights_leave(self, p: int) -> None:
        """Left rows that come from now on do not meet them any more."""
        self._statistics.kept_rights[p] = 0

    # Partitions as wholes

    def runs(self, p: int) -> tuple[Sequence[CountedRun], Sequence[CountedRun]]:
        """On disk, of either side."""
        left, right = (runs[p] for runs in self._runs)
        return left, right

    def meet_as_whole(self, p: int, tick: int) -> None:
        """All that is open in a partition."""
        statistics = self._statistics
        self.first_rights_leave(p)
        statistics.results += int(self._open_results[p])
        self._open_results[p] = 0
        arrived_rows, open_pairs = int(statistics.arrived_rows[:, p].sum()), float(statistics.unmet_on_disk[p])
        statistics.met_as_whole(p, tick, open_pairs, arrived_rows)

    def forget(self, p: int) -> None:
        """Nobody needs the rows of this partition any more."""
        for side in SIDES:
            self._runs[side][p] = []
            self._statistics.count_resident(side, p, 0, 0)
            self._statistics.count_spilled(side, p, [])
        self._statistics.forget(p)
