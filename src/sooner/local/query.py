"""A running query: iterate it for batches of results as they come.

The operator runs in the thread that iterates; each source has a thread of its own. Time spent by the consumer is time
in which sources fill the inbox and then wait.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from sooner.arguments import require_count
from sooner.errors import InvalidJoin, SoonerError
from sooner.extras import require
from sooner.kernels.sizes import data_bytes
from sooner.local.inbox import Ended, Inbox, Stopped, Waiting
from sooner.local.notebook_view import notebook_view
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

if TYPE_CHECKING:
    import pandas
    import polars


class Query:
    """Iterate for `pyarrow.RecordBatch`es, or hand it to anything that reads an Arrow stream. Good for one reading.

    Leave a `with` block, call `stop()` or drop the query, and its threads and spill files are gone.
    """

    def __init__(
        self,
        operator: Operator[pa.RecordBatch],
        schema: pa.Schema,
        inbox: Inbox,
        readers: Sequence[Reader],
        spill_directory: SpillDirectory,
        returned_memory: ReturnedMemory,
        silence_seconds: float,
    ) -> None:
        self._operator = operator
        self.schema = schema
        self._inbox = inbox
        self._readers = readers
        self._spill_directory = spill_directory
        self._silence_seconds = silence_seconds
        self._returned_memory = returned_memory
        self._results = self._run()
        self._asked = False
        self._stopped = False
        self._silent = False
        self._at_end = ExitStack()

    @property
    def progress(self) -> Progress:
        """How far the join is; may be asked from any thread."""
        return self._operator.progress()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._asked:
            raise SoonerError("The results of this query were read before; call join again for another reading.")
        self._asked = True
        return OneReader(self._results)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_table(self) -> pa.Table:
        """The whole answer, when it is complete."""
        return pa.Table.from_batches(iter(self), schema=self.schema)

    def to_pandas(self) -> "pandas.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of pandas."""
        require("pandas", "Query.to_pandas()")
        return self.to_table().to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The whole answer, when it is complete, as a DataFrame of Polars."""
        require("polars", "Query.to_polars()")
        import polars

        # Not polars.DataFrame(self): what goes wrong on the way would come out as an error of Polars.
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def head(self, n: int = 5) -> pa.Table:
        """The first n rows to come, as soon as they are there; then the query is stopped.

        There are fewer if the whole answer has fewer. Which rows come first depends on what arrives first.
        """
        require_count("n", n)
        batches: list[pa.RecordBatch] = []
        with self:
            results = iter(self)
            while n > 0 and (batch := next(results, None)) is not None:
                batches.append(batch.slice(0, n))
                n -= batches[-1].num_rows
        return pa.Table.from_batches(batches, schema=self.schema)

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

    def _stop_reading(self) -> None:
        self._inbox.stop()
        for reader in self._readers:
            reader.close()

    def __enter__(self) -> "Query":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> Generator[pa.RecordBatch, None, None]:
        self._spill_directory.require_own_process()
        try:
            for reader in self._readers:
                reader.start()
            started = time.monotonic()
            while self._operator.phase != "done":
                yield from self._until_stopped(self._next_work(time.monotonic() - started))
        except (Stopped, Interrupted):
            return
        finally:
            self._stop_reading()
            self._operator.close()
            self._at_end.close()
            self._spill_directory.remove()

    def _next_work(self, now: float) -> Iterator[pa.RecordBatch]:
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
        waiting = self._inbox.take(0 if self._silent else self._silence_seconds)
        self._silent = waiting is None
        if waiting is None:
            if operator.has_work(SILENT):
                return operator.work(QUANTUM_BYTES, SILENT)
            waiting = self._inbox.take(None)
            assert waiting is not None
        return self._take_in(waiting, now)

    def _take_in(self, waiting: Sequence[Waiting], now: float) -> Iterator[pa.RecordBatch]:
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

    def _until_stopped(self, results: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in results:
            if self._stopped:
                raise Stopped
            yield batch
            self._spill_directory.require_own_process()

    def __repr__(self) -> str:
        return f"<sooner.Query {self.progress}>"

    def _repr_html_(self) -> str:
        return notebook_view(self.progress, self.schema)
