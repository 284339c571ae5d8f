"""A thread per source: read batches, cut them to size, put them into the inbox."""

import contextlib
import threading
from collections.abc import Iterator

import pyarrow as pa

from sooner.errors import SourceFailed
from sooner.kernels.sizes import cuts_by_bytes, row_bytes
from sooner.local.inbox import Ended, Inbox, Stopped
from sooner.local.returned_memory import ReturnedMemory
from sooner.runs.run import HELPER_BYTES
from sooner.sources.source import Source, close_source


class Reader:
    def __init__(
        self, source: Source, which: int, inbox: Inbox, piece_bytes: int, returned_memory: ReturnedMemory
    ) -> None:
        self._source = source
        self._which = which
        self._inbox = inbox
        self._piece_bytes = piece_bytes
        self._returned_memory = returned_memory
        self._thread = threading.Thread(target=self._run, name=f"sooner-read-{source.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

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


def cut(batch: pa.RecordBatch, at_most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of the batch that weigh no more than this, with what the join adds; a single row may weigh more."""
    rows = batch.num_rows
    if rows and batch.nbytes + HELPER_BYTES * rows <= at_most_bytes:
        yield batch
        return
    for begin, end in cuts_by_bytes(row_bytes(batch) + HELPER_BYTES, rows, at_most_bytes):
        yield batch.slice(begin, end - begin)
