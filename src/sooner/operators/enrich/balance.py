"""SSBJ's balance between those who wait and the cache: keys move to where they take less memory (sec. 3.1).

A migration takes three cycles of the scan. In the first the master rows of the keys that wait are counted; before the
second it is decided which keys move, and in it their rows are gathered; then they are in the cache, and rows of the
stream that came before wait to the end of their own cycle. All rows of a key move together: whose they are is fixed
before a cycle begins. (The paper decides row by row, when n may have changed between two of them.)

Keys that no master row has are known after the first of the cycles, and are entries without rows from then on.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.columns import Columns
from sooner.kernels.matching import first_matches
from sooner.operators.enrich.cache import WINDOW, Counts, Entries, KeyCache, counted_codes
from sooner.operators.enrich.master import Master
from sooner.operators.enrich.waiting import Waiting
from sooner.operators.inputs import Input
from sooner.operators.pairs import PAIRS_AT_ONCE
from sooner.policies.cache import belongs_in_cache
from sooner.runs.run import HELPER_BYTES, NEVER, Run

TRACKED_SCHEMA: Final = pa.schema([("rows", pa.int32()), ("moves", pa.int8())])
COUNT: Final = 1  # the cycle of three in which rows are counted (lines 5 to 7)
SWITCH: Final = 2
TRACKED_BYTES: Final = HELPER_BYTES + 4 + 1  # that a code takes
TRACKED_SHARE: Final = 8  # of the free memory, one part in so many is for counting
MOVED_SHARE: Final = 2  # and one in so many for rows that move at a time


class Balance:
    """`tracked` and `moving` are inputs of the operator's own: keys that are counted, and rows on their way."""

    def __init__(
        self, master: Master, cache: KeyCache, tracked: Input, moving: Input, account: Account, switching_factor: float
    ) -> None:
        self._master = master
        self._cache = cache
        self._tracked = tracked
        self._moving = moving
        self._account = account
        self._factor = switching_factor
        self._codes: Codes = np.empty(0, np.uint64)
        self._rows: Counts = np.empty(0, np.int64)  # of the master, by code
        self._moves: Flags = np.empty(0, np.bool_)
        self._state = 0  # of the cycle

    @property
    def codes(self) -> Codes:
        """The codes whose master rows it wants to see in this cycle."""
        return self._codes if self._state == COUNT else self._codes[self._moves]

    def begin_cycle(self, number: int, waiting: Waiting) -> None:
        """The scan begins anew, for this time."""
        self._state = number % 3
        if self._state == COUNT:
            self._begin_counting(waiting)
        elif self._state == SWITCH:
            self._decide(waiting)
        else:
            self._move()
        if number % WINDOW == 0:
            self._cache.drop_idle(WINDOW, self._bytes_of_row(waiting), self._factor)

    def look_at(self, run: Run) -> None:
        """Master rows pass by, with all that have one of the codes."""
        if self._state == COUNT:
            for _, at in first_matches(run.codes, self._codes, PAIRS_AT_ONCE):
                self._rows += np.bincount(at, minlength=len(self._codes))
        elif self._state == SWITCH and self._moves.any():
            wanted = np.zeros(len(run), np.bool_)
            for at, _ in first_matches(run.codes, self.codes, PAIRS_AT_ONCE):
                wanted[at] = True
            if not wanted.any():
                return
            rows = run.take(np.flatnonzero(wanted))
            if self._account.try_reserve(rows.n_bytes):
                self._moving.partitions[0].resident.add(rows)
            else:
                self.begin_anew()  # they have more rows than was counted, or memory was needed for others

    def begin_anew(self) -> None:
        """Nothing is counted, and nothing moves, before the next time to count."""
        for one in (self._tracked, self._moving):
            self._account.release(one.resident_bytes)
            one.partitions[0].resident.clear()
        self._set(np.empty(0, np.uint64))
        self._state = 0

    def make_room(self) -> None:
        """Its memory is needed for others."""
        if self._tracked.resident_bytes or self._moving.resident_bytes:
            self.begin_anew()

    def _begin_counting(self, waiting: Waiting) -> None:
        """Line 28: the keys that wait, or those with most rows if there are too many to count."""
        self.begin_anew()
        self._state = COUNT
        codes, n = counted_codes(np.sort(waiting.codes()))
        most = self._account.free_bytes // TRACKED_SHARE // TRACKED_BYTES
        if len(codes) > most:
            codes = np.sort(codes[np.lexsort((codes, -n))[:most]])
        self._set(codes)
        self._write()

    def _decide(self, waiting: Waiting) -> None:
        """Line 33, for all keys at once."""
        codes, n = counted_codes(np.sort(waiting.codes()))
        asked = np.zeros(len(self._codes), np.int64)
        for at, at_waiting in first_matches(self._codes, codes, PAIRS_AT_ONCE):
            asked[at] = n[at_waiting]
        v_r, v_s = self._master.bytes_of_row, self._bytes_of_row(waiting)
        worth = belongs_in_cache(self._rows, asked, v_r, v_s, self._factor)
        absent = worth & (self._rows == 0)
        self._cache.count(Entries(self._codes[absent], asked[absent], np.ones(int(absent.sum()), np.bool_)))
        moves = np.flatnonzero(worth & ~absent)
        most_for_its_rows = moves[np.lexsort((self._codes[moves], -asked[moves] / self._rows[moves]))]
        fits = np.cumsum(self._rows[most_for_its_rows]) * v_r <= self._account.free_bytes // MOVED_SHARE
        self._moves = np.zeros(len(self._codes), np.bool_)
        self._moves[most_for_its_rows[fits]] = True
        self._write()

    def _move(self) -> None:
        """Lines 9 to 13."""
        resident = self._moving.partitions[0].resident
        runs = list(resident)
        resident.clear()  # what they weigh goes with them
        self._cache.take_up(runs)
        self.begin_anew()

    @staticmethod
    def _bytes_of_row(waiting: Waiting) -> float:
        return waiting.n_bytes / max(waiting.n_rows, 1)

    def _set(self, codes: Codes) -> None:
        self._codes = codes
        self._rows = np.zeros(len(codes), np.int64)
        self._moves = np.zeros(len(codes), np.bool_)

    def _write(self) -> None:
        """What is tracked, as a run that is counted in the account and saved."""
        resident = self._tracked.partitions[0].resident
        self._account.release(resident.n_bytes)
        resident.clear()
        run = _run_of(self._codes, self._rows, self._moves)
        if len(run) and self._account.try_reserve(run.n_bytes):
            resident.add(run)
        elif len(run):
            self.begin_anew()

    def to_plain(self) -> dict[str, Any]:
        if len(self._codes):
            self._write()
        return {"state": self._state, "tracked": self._tracked.to_plain(), "moving": self._moving.to_plain()}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._tracked.load_plain(data["tracked"], self._account)
        self._moving.load_plain(data["moving"], self._account)
        self._state = int(data["state"])
        for run in self._tracked.partitions[0].resident:
            self._codes, self._moves = run.codes, to_numpy(run.rows.column(1)) != 0
            self._rows = to_numpy(run.rows.column(0)).astype(np.int64)


def _run_of(codes: Codes, rows: Counts, moves: Flags) -> Run:
    columns = [to_arrow(rows.astype(np.int32)), to_arrow(moves.astype(np.int8))]
    return Run(codes, Columns.of(pa.RecordBatch.from_arrays(columns, schema=TRACKED_SCHEMA)), NEVER)
