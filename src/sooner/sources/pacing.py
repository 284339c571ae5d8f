"""Replay a source by the wall clock, its rows arriving as a pattern says.

For demonstrations and for measurements that must see real time. The lab replays the same patterns in
simulated time.

Not covered: to be faster than the source that is replayed. When it blocks, rows come late, and those that are
overdue come at once.
"""

import math
import threading
import time
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.sources.arrival_patterns import ArrivalPattern, ArrivalSchedule, Seconds
from sooner.sources.opening import open_source
from sooner.sources.source import Source, close_source, n_rows_of

# Rows that are due within this time of each other arrive together: shorter waits would cost more than rows.
TOGETHER_SECONDS = 0.010


class Clock(Protocol):
    """Time, and a wait that can be cut short."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        """Return True as soon as `woken` is set, False when `seconds` have passed without that."""
        ...


class WallClock:
    """Real time."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        """Return True as soon as `woken` is set, False when `seconds` have passed without that."""
        return woken.wait(max(seconds, 0.0))


class PacedSource:
    """A source whose rows are held back until they are due. `close()` ends it, even while it waits."""

    def __init__(
        self, source: Source, name: str, arrivals: ArrivalPattern, seed: int, speed: float, clock: Clock
    ) -> None:
        self._source = source
        self.name = name
        self.schema = source.schema
        self.n_rows = n_rows_of(source)
        self._arrivals = arrivals
        self._seed = seed
        self._speed = speed
        self._clock = clock
        self._closed = threading.Event()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source, in its order, none before it is due."""
        schedule = ArrivalSchedule(self._arrivals, self._seed)
        start = self._clock.now()
        for batch in self._source.batches():
            due = start + schedule.next(batch.num_rows) / self._speed
            yield from self._when_due(batch, due)
            if self._closed.is_set():
                return

    def close(self) -> None:
        """Wake the source if it waits, and end it."""
        self._closed.set()
        close_source(self._source)

    def _when_due(self, batch: pa.RecordBatch, due: Seconds) -> Iterator[pa.RecordBatch]:
        first = 0
        while first < batch.num_rows:
            last = np.searchsorted(due, due[first] + TOGETHER_SECONDS, side="right") - 1
            if self._clock.wait(self._closed, due[last] - self._clock.now()):
                return
            # More may be due by now than was waited for, when the consumer was slow to come back.
            end = int(np.searchsorted(due, max(self._clock.now(), due[last]), side="right"))
            yield batch.slice(first, end - first)
            first = end


def paced(
    thing: object,
    arrivals: ArrivalPattern,
    *,
    seed: int = 0,
    speed: float = 1.0,
    name: str | None = None,
    clock: Clock | None = None,
) -> Source:
    """Anything that `open_source` takes, its rows arriving by the wall clock as `arrivals` says.

    `speed=10` replays ten times as fast. The first row is due when the source is first asked for rows. A row
    is at most 10 ms late, so that it can come in one batch with those due right after it.
    """
    if not (math.isfinite(speed) and speed > 0):
        raise InvalidCall(f"speed is {speed}; give a finite number above 0")
    ArrivalSchedule(arrivals, seed)  # made only to refuse a bad pattern now, before rows are asked for
    source = open_source(thing, name or "paced")
    return PacedSource(source, name or source.name, arrivals, seed, speed, clock or WallClock())
