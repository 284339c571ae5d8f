"""Two threads per source: one reads, the other codes and sorts what was read, for the join to take."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import pyarrow as pa

from sooner.local.inbox import Ended, Failed, Inbox, Stopped
from sooner.operators.arrivals import CodeRows, sort_arrivals
from sooner.runs.run import HELPER_BYTES
from sooner.sources.source import Source, close_source


class Feeder:
    def __init__(
        self, source: Source, side: int, inbox: Inbox, code: CodeRows, partitions: int, piece_bytes: int
    ) -> None:
        self._source = source
        self._side = side
        self._inbox = inbox
        self._code = code
        self._partitions = partitions
        self._piece_bytes = piece_bytes

    def start(self) -> None:
        for work in (self._read, self._sort):
            name = f"sooner{work.__name__}-{self._source.name}"
            threading.Thread(target=_until_stopped, args=(work,), name=name, daemon=True).start()

    def close(self) -> None:
        """Wake a source that waits for data; the inbox has been stopped."""
        close_source(self._source)

    def _read(self) -> None:
        try:
            for batch in self._source.batches():
                for piece in cut(batch, self._piece_bytes):
                    self._inbox.put_raw(self._side, piece)
            self._inbox.put_end(self._side, Ended())
        except Stopped:
            raise
        except Exception as error:  # whatever it is, the user's thread is to raise it
            self._inbox.put_end(self._side, Failed(error))

    def _sort(self) -> None:
        while (batches := self._inbox.take_raw(self._side)) is not None:
            together = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
            self._inbox.put_ready(self._side, sort_arrivals(together, self._code, self._partitions))


def _until_stopped(work: Callable[[], None]) -> None:
    with contextlib.suppress(Stopped):
        work()


def cut(batch: pa.RecordBatch, at_most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of the batch that weigh no more than this, with what the join adds; a single row may weigh more."""
    rows = batch.num_rows
    if rows > 1 and batch.nbytes + HELPER_BYTES * rows > at_most_bytes:
        yield from cut(batch.slice(0, rows // 2), at_most_bytes)
        yield from cut(batch.slice(rows // 2), at_most_bytes)
    elif rows:
        yield batch
