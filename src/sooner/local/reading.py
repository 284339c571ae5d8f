"""A thread per source: read batches, cut them to size, put them into the inbox."""

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from sooner.errors import SourceFailed
from sooner.kernels.sizes import cuts_by_bytes, row_bytes
from sooner.local.inbox import Ended, Inbox, Stopped
from sooner.local.returned_memory import ReturnedMemory
from sooner.runs.run import HELPER_BYTES
from sooner.sources.source import Source, close_source
from sooner.threads import start_thread

FAREWELL_SECONDS: Final = 1.0  # for threads that are in the middle of a library when the program ends

_threads: "Final[weakref.WeakSet[threading.Thread]]" = weakref.WeakSet()


class Reader:
    def __init__(
        self, source: Source, which: int, inbox: Inbox, piece_bytes: int, returned_memory: ReturnedMemory
    ) -> None:
        self._source = source
        self._which = which
        self._inbox = inbox
        self._piece_bytes = piece_bytes
        self._returned_memory = returned_memory

    def start(self) -> None:
        _threads.add(start_thread(self._run, f"sooner-read-{self._source.name}"))

    def close(self) -> None:
        """Wake a source that waits for data; the inbox has been stopped."""
        close_source(self._source)

    def _run(self) -> None:
        with contextlib.suppress(Stopped):
            self._read()

    def _read(self) -> None:
        rows = 0
        try:
            for batch in self._source.batches():
                for piece in cut(batch, self._piece_bytes):
                    n_bytes = piece.nbytes
                    self._inbox.put(self._which, piece, n_bytes)
                    self._returned_memory.passed(n_bytes)
                rows += batch.num_rows
        except Stopped:
            raise
        except Exception as error:  # whatever it is, the user's thread is to raise it
            self._inbox.end(self._which, Ended(error))
        except BaseException as error:  # an exit or an interrupt that a source raises ends the source and nothing else
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            failure = SourceFailed(f"source {self._source.name!r} failed after {rows:,} rows: {reason}")
            failure.__cause__ = error
            self._inbox.end(self._which, Ended(failure))
        else:
            self._inbox.end(self._which, Ended())


@atexit.register
def _say_farewell() -> None:
    """All queries were stopped (`running`). A library that still reads would find its own memory gone in the end.

    Who sleeps in a source is not waited for any longer.
    """
    deadline = time.monotonic() + FAREWELL_SECONDS
    for thread in list(_threads):
        thread.join(max(deadline - time.monotonic(), 0))


def cut(batch: pa.RecordBatch, at_most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of the batch that weigh no more than this, with what the join adds; a single row may weigh more."""
    rows = batch.num_rows
    if rows and batch.nbytes + HELPER_BYTES * rows <= at_most_bytes:
        yield batch
        return
    for begin, end in cuts_by_bytes(row_bytes(batch) + HELPER_BYTES, rows, at_most_bytes):
        yield batch.slice(begin, end - begin)
