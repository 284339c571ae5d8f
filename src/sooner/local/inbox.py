"""Where sources put what has arrived and the join takes it: bounded in bytes, so a fast source waits.

A batch goes through two short queues per side: *raw* as its source gave it, then *ready*, coded and sorted. Batches
that have to wait in the raw queue are sorted together: while the join keeps up each batch is joined at once, and when
it does not, it gets fewer and larger pieces, which cost it less. Nothing is dropped, and what a source could not give
is an entry like any other, so that all that arrived before it is joined first.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from sooner.operators.arrivals import Arrivals
from sooner.policies.view import SIDES


@dataclass(frozen=True)
class Ended:
    """A source has no more rows."""


@dataclass(frozen=True)
class Failed:
    """A source raised this."""

    error: Exception


End = Ended | Failed
Entry = Arrivals | Ended | Failed


class Stopped(Exception):  # noqa: N818 - not an error: how a feeding thread learns that nobody listens any more
    """The query was stopped."""


@dataclass
class _Side:
    raw: deque[pa.RecordBatch] = field(default_factory=deque)
    raw_bytes: int = 0
    end: End | None = None
    ready: deque[Entry] = field(default_factory=deque)
    ready_bytes: int = 0


PIECES_WAITING: Final = 2 * 3  # each side: one raw, one in the hands of its sorting thread, one ready


class Inbox:
    def __init__(self, piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes
        self._sides = tuple(_Side() for _ in SIDES)
        self._stopped = False
        self._changed = threading.Condition()

    @property
    def held_bytes(self) -> int:
        return sum(side.raw_bytes + side.ready_bytes for side in self._sides)

    def put_raw(self, side: int, batch: pa.RecordBatch) -> None:
        """Add a batch, waiting for room; one larger than all the room waits for an empty queue."""
        here = self._sides[side]
        with self._changed:
            self._wait(lambda: not here.raw or here.raw_bytes + batch.nbytes <= self._piece_bytes)
            here.raw.append(batch)
            here.raw_bytes += batch.nbytes
            self._changed.notify_all()

    def put_end(self, side: int, end: End) -> None:
        with self._changed:
            self._sides[side].end = end
            self._changed.notify_all()

    def take_raw(self, side: int) -> list[pa.RecordBatch] | None:
        """All raw batches, once the join has taken what was ready; None after the last."""
        here = self._sides[side]
        with self._changed:
            self._wait(lambda: (here.raw or here.end) and not here.ready)
            if not here.raw:
                assert here.end is not None
                here.ready.append(here.end)
                self._changed.notify_all()
                return None
            batches = list(here.raw)
            here.raw.clear()
            here.raw_bytes = 0
            self._changed.notify_all()
            return batches

    def put_ready(self, side: int, arrivals: Arrivals) -> None:
        here = self._sides[side]
        with self._changed:
            self._wait(lambda: not here.ready)
            here.ready.append(arrivals)
            here.ready_bytes += arrivals.n_bytes
            self._changed.notify_all()

    def take(self, timeout_seconds: float | None) -> tuple[Entry | None, Entry | None] | None:
        """The next entry of each side that has one; None after a silence of both."""
        with self._changed:
            if not self._changed.wait_for(lambda: any(side.ready for side in self._sides), timeout_seconds):
                return None
            return self._pop(0), self._pop(1)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wait(self, condition: Callable[[], object]) -> None:
        self._changed.wait_for(lambda: self._stopped or condition())
        if self._stopped:
            raise Stopped

    def _pop(self, side: int) -> Entry | None:
        here = self._sides[side]
        if not here.ready:
            return None
        entry = here.ready.popleft()
        here.ready_bytes -= entry.n_bytes if isinstance(entry, Arrivals) else 0
        self._changed.notify_all()
        return entry
