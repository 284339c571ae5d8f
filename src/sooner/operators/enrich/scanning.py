"""MESHJOIN: the master is read in a circle, and rows of the stream wait until all of it has passed by.

No index is assumed: any order of the master would do (SSBJ sec. 2). With a `Balance` it is SSBJ: the same scan, with a
cache in front of it.

Scratch memory: blocks that are read together, up to a slab, and the rows of them that somebody waits for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np

from sooner.budget import UNLIMITED_BYTES, Account
from sooner.kernels.array_types import Codes, Flags
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.balance import Balance
from sooner.operators.enrich.cache import KeyCache, known_entries
from sooner.operators.enrich.master import Master
from sooner.operators.enrich.pieces import only_codes
from sooner.operators.enrich.waiting import Waiting
from sooner.operators.pairs import Bundle, Findings, bundled
from sooner.operators.sweeping.parts import Workbench
from sooner.policies.view import Surroundings
from sooner.runs.block_index import Block
from sooner.runs.run import Run
from sooner.runs.store import Segment, counted

Queue = Literal["block", "spill"]  # what one does that is full
READY_SHARE: Final = 4  # of the memory, one part in so many must be free for more rows


class Scan:
    """`balance` and `cache` are SSBJ's."""

    def __init__(
        self,
        master: Master,
        waiting: Waiting,
        answers: Answers,
        account: Account,
        bench: Workbench,
        balance: Balance | None = None,
        cache: KeyCache | None = None,
        queue: Queue = "block",
    ) -> None:
        self._master = master
        self._waiting = waiting
        self._answers = answers
        self._account = account
        self._bench = bench
        self._balance = balance
        self._cache = cache
        self._queue = queue
        self._place = 0  # blocks that have passed by since it began
        self._segments: list[Segment] = []  # of the master, in the order in which they are read
        self._begins = np.zeros(1, np.int64)  # how many blocks are before each of them, and in all
        self.worked_bytes = 0
        self.known_rows = 0

    @property
    def name(self) -> str:
        return f"{'meshjoin' if self._cache is None else 'ssbj'}, cycle {self._place // max(self._cycle, 1) + 1}"

    @property
    def read_bytes(self) -> int:
        return self.worked_bytes

    @property
    def is_ready(self) -> bool:
        """A queue that is full takes no more: who waits in it must first have met all of the master.

        Unless the rest may wait on disk.
        """
        if self._queue == "spill":
            return True
        if self._waiting.has_left:
            return False
        return self._waiting.is_empty or self._account.free_bytes >= self._account.share_bytes // READY_SHARE

    def has_work(self, around: Surroundings) -> bool:  # noqa: ARG002 - who waits cannot wait for a silence
        return self._somebody_waits

    @property
    def _somebody_waits(self) -> bool:
        return not self._waiting.is_empty or self._waiting.has_left

    @property
    def waiting_rows(self) -> int:
        return self._waiting.waiting_rows

    def begin(self) -> None:
        self._segments = [segment for run in self._master.spilled for segment in run.segments]
        self._begins = np.cumsum([0, *(len(segment.blocks) for segment in self._segments)])

    def take(self, stream: Run) -> Iterator[Bundle]:
        """Answer those whose keys are in the cache; the others wait."""
        if self._cache is not None:
            known = self._cache.has(stream.codes)
            self.known_rows += int(known.sum())
            yield from bundled(self._from_cache(stream, known))
            self._cache.count(known_entries(stream.codes[known]))
            stream = stream.take(np.flatnonzero(~known)) if known.any() else stream
        if not len(stream):
            return
        if self._queue == "spill" and (self._waiting.has_left or stream.n_bytes > self._account.free_bytes):
            # Behind those who wait there already: memory empties in a cycle, and then it is their turn.
            self._waiting.spill_new(stream, self._place, self._account.share_bytes // 2)
            return
        yield from self._make_room(stream.n_bytes)
        self._waiting.add(stream, self._place)

    def _from_cache(self, stream: Run, known: Flags) -> Iterator[Findings]:
        assert self._cache is not None
        for run in self._cache.runs:
            yield from self._answers.met(stream, run)
        yield from self._answers.settled(stream, known)

    def _make_room(self, n_bytes: int) -> Iterator[Bundle]:
        """Whatever is not needed goes; then the scan goes on until those leave who wait longest."""
        if not self._account.try_reserve(n_bytes):
            self._let_go(n_bytes)
            while self._account.free_bytes < n_bytes and self._somebody_waits:
                yield from self.work(self._bench.slab_bytes)
            self._account.reserve(n_bytes)

    def _let_go(self, n_bytes: int) -> None:
        if self._balance is not None and self._cache is not None:
            self._balance.begin_anew()
            if self._account.free_bytes < n_bytes:
                self._cache.forget()

    def changed(self, codes: Codes) -> None:  # noqa: ARG002 - nobody comes here
        raise AssertionError("a master that changes is probed")

    def make_room(self, n_bytes: int) -> None:  # noqa: ARG002
        raise AssertionError("a master that changes is probed")

    def fit(self) -> None:
        """The cache gives way; then rows that wait go to disk, and go on when there is room again."""
        self._let_go(0)
        if self._account.free_bytes < 0:
            self._waiting.spill(self._place, self._account.share_bytes // 2)

    def forget(self) -> None:
        self._let_go(UNLIMITED_BYTES)
        self._waiting.forget()

    def work(self, quantum_bytes: int) -> Iterator[Bundle]:
        """Read on for so many bytes, or until nobody waits; one block at least."""
        goal = self.worked_bytes + quantum_bytes
        while self._somebody_waits:
            if self._waiting.is_empty:
                self._place = self._waiting.go_on()
                if self._balance is not None:
                    self._balance.begin_anew()
            segment, blocks = self._next(max(goal - self.worked_bytes, 1))
            self._bench.breathe()
            if self._balance is not None and self._place % self._cycle == 0:
                self._balance.begin_cycle(self._place // self._cycle + 1, self._waiting)
            yield from bundled(self._met(segment, blocks))
            self.worked_bytes += sum(block.n_bytes for block in blocks)
            self._place += len(blocks)
            yield from bundled(self._waiting.settle(self._place, self._cycle))
            if self.worked_bytes + self._next_bytes > goal:
                return

    @property
    def _cycle(self) -> int:
        """Blocks of the whole master."""
        return int(self._begins[-1])

    def _next(self, most_bytes: int) -> tuple[Segment, list[Block]]:
        """The next blocks: of one segment, and none that the rows who wait longest have met."""
        at = self._place % self._cycle
        number = int(self._begins.searchsorted(at, side="right")) - 1
        segment, first = self._segments[number], at - int(self._begins[number])
        blocks = segment.blocks
        until = np.append(0, blocks.n_bytes[first:].astype(np.int64).cumsum())
        fits = int(until.searchsorted(min(most_bytes, self._bench.slab_bytes), side="right")) - 1
        oldest = self._waiting.oldest_place
        assert oldest is not None, "somebody waits"
        many = min(max(fits, 1), len(blocks) - first, oldest + self._cycle - self._place)
        following = first + many
        self._next_bytes = int(blocks.n_bytes[following]) if following < len(blocks) else 0
        return segment, blocks[first:following]

    def _met(self, segment: Segment, read: Sequence[Block]) -> Iterator[Findings]:
        blocks = list(self._master.rows.store.read(segment, read))
        asked = [run.codes for run in self._waiting.runs]
        if self._balance is not None:
            asked.append(self._balance.codes)
        if (found := only_codes(asked, blocks)) is not None:
            if self._balance is not None:
                self._balance.look_at(found)
            yield from self._waiting.met(found)

    def to_plain(self) -> dict[str, Any]:
        balance = None if self._balance is None else self._balance.to_plain()
        cache = None if self._cache is None else self._cache.to_plain()
        return {"place": self._place, "waiting": self._waiting.to_plain(), "balance": balance, "cache": cache}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._place = counted(data["place"])
        self._waiting.load_plain(data["waiting"])
        if self._balance is not None and self._cache is not None:
            self._balance.load_plain(data["balance"])
            self._cache.load_plain(data["cache"])
