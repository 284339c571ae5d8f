"""Probe: rows of the stream read those blocks of the master that may have their keys, and are answered at once.

The master is sorted by code and so are the rows of a batch, so each block is read once for all of them, in the order
in which blocks lie on disk. What is asked for most is in the cache. Of the stream nothing is kept, but for rows that
wait while others come behind them: then they are answered together.

Scratch memory: blocks that are read together, up to a slab, and master rows that may go into the cache, as many again.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final

import numpy as np

from sooner.budget import Account
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.matching import first_matches
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.cache import KEPT_SHARE, Counts, Entries, KeyCache, counted_codes, known_entries
from sooner.operators.enrich.gathered import Gathered
from sooner.operators.enrich.master import Master
from sooner.operators.pairs import PAIRS_AT_ONCE, Bundle, Findings, bundled
from sooner.operators.sweeping.parts import Workbench
from sooner.policies.view import Surroundings
from sooner.runs.run import Run, merge
from sooner.runs.slabs import ALL_CODES

HELD_SHARE: Final = 3 / 4  # of the memory at most is for rows that are gathered: the more they are, the fewer passes
ROOM_SHARE: Final = 1 / 8  # of the memory is made at a time for them, if the cache has it


class Probe:
    """If it `gathers`, rows that miss the cache wait for others that come behind them."""

    def __init__(
        self,
        master: Master,
        cache: KeyCache,
        answers: Answers,
        bench: Workbench,
        account: Account,
        gathered: Gathered,
        *,
        gathers: bool,
    ) -> None:
        self._master = master
        self._cache = cache
        self._answers = answers
        self._bench = bench
        self._account = account
        self._most_held_bytes = int(HELD_SHARE * account.share_bytes)
        self._gathered = gathered
        self._gathers = gathers
        self.known_rows = 0
        self.worked_bytes = 0

    @property
    def name(self) -> str:
        return f"probe of {self._master.n_runs} on disk" if self._master.spilled else "probe"

    @property
    def read_bytes(self) -> int:
        return self._master.read_bytes

    @property
    def is_ready(self) -> bool:
        return self._gathered.n_bytes < self._most_held_bytes

    def has_work(self, around: Surroundings) -> bool:
        """As soon as nobody comes behind those that were gathered, or they are enough."""
        if self._gathered.is_empty:
            return False
        more_wait = len(around.waiting_rows) > 0 and around.waiting_rows[0] > 0
        return around.silent or around.settling or not more_wait or not self.is_ready

    @property
    def waiting_rows(self) -> int:
        return self._gathered.n_rows

    def begin(self) -> None:
        """It needs nothing for that."""

    def take(self, stream: Run) -> Iterator[Bundle]:
        """Answer rows whose keys are in the cache; the others too, unless they are gathered."""
        missed = yield from self._from_memory(stream)
        if len(missed) and not (self._gathers and self._try_gather(missed)):
            yield from self._from_disk(missed)
        self._cache.arrival_is_over()

    def _try_gather(self, missed: Run) -> bool:
        if self._gathered.try_add(missed):
            return True
        self._cache.make_room(max(missed.n_bytes, int(ROOM_SHARE * self._account.share_bytes)))
        return self._gathered.try_add(missed)

    def work(self, quantum_bytes: int) -> Iterator[Bundle]:
        """A piece of a pass over the master."""
        before = self._master.read_bytes
        while not self._gathered.is_empty and self._master.read_bytes == before:
            low = self._gathered.begin_pass()
            # Codes are spread evenly: a range of them has its share of the bytes, unless there is a hot one in it.
            high = min(low + max(ALL_CODES * quantum_bytes // max(self._master.n_bytes, 1), 1), ALL_CODES)
            if len(codes := self._gathered.codes_below(high)):
                high = min(self._master.reach(codes, quantum_bytes), high)
            if (stream := self._gathered.up_to(high)) is not None:
                missed = yield from self._from_memory(stream)  # an earlier pass may have read what they ask for
                if len(missed):
                    yield from self._from_disk(missed)
        self.worked_bytes += self._master.read_bytes - before

    def _from_memory(self, stream: Run) -> Generator[Bundle, None, Run]:
        """All results of rows whose keys are in the cache; gives the others back."""
        known = self._cache.has(stream.codes)
        self.known_rows += int(known.sum())
        yield from bundled(self._from_cache(stream, known))
        self._cache.count(known_entries(stream.codes[known]))
        return stream if not known.any() else stream.take(np.flatnonzero(~known))

    def _from_disk(self, missed: Run) -> Iterator[Bundle]:
        """All results of these rows, which are sorted."""
        row_bytes = missed.n_bytes / len(missed)
        codes, asked = counted_codes(missed.codes)
        most_bytes = min(self._bench.scratch_bytes, self._cache.most_bytes_at_once)
        found = _Found(codes, asked + self._cache.asked(codes), most_bytes)

        def met() -> Iterator[Findings]:
            for rows in self._master.rows_with(codes):
                yield from self._answers.met(missed, rows)
                found.look_at(rows, least_asked=self._cache.price * (rows.n_bytes / len(rows)) / row_bytes)
            yield from self._answers.settled(missed)

        yield from bundled(met())
        if found.kept:
            self._cache.admit(run := merge(found.kept), found.asked_by(run), row_bytes)
        self._cache.count(Entries(codes, asked, ~found.has_rows))

    def changed(self, codes: Codes) -> None:
        """What is known of these codes is no longer true."""
        self._cache.drop(codes)

    def make_room(self, n_bytes: int) -> None:
        self._cache.make_room(n_bytes)

    def fit(self) -> None:
        """The cache gives way; then rows that were gathered go to disk."""
        self._cache.forget()
        if self._account.free_bytes < 0:
            self._gathered.spill(self._most_held_bytes)

    def forget(self) -> None:
        self._cache.forget()

    def to_plain(self) -> dict[str, Any]:
        return {"cache": self._cache.to_plain(), "gathered": self._gathered.to_plain()}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._cache.load_plain(data["cache"])
        self._gathered.load_plain(data["gathered"])

    def _from_cache(self, stream: Run, known: Flags) -> Iterator[Findings]:
        for run in self._cache.runs:
            yield from self._answers.met(stream, run)
        yield from self._answers.settled(stream, known)


class _Found:
    """What the disk has of the codes that a batch asks for, and that the cache has not."""

    def __init__(self, codes: Codes, asked: Counts, most_bytes: int) -> None:
        self._codes = codes
        self._asked = asked
        self._most_bytes = most_bytes
        self.has_rows = np.zeros(len(codes), np.bool_)
        self._wanted = np.ones(len(codes), np.bool_)
        self.kept: list[Run] = []

    def look_at(self, rows: Run, least_asked: float) -> None:
        """Note which codes there are, and keep rows for the cache: all of a code or none.

        They are those that are asked for often enough, and if that is too much, most often.
        """
        for at, _ in first_matches(self._codes, rows.codes, PAIRS_AT_ONCE):
            self.has_rows[at] = True
        self._wanted &= self._asked > least_asked
        self.kept = self._only_wanted([*self.kept, rows])
        if (n_bytes := sum(run.n_bytes for run in self.kept)) > self._most_bytes:
            at, n_rows = np.unique(
                np.concatenate([self._codes.searchsorted(run.codes) for run in self.kept]), return_counts=True
            )
            best_first = np.lexsort((at, -self._asked[at] / n_rows))
            fits = n_rows[best_first].cumsum() * (n_bytes / n_rows.sum()) <= KEPT_SHARE * self._most_bytes
            self._wanted[at[best_first[~fits]]] = False
            self.kept = self._only_wanted(self.kept)

    def _only_wanted(self, runs: Sequence[Run]) -> list[Run]:
        wanted = (np.flatnonzero(self._wanted[self._codes.searchsorted(run.codes)]) for run in runs)
        some = (run if len(at) == len(run) else run.take(at) for run, at in zip(runs, wanted, strict=True))
        return [run for run in some if len(run)]

    def asked_by(self, run: Run) -> Counts:
        """How often the code of each row was asked for."""
        return self._asked[self._codes.searchsorted(run.codes)]
