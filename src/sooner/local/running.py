"""An engine that runs: it takes what sources give, hands it to the operator, and gives the results as they come.

The operator runs in the thread that iterates; each source has a thread of its own. Time spent by the consumer is time
in which sources fill the inbox and then wait.
"""

import atexit
import contextlib
import os
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, Self, TypeVar

import pyarrow as pa

from sooner.errors import InvalidJoin, SoonerError
from sooner.fallbacks import report
from sooner.kernels.sizes import data_bytes
from sooner.local.inbox import Ended, Inbox, Stopped, Waiting
from sooner.local.one_reader import OneReader
from sooner.local.reading import Reader
from sooner.local.returned_memory import ReturnedMemory
from sooner.local.spill_directory import SpillDirectory
from sooner.operators.operator import Interrupted, Operator
from sooner.policies.view import SILENT, Surroundings
from sooner.progress import Progress

# Disk work between two looks at what arrives, and between two looks at whether it was stopped when nothing does
QUANTUM_BYTES: Final = 4 * 2**20
CLEAN_UP_QUANTUM_BYTES: Final = 64 * 2**20
TIDYING: Final = 4  # times the bytes that arrive, at least: each row is read and written anew, and then perhaps again

R = TypeVar("R")

_running: "Final[weakref.WeakSet[Running[Any]]]" = weakref.WeakSet()  # that were begun


@dataclass(frozen=True)
class Parts(Generic[R]):
    """What an engine is made of."""

    operator: Operator[R]
    inbox: Inbox
    readers: Sequence[Reader]
    spill_directory: SpillDirectory
    returned_memory: ReturnedMemory


class Running(Generic[R]):
    """Good for one reading.

    Leave a `with` block, call `stop()` or drop it, and its threads and spill files are gone.
    """

    def __init__(self, parts: Parts[R], silence_seconds: float) -> None:
        self._operator = parts.operator
        self._inbox = parts.inbox
        self._readers = parts.readers
        self._spill_directory = parts.spill_directory
        self._returned_memory = parts.returned_memory
        self._silence_seconds = silence_seconds
        trouble = parts.returned_memory.trouble
        self._fallbacks = () if trouble is None else (trouble,)
        report(self._fallbacks)
        self._results = self._run()
        self._asked = False
        self._stopped = False
        self._abandoned = False
        self._silent = False
        self._at_end = ExitStack()

    @property
    def progress(self) -> Progress:
        """How far the join is; may be asked from any thread."""
        return replace(self._operator.progress(), fallbacks=self._fallbacks)

    def _read_once(self) -> Iterator[R]:
        if self._asked:
            raise SoonerError("The results of this query were read before; call join again for another reading.")
        self._asked = True
        return OneReader(self._results)

    def stop(self) -> None:
        """End the query now, from any thread. Results so far stay valid; threads end and spill files are removed."""
        self._stopped = True
        self._operator.interrupt()
        self._stop_reading()
        try:
            self._results.close()
        except ValueError:
            return  # it is at work in another thread, which will see the flag and tidy up
        self._spill_directory.remove()

    def finish(self, side: Literal["left", "right"]) -> None:
        """This input has no more rows, whatever its source would still give; from any thread.

        What has arrived of it by now is joined. Rows of the other side that match nothing come out then.
        """
        names = [one.name for one in self._operator.inputs]
        if side not in names:
            raise InvalidJoin(f"side={side!r} must be {' or '.join(map(repr, names))}.")
        which = names.index(side)
        self._inbox.end(which, Ended())
        self._readers[which].close()

    def at_end(self, close: Callable[[], None]) -> None:
        """This is called when the query has ended, well or not."""
        self._at_end.callback(close)

    def _abandon(self) -> None:
        self._abandoned = True
        with contextlib.suppress(Exception):  # of a source that is closed: nobody is there to be told
            self.stop()

    def _stop_reading(self) -> None:
        self._inbox.stop()
        for reader in self._readers:
            reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> Generator[R, None, None]:
        self._spill_directory.require_own_process()
        _running.add(self)
        try:
            for reader in self._readers:
                reader.start()
            started = time.monotonic()
            while self._operator.phase != "done":
                yield from self._until_stopped(self._next_work(time.monotonic() - started))
        except (Stopped, Interrupted):
            if self._abandoned:  # who reads must not take this for the end of the results; a thread is silent about it
                raise SystemExit from None
        finally:
            _running.discard(self)
            self._stop_reading()
            self._operator.close()
            self._at_end.close()
            self._spill_directory.remove()

    def _next_work(self, now: float) -> Iterator[R]:
        """What has arrived, or a quantum of disk work in a silence; without any of it, wait for what arrives.

        Rows that come in the middle of such work wait as long as the react policy would rather go on with it.
        """
        operator = self._operator
        if operator.phase == "clean-up":
            self._returned_memory.look()
            return operator.work(CLEAN_UP_QUANTUM_BYTES, SILENT)
        if self._silent and any(rows := self._inbox.rows_that_may_wait):
            around = Surroundings(waiting_rows=rows, after_silence=True)
            if operator.has_work(around):
                return operator.work(QUANTUM_BYTES, around)
        ports = [operator.port(which) for which in range(len(operator.inputs))]
        blocked = [which for which, port in enumerate(ports) if port == "blocked"]  # its rows wait where they are
        waiting = self._inbox.take(0 if self._silent or blocked else self._silence_seconds, blocked)
        self._silent = waiting is None
        if waiting is None:
            if operator.has_work(SILENT):
                return operator.work(QUANTUM_BYTES, SILENT)
            if "ready" not in ports:
                raise RuntimeError(f"{type(operator).__name__} takes rows of no input, and has no work: {ports}.")
            waiting = self._inbox.take(None, blocked)
            assert waiting is not None
        return self._take_in(waiting, now)

    def _take_in(self, waiting: Sequence[Waiting], now: float) -> Iterator[R]:
        """What arrived, and then perhaps some work that cannot wait for a silence."""
        operator = self._operator
        yield from operator.arrive([taken.batches for taken in waiting], now)
        n_bytes = sum(data_bytes(batch) for taken in waiting for batch in taken.batches)
        self._returned_memory.passed(n_bytes)
        for which, taken in enumerate(waiting):
            if taken.end is not None and taken.end.error is not None:
                raise taken.end.error
            if taken.end is not None:
                operator.end(which)
        around = Surroundings(waiting_rows=self._inbox.waiting_rows)
        for _ in range(0, max(QUANTUM_BYTES, TIDYING * n_bytes), QUANTUM_BYTES):
            if operator.phase == "clean-up" or not operator.has_work(around):
                return
            yield from operator.work(QUANTUM_BYTES, around)
            self._returned_memory.look()

    def _until_stopped(self, results: Iterator[R]) -> Iterator[R]:
        for batch in results:
            if self._stopped:
                raise Stopped
            yield batch
            if isinstance(batch, pa.RecordBatch):
                self._returned_memory.passed(batch.nbytes)
            self._spill_directory.require_own_process()


@atexit.register
def _abandon_all() -> None:
    """The program ends, and with it what somebody has begun to read and left, or reads in a daemon."""
    for query in list(_running):
        query._abandon()


os.register_at_fork(after_in_child=_running.clear)  # a forked child has none of the threads, and perhaps their locks
