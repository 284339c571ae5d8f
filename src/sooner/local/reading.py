"""A thread per source: read batches, cut them to size, put them into the inbox."""

import atexit
import threading
import time
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Final

import pyarrow as pa

from sooner.errors import SourceFailed
from sooner.kernels.sizes import cuts_by_bytes, row_bytes
from sooner.local.inbox import Ended, Inbox, Stopped
from sooner.local.returned_memory import ReturnedMemory
from sooner.runs.run import HELPER_BYTES
from sooner.sources.source import Source
from sooner.threads import start_thread

FAREWELL_SECONDS: Final = 1.0  # for threads that are in the middle of a library when the program ends

_threads: "Final[weakref.WeakSet[threading.Thread]]" = weakref.WeakSet()


def start_reading(source: Source, which: int, inbox: Inbox, piece_bytes: int, returned_memory: ReturnedMemory) -> None:
    """All that the source gives, until its end or that of the inbox."""
    work = partial(_read, source, which, inbox, piece_bytes, returned_memory)
    _threads.add(start_thread(work, f"sooner-read-{source.name}"))


def _read(source: Source, which: int, inbox: Inbox, piece_bytes: int, returned_memory: ReturnedMemory) -> None:
    rows = 0
    try:
        for batch in source.batches():
            for piece in cut(batch, piece_bytes):
                n_bytes = piece.nbytes
                inbox.put(which, piece, n_bytes)
                returned_memory.passed(n_bytes)
            rows += batch.num_rows
    except Stopped:
        return
    except Exception as error:  # whatever it is, the user's thread is to raise it
        inbox.end(which, Ended(error))
    except BaseException as error:  # an exit or an interrupt that a source raises ends the source and nothing else
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        failure = SourceFailed(f"source {source.name!r} failed after {rows:,} rows: {reason}")
        failure.__cause__ = error
        inbox.end(which, Ended(failure))
    else:
        inbox.end(which, Ended())


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
