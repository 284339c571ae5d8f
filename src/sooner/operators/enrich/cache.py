"""Master rows of the keys that the stream asks for most, in memory: an entry for a code has all its rows, or none.

Of the codes that a stream asks for it is counted how often, in a *census*: a small run for each arrival, added up when
its window is over. A code that no master row has is an entry without rows, and stands in the census alone.

What is in it belongs to the state: rows and counts are runs like others, so whoever goes on has the same cache.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.columns import Columns
from sooner.kernels.matching import first_matches
from sooner.operators.inputs import Input
from sooner.operators.pairs import PAIRS_AT_ONCE
from sooner.policies.cache import belongs_in_cache, leaves_cache
from sooner.runs.run import HELPER_BYTES, NEVER, Run

CENSUS_SCHEMA: Final = pa.schema([("asked", pa.int32()), ("absent", pa.int8())])
COUNT_BYTES: Final = HELPER_BYTES + 4 + 1  # that a code takes in it
WINDOW: Final = 10  # arrivals or cycles over which it is counted who is asked for (SSBJ sec. 3.1, line 8)
CENSUS_SHARE: Final = 8  # of the memory, one part in so many at most is for counts
KEPT_SHARE: Final = 0.75  # of the room for rows stays full when some must go

Counts = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Codes in rising order, how many stream rows asked for each lately, and whether no master row has it."""

    codes: Codes
    asked: Counts
    absent: Flags

    def only(self, which: Flags) -> "Entries":
        return Entries(self.codes[which], self.asked[which], self.absent[which])

    def most_asked(self, most: int) -> "Entries":
        """So many of them at most: those that were asked for most often."""
        if len(self.codes) <= most:
            return self
        which = np.zeros(len(self.codes), np.bool_)
        which[np.lexsort((self.codes, -self.asked))[:most]] = True
        return self.only(which)


class KeyCache:
    """`rows` and `census` are inputs of the operator's own, with one partition."""

    def __init__(self, rows: Input, census: Input, account: Account, merge_bytes: int) -> None:
        self._rows = rows
        self._census = census
        self._account = account
        self._merge_bytes = merge_bytes
        self._limit_bytes = account.share_bytes
        self.price = 0.0  # what a byte of the cache must be worth, in bytes of stream rows that ask for it
        self._arrivals = 0  # in this window

    @property
    def runs(self) -> list[Run]:
        """Its rows."""
        return list(self._rows.partitions[0].resident)

    @property
    def n_rows(self) -> int:
        return self._rows.partitions[0].resident.n_rows

    @property
    def n_bytes(self) -> int:
        return self._rows.resident_bytes + self._census.resident_bytes

    @property
    def most_bytes_at_once(self) -> int:
        """For which there is room, or will be when some have gone."""
        room = min(self._account.free_bytes, self._limit_bytes - self.n_bytes)
        return max(room, 0) + max(self.n_bytes - self._kept_bytes, 0)

    @property
    def _kept_bytes(self) -> int:
        """What it has when some have made room for others."""
        return int(KEPT_SHARE * self._limit_bytes)

    def has(self, codes: Codes) -> Flags:
        """Whether each of these codes, which are sorted, is an entry: all that it matches is known."""
        known = np.zeros(len(codes), np.bool_)
        for run in self.runs:
            for at, _ in first_matches(codes, run.codes, PAIRS_AT_ONCE):
                known[at] = True
        for run in self._census.partitions[0].resident:
            absent = run.codes[_absent(run)]
            for at, _ in first_matches(codes, absent, PAIRS_AT_ONCE):
                known[at] = True
        return known

    def count(self, entries: Entries) -> None:
        """Stream rows have asked for these codes. Without room for all counts those of the rarest are let go."""
        run, most_bytes = _census_run(entries), self._account.share_bytes // CENSUS_SHARE
        if self._census.resident_bytes + run.n_bytes > most_bytes:
            self._set_census(self._counted([run]).most_asked(most_bytes // COUNT_BYTES))
        elif len(run) and self._account.try_reserve(run.n_bytes):
            self._census.partitions[0].resident.add(run)

    def asked(self, codes: Codes) -> Counts:
        """How often each of these codes, which are sorted and differ, was asked for in this window."""
        asked = np.zeros(len(codes), np.int64)
        for run in self._census.partitions[0].resident:
            counts = to_numpy(run.rows.column(0))
            for at, at_run in first_matches(codes, run.codes, PAIRS_AT_ONCE):
                asked[at] += counts[at_run]
        return asked

    def arrival_is_over(self) -> None:
        """After so many a window is over."""
        self._arrivals += 1
        if self._arrivals >= WINDOW:
            self.turn_window()

    def admit(self, run: Run, asked: Counts, row_bytes: float) -> None:
        """Take up the rows of these codes, as many as are worth it: `asked` is for each of its rows.

        If they do not fit, those that are asked for least go, and the price rises.
        """
        if not len(run):
            return
        while True:
            wanted = run.take(np.flatnonzero(self._worth(run.codes, asked, run.n_bytes / len(run), row_bytes)))
            if not len(wanted):
                return
            if self.n_bytes + wanted.n_bytes <= self._limit_bytes and self._account.try_reserve(wanted.n_bytes):
                break
            if self.n_bytes <= self._kept_bytes or not self.n_rows or not self.evict(self._kept_bytes, row_bytes):
                return
        self.take_up([wanted])

    def take_up(self, runs: Sequence[Run]) -> None:
        """All rows of some codes, which are in the account already."""
        for run in runs:
            self._rows.partitions[0].resident.add(run)
        self._merge_tiers()

    def drop_idle(self, cycles: int, row_bytes: float, factor: float) -> None:
        """Let go of codes that take more than those would who asked for them, by a cycle (SSBJ lines 42 to 51).

        Then it is counted anew. Codes without master rows go if nobody asked.
        """
        if self.n_rows:
            codes, rows = np.unique(np.concatenate([run.codes for run in self.runs]), return_counts=True)
            idle = leaves_cache(rows, self.asked(codes) / cycles, self._bytes_of_row, row_bytes, factor)
            self.keep_only(codes[~idle])
        entries = self._counted()
        absent = entries.only(entries.absent & (entries.asked > 0))
        self._set_census(Entries(absent.codes, np.zeros(len(absent.codes), np.int64), absent.absent))

    @property
    def _bytes_of_row(self) -> float:
        return self._rows.resident_bytes / self.n_rows

    def _merge_tiers(self) -> None:
        self._rows.partitions[0].resident.merge_tiers(self._account.try_reserve, self._merge_bytes)

    def _worth(self, codes: Codes, asked: Counts, v_r: float, v_s: float) -> Flags:
        """Of which rows the code has few enough for how often it is asked for."""
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        rows = np.diff(np.append(starts, len(codes)))
        worth = belongs_in_cache(rows, asked[starts], v_r, v_s, self.price)
        return np.repeat(worth, rows)

    def evict(self, kept_bytes: int, row_bytes: float) -> bool:
        """Keep the codes that are asked for most, by the byte, up to so many bytes; the price is that of the next.

        Whether anything went.
        """
        codes, rows = np.unique(np.concatenate([run.codes for run in self.runs]), return_counts=True)
        asked = self.asked(codes)
        v_r = self._bytes_of_row
        worth = asked * row_bytes / (rows * v_r)
        best_first = np.lexsort((codes, -worth))
        fits = np.cumsum(rows[best_first]) * v_r <= kept_bytes - self._census.resident_bytes
        kept = np.sort(codes[best_first[fits]])
        gone = worth[best_first[~fits]]
        if len(gone):
            self.price = max(self.price, float(gone[0]))
        return self.keep_only(kept)

    def keep_only(self, codes: Codes) -> bool:
        """Let go of the rows of all other codes; whether there were any."""
        resident = self._rows.partitions[0].resident
        before = resident.n_bytes

        def kept_of(run: Run) -> Run:
            wanted = np.zeros(len(run), np.bool_)
            for at, _ in first_matches(run.codes, codes, PAIRS_AT_ONCE):
                wanted[at] = True
            return run if wanted.all() else run.take(np.flatnonzero(wanted))

        resident.reduce(kept_of)
        self._account.release(before - resident.n_bytes)
        return resident.n_bytes < before

    def turn_window(self) -> None:
        """A window is over: counts are added up and halved, so that what was asked for long ago counts little.

        Codes without master rows go when nobody has asked for them (SSBJ sec. 3.1: both sides of the inequality are 0).
        """
        entries = self._counted()
        halved = Entries(entries.codes, entries.asked // 2, entries.absent)
        self._set_census(halved.only(halved.asked > 0))
        self.price /= 2
        self._arrivals = 0

    def _set_census(self, entries: Entries) -> None:
        resident = self._census.partitions[0].resident
        self._account.release(resident.n_bytes)
        resident.clear()
        run = _census_run(entries)
        if len(run) and self._account.try_reserve(run.n_bytes):
            resident.add(run)

    def _counted(self, others: Sequence[Run] = ()) -> Entries:
        """All that was counted, each code once."""
        runs = [*self._census.partitions[0].resident, *others]
        if not runs:
            return Entries(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.bool_))
        codes, at = np.unique(np.concatenate([run.codes for run in runs]), return_inverse=True)
        asked = np.bincount(at, np.concatenate([to_numpy(run.rows.column(0)) for run in runs]), len(codes))
        absent = np.bincount(at, np.concatenate([_absent(run) for run in runs]), len(codes)) > 0
        return Entries(codes, asked.astype(np.int64), absent)

    def make_room(self, n_bytes: int) -> None:
        """Let so many bytes go, or all there are."""
        if self.n_rows:
            self.evict(max(self.n_bytes - n_bytes, 0), 1.0)
        if self._account.free_bytes < n_bytes:
            self.forget()

    def drop(self, codes: Codes) -> None:
        """Let go of these codes, whatever is known of them."""
        codes = np.unique(codes)

        def others(run: Run) -> Run:
            dropped = np.zeros(len(run), np.bool_)
            for at, _ in first_matches(run.codes, codes, PAIRS_AT_ONCE):
                dropped[at] = True
            return run.take(np.flatnonzero(~dropped)) if dropped.any() else run

        for one in (self._rows, self._census):
            before = one.resident_bytes
            one.partitions[0].resident.reduce(others)
            self._account.release(before - one.resident_bytes)

    def forget(self) -> None:
        """Let all of it go."""
        for one in (self._rows, self._census):
            self._account.release(one.resident_bytes)
            one.partitions[0].resident.clear()

    def to_plain(self) -> dict[str, Any]:
        counts = {"price": self.price, "arrivals": self._arrivals}
        return {"rows": self._rows.to_plain(), "census": self._census.to_plain(), **counts}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._rows.load_plain(data["rows"], self._account)
        self._census.load_plain(data["census"], self._account)
        self.price, self._arrivals = float(data["price"]), int(data["arrivals"])


def _absent(run: Run) -> Flags:
    flags: Flags = to_numpy(run.rows.column(1)) != 0
    return flags


def _census_run(entries: Entries) -> Run:
    asked = np.minimum(entries.asked, np.iinfo(np.int32).max).astype(np.int32)
    rows = pa.RecordBatch.from_arrays([to_arrow(asked), to_arrow(entries.absent.astype(np.int8))], schema=CENSUS_SCHEMA)
    return Run(entries.codes, Columns.of(rows), NEVER)


def counted_codes(codes: Codes) -> tuple[Codes, Counts]:
    """Sorted codes, each once, and how often it was there."""
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else np.empty(0, np.int64)
    return codes[starts], np.diff(np.append(starts, len(codes)))


def known_entries(codes: Codes) -> Entries:
    """Stream rows with these codes, which are sorted, were answered by the cache."""
    each, asked = counted_codes(codes)
    return Entries(each, asked, np.zeros(len(each), np.bool_))
