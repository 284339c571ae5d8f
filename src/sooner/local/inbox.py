"""Where sources put what has arrived and the operator takes it: bounded in bytes, so a fast source waits.

The operator takes all that waits at once. While it keeps up, each batch goes in as it comes; when it does not, it gets
fewer and larger pieces, which cost it less. Nothing is dropped, and the end of a source, good or bad, comes after all
that arrived before it.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyarrow as pa

# What waits of an input is small at first, so that first results come soon, and doubles whenever some of it is taken:
# who reads what is to come last leaves the processors to those who read the others.
FIRST_ROOM_BYTES: Final = 2**18
MOST_LAST_BYTES: Final = 16 * 2**20  # that wait of an input that is to come last: its rows pass, a few or many alike
LAST_IN_TURNS: Final = 16  # once in so many turns something is taken of an input that is to come last
PIECES_HELD: Final = 2  # of each input: one piece that waits, one that the operator has in its hands


class Ended(NamedTuple):
    """A source has no more rows; if it failed, with this error."""

    error: Exception | None = None


class Waiting(NamedTuple):
    """What one input has for the operator."""

    batches: list[pa.RecordBatch]
    end: Ended | None


class Stopped(Exception):  # noqa: N818 - not an error: how a thread that waits learns that nobody needs it any more
    """The query was stopped."""


@dataclass
class _Queue:
    """What waits of one input."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # of each batch, in bytes
    n_bytes: int = 0
    room_bytes: int = FIRST_ROOM_BYTES
    end: Ended | None = None
    has_ended: bool = False  # nothing comes after it


class Inbox:
    def __init__(self, inputs: int, piece_bytes: int, last: int | None = None) -> None:
        """Of the input that is to come last, if there is one, a batch is taken now and then until all others are in:
        what comes before that has to be sorted and kept.
        """
        self._piece_bytes = piece_bytes
        self._last = last
        self._since_last = LAST_IN_TURNS  # turns
        self._queues = tuple(_Queue(room_bytes=min(FIRST_ROOM_BYTES, piece_bytes)) for _ in range(inputs))
        self._stopped = False
        self._changed = threading.Condition()

    @property
    def waiting_rows(self) -> tuple[int, ...]:
        """Of each input."""
        with self._changed:
            return tuple(sum(batch.num_rows for batch in queue.batches) for queue in self._queues)

    @property
    def has_an_end(self) -> bool:
        """Whether one waits, good or bad: nobody should be kept waiting for it."""
        return any(queue.end for queue in self._queues)

    def put(self, which: int, batch: pa.RecordBatch, n_bytes: int) -> None:
        """Add a batch of so many bytes, waiting for room; one larger than all the room waits for an empty queue."""
        queue = self._queues[which]
        with self._changed:
            self._wait(lambda: queue.has_ended or not queue.batches or queue.n_bytes + n_bytes <= queue.room_bytes)
            if queue.has_ended:
                raise Stopped
            queue.batches.append(batch)
            queue.sizes.append(n_bytes)
            queue.n_bytes += n_bytes
            self._changed.notify_all()

    def end(self, which: int, end: Ended) -> None:
        """Nothing more comes of this input, by its own word or by that of the user: what comes first counts."""
        queue = self._queues[which]
        with self._changed:
            if not queue.has_ended:
                queue.end, queue.has_ended = end, True
                self._changed.notify_all()

    def take(self, timeout_seconds: float | None, blocked: Collection[int] = ()) -> Sequence[Waiting] | None:
        """All that waits of each input that is not blocked; None after a silence of all of those."""
        with self._changed:
            if self._last is not None and self._since_last < LAST_IN_TURNS and self._are_open_before(self._last):
                blocked = [*blocked, self._last]
            ready = [queue for which, queue in enumerate(self._queues) if which not in blocked]
            if not self._wait(lambda: any(queue.batches or queue.end for queue in ready), timeout_seconds):
                return None
            has_last = self._last not in blocked and self._last is not None and self._queues[self._last].batches
            self._since_last = 0 if has_last else self._since_last + 1
            return [self._taken(which, queue, which in blocked) for which, queue in enumerate(self._queues)]

    def _taken(self, which: int, queue: _Queue, is_blocked: bool) -> Waiting:
        if is_blocked:
            return Waiting([], None)
        if queue.batches:
            queue.room_bytes = min(2 * queue.room_bytes, self._most_bytes(which))
        is_early = which == self._last and self._are_open_before(which)
        return self._first_of(queue) if is_early and len(queue.batches) > 1 else self._empty(queue)

    def _most_bytes(self, which: int) -> int:
        return min(self._piece_bytes, MOST_LAST_BYTES) if which == self._last else self._piece_bytes

    def _are_open_before(self, last: int) -> bool:
        """Until the operator has the ends of all others in its hands."""
        return any(queue.end or not queue.has_ended for at, queue in enumerate(self._queues) if at != last)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wait(self, condition: Callable[[], object], timeout_seconds: float | None = None) -> bool:
        reached = self._changed.wait_for(lambda: self._stopped or condition(), timeout_seconds)
        if self._stopped:
            raise Stopped
        return bool(reached)

    def _first_of(self, queue: _Queue) -> Waiting:
        queue.n_bytes -= queue.sizes.pop(0)
        self._changed.notify_all()
        return Waiting([queue.batches.pop(0)], None)

    def _empty(self, queue: _Queue) -> Waiting:
        taken = Waiting(queue.batches, queue.end)
        queue.batches, queue.sizes, queue.n_bytes, queue.end = [], [], 0, None
        self._changed.notify_all()
        return taken
