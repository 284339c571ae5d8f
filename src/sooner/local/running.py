"""An engine that runs: it takes what sources give, hands it to the operator, and gives the results as they come.

The operator runs in the thread that iterates; each source has a thread of its own. Time spent by the consumer is time
in which sources fill the inbox and then wait.
"""

import atexit
import contextlib
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from sooner.budget import UNLIMITED_BYTES, Budget
from sooner.errors import InvalidJoin, SoonerError
from sooner.fallbacks import report
from sooner.kernels.sizes import data_bytes
from sooner.local.arguments import Settings
from sooner.local.inbox import PIECES_HELD, Ended, Inbox, Stopped, Waiting
from sooner.local.reading import start_reading
from sooner.local.returned_memory import ReturnedMemory
from sooner.operators.inputs import Storage
from sooner.operators.operator import FLUSH_FRACTION, Interrupted, Means, OperatorPlan
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.view import SILENT, Surroundings
from sooner.progress import PerInput, Progress
from sooner.runs.custody.private_directory import PrivateDirectory
from sooner.runs.formats.files import RunFiles
from sooner.sources.checking import checked
from sooner.sources.source import Source, close_source, n_rows_of
from sooner.threads import Staying
from sooner.trace import TraceHeader, Tracer, open_trace
from sooner.viewing import Bar, Dashboard, dashboard, progress_bar

# Disk work between two looks at what arrives, and between two looks at whether it was stopped when nothing does
QUANTUM_BYTES: Final = 4 * 2**20
CLEAN_UP_QUANTUM_BYTES: Final = 64 * 2**20
TIDYING: Final = 4  # times the bytes that arrive, at least: each row is read and written anew, and then perhaps again
INBOX_SHARE: Final = 3  # of the memory, one part in so many is for rows that wait to be joined
MEMORY_IN_BLOCKS: Final = 128  # blocks of spilled runs are small beside the memory: one of each run is read at once
LEAST_BLOCK_BYTES: Final = 64 * 2**10
MOST_BLOCK_BYTES: Final = 2**20
LEAST_FLUSH_BYTES: Final = 512 * 2**10  # a file for each few rows would cost more than what is in it
# Pieces grow with what has arrived when sources are fast, and then all probing together is a few passes (PR-Join's
# argument). A large memory is mostly for rows that have been joined: few more pieces cost little more.
LARGE_PIECE_BYTES: Final = 8 * 2**20
PIECES_IN_MEMORY: Final = 32
CROWD: Final = 32  # runs on disk that are alike: reading so many at once still takes little memory

R = TypeVar("R")

_running: "Final[weakref.WeakSet[Running[Any]]]" = weakref.WeakSet()  # that were begun


@dataclass(frozen=True)
class QueryProgress(Progress):
    """How far a query in process is, and by which algorithm."""

    algorithm: str = ""  # its name; nothing if there is no choice
    expected_rows: tuple[int | None, ...] = ()  # of each input, where its source knows
    held_rows: PerInput = ()  # of each input, that have come and wait to be joined
    seconds: float = 0.0  # since the first row was asked for

    @property
    def read_fraction(self) -> float | None:
        """The fraction of all rows that has arrived; None if a source does not know how many it has."""
        all_rows = self.all_rows
        return None if all_rows is None else min(sum(self.arrived_rows) / max(all_rows, 1), 1.0)

    @property
    def all_rows(self) -> int | None:
        """How many rows all inputs have; None if a source does not know."""
        known = [rows for rows in self.expected_rows if rows is not None]
        return sum(known) if known and len(known) == len(self.expected_rows) else None


class Running(Generic[R]):
    """Good for one reading.

    Leave a `with` block, call `stop()` or drop it, and its threads and spill files are gone.
    """

    def __init__(
        self,
        plan: OperatorPlan[R],
        sources: Sequence[Source],
        settings: Settings,
        names: Sequence[str] = INPUTS,
        trace: str | Path | Tracer | None = None,
        expected_rows: int | None = None,
        notes: Sequence[str] = (),
        last: int | None = None,
        what: str = "a query in process",
    ) -> None:
        """Any operator, from the plan of it, over any sources; nothing has begun to read. Rows of the input that is to
        come `last` come slowly until all others have ended. `what` it is, a trace says.
        """
        memory_bytes = settings.memory_bytes
        self._rows_of_sources = tuple(map(n_rows_of, sources))
        sizes = dict(zip(names, self._rows_of_sources, strict=True))
        limit_bytes = None if memory_bytes == UNLIMITED_BYTES else memory_bytes
        self._tracing = open_trace(trace, what, [plan], sizes, limit_bytes)
        self._piece_bytes = piece_bytes_of(memory_bytes, len(sources))
        self._silence_seconds = settings.silence_seconds
        self._spill_directory = _spill_directory(settings.spill_parent)
        self._inbox = Inbox(len(sources), self._piece_bytes, last)
        self._sources = [checked(source) for source in sources]
        self._notes = notes
        self._algorithm = _name_of_algorithm(plan)
        self._returned_memory = ReturnedMemory(memory_bytes)
        self._fallbacks = tuple(filter(None, [self._returned_memory.trouble]))
        report(self._fallbacks)
        budget = Budget(memory_bytes)
        budget.account("rows that wait").take(memory_bytes - rows_bytes_of(memory_bytes, len(sources)))
        account = budget.account("the operator")
        means = Means(
            account,
            settings.workers,
            _flush_fraction(account.share_bytes),
            CROWD,
            listener=self._tracing.listener(),
            expected_rows=expected_rows,
            memory_bytes=memory_bytes,
        )
        folder = str(self._spill_directory.path)
        files = partial(RunFiles, pafs.LocalFileSystem(), folder, block_bytes=block_bytes_of(memory_bytes))
        schemas = [source.schema for source in sources]
        self._operator = plan.make(names, schemas, Storage(settings.partitions, files), means)
        self._results = self._run()
        self._asked = False
        self._stopped = False
        self._abandoned = False
        self._silent = False
        self._started = self._ended = 0.0
        self._at_end = ExitStack()
        self.at_end(self._tracing.close)

    @property
    def progress(self) -> QueryProgress:
        """How far the join is; may be asked from any thread."""
        told = vars(self._operator.progress()) | {"fallbacks": self._fallbacks}
        return QueryProgress(
            **told,
            algorithm=self._algorithm,
            expected_rows=self._rows_of_sources,
            held_rows=self._inbox.waiting_rows,
            seconds=0.0 if not self._started else (self._ended or time.monotonic()) - self._started,
        )

    @property
    def is_done(self) -> bool:
        """Whether all of the answer has come."""
        return self._operator.phase == "done"

    @property
    def _how_far(self) -> str:
        stopped = self._stopped and not self.is_done
        return f"stopped; {self.progress}" if stopped else str(self.progress)

    def explain(self) -> str:
        """What it will do and why, a line each. Nothing is read for it."""
        return "\n".join(self._notes)

    @property
    def traced(self) -> TraceHeader:
        """What a trace of it is of."""
        return self._tracing.header

    @property
    def traced_seconds(self) -> float:
        """The time, as entries of a trace have it."""
        return self._tracing.seconds

    def watch(self, tracer: Tracer) -> None:
        """Tell it from now on what happens, as a trace does."""
        self._tracing.add(tracer)

    def dashboard(self) -> Dashboard:
        """A page that shows how it goes, for this machine only; it is closed when the query ends."""
        return dashboard(self)

    def progress_bar(self) -> Bar:
        """Show on the terminal, or in the notebook, how far it is, until it ends."""
        return progress_bar(self)

    def _read_once(self) -> Iterator[R]:
        if self._stopped and not self.is_done:
            raise SoonerError("This query was stopped; call join again for another reading.")
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
        self._at_end.close()  # of a query that nobody has begun to read
        self._spill_directory.remove()

    def finish(self, side: str) -> None:
        """This input has no more rows, whatever its source would still give; from any thread.

        What has arrived of it by now is joined. Rows of the other side that match nothing come out then.
        """
        names = [one.name for one in self._operator.inputs]
        if side not in names:
            raise InvalidJoin(f"side={side!r} must be {' or '.join(map(repr, names))}.")
        which = names.index(side)
        self._inbox.end(which, Ended())
        close_source(self._sources[which])

    def at_end(self, close: Callable[[], None]) -> None:
        """This is called when the query has ended, well or not."""
        self._at_end.callback(close)

    def _abandon(self) -> None:
        self._abandoned = True
        with contextlib.suppress(Exception):  # of a source that is closed: nobody is there to be told
            self.stop()

    def _stop_reading(self) -> None:
        """Sources that wait for data are woken up; by then the inbox takes nothing more."""
        self._inbox.stop()
        for source in self._sources:
            close_source(source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> Generator[R, None, None]:
        self._require_own_process()
        _running.add(self)
        is_cut_off = False
        try:
            for which, source in enumerate(self._sources):
                start_reading(source, which, self._inbox, self._piece_bytes, self._returned_memory)
            self._started = time.monotonic()
            while self._operator.phase != "done":
                yield from self._until_stopped(self._next_work())
        except (Stopped, Interrupted):
            is_cut_off = self._abandoned
        finally:
            _running.discard(self)
            self._ended = time.monotonic()
            self._stop_reading()
            self._operator.close()
            self._at_end.close()
            self._spill_directory.remove()
        if is_cut_off:  # who reads must not take this for the end of the results
            if threading.current_thread() is not threading.main_thread():
                threading.Event().wait()  # a daemon, until the process is gone: Arrow would tell of any other end
            raise SystemExit

    @property
    def _now(self) -> float:
        return time.monotonic() - self._started

    def _next_work(self) -> Iterator[R]:
        """What has arrived, or a quantum of disk work in a silence; without any of it, wait for what arrives.

        Rows that come in the middle of such work wait as long as the react policy would rather go on with it.
        """
        operator = self._operator
        if operator.phase == "clean-up":
            self._returned_memory.look()
            return operator.work(CLEAN_UP_QUANTUM_BYTES, Surroundings(silent=True, now=self._now))
        if self._silent and not self._inbox.has_an_end and any(rows := self._inbox.waiting_rows):
            around = Surroundings(waiting_rows=rows, after_silence=True, now=self._now)
            if operator.has_work(around):
                return operator.work(QUANTUM_BYTES, around)
        ports = [operator.port(which) for which in range(len(operator.inputs))]
        blocked = [which for which, port in enumerate(ports) if port == "blocked"]  # its rows wait where they are
        waiting = self._inbox.take(0 if self._silent or blocked else self._silence_seconds, blocked)
        self._silent = waiting is None
        if waiting is None:
            if operator.has_work(SILENT):
                return operator.work(QUANTUM_BYTES, Surroundings(silent=True, now=self._now))
            if "ready" not in ports:
                raise RuntimeError(f"{type(operator).__name__} takes rows of no input, and has no work: {ports}.")
            waiting = self._inbox.take(None, blocked)
            assert waiting is not None
        return self._take_in(waiting)

    def _take_in(self, waiting: Sequence[Waiting]) -> Iterator[R]:
        """What arrived, and then perhaps some work that cannot wait for a silence."""
        operator = self._operator
        yield from operator.arrive([taken.batches for taken in waiting], self._now)
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
            yield from operator.work(QUANTUM_BYTES, replace(around, now=self._now))
            self._returned_memory.look()

    def _until_stopped(self, results: Iterator[R]) -> Iterator[R]:
        for batch in results:
            if self._stopped:
                raise Stopped
            yield batch
            if isinstance(batch, pa.RecordBatch):
                self._returned_memory.passed(batch.nbytes)
            self._require_own_process()

    def _require_own_process(self) -> None:
        """A forked child may drop or stop its copy of a query. Read on, it would change its parent's files."""
        if not self._spill_directory.is_ours:
            raise SoonerError("The query belongs to the process that made it; in a forked child, call join again.")


class OneReader(Generic[R]):
    """The results in one pair of hands at a time. Threads may take turns; a second one amidst a reading is told so."""

    def __init__(self, results: Iterator[R]) -> None:
        self._results = results
        self._in_hands = threading.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> R:
        if not self._in_hands.acquire(blocking=False):
            raise SoonerError(
                "Another thread is reading this query; read it in one thread, which may hand its batches to others."
            )
        try:
            with Staying():  # a daemon of the user's may be inside Arrow, too
                return next(self._results)
        except ValueError:
            if getattr(self._results, "gi_running", False):  # whoever stops the query is closing it
                raise StopIteration from None
            raise
        finally:
            self._in_hands.release()


def _name_of_algorithm(plan: object) -> str:
    """As the plan of any operator has it: a name, or an `Algorithm` that has one."""
    algorithm = getattr(plan, "algorithm", "")
    return str(getattr(algorithm, "name", algorithm))


def piece_bytes_of(memory_bytes: int, inputs: int) -> int:
    """What rows take at most that arrive in one call, of one of so many inputs."""
    most_bytes = max(LARGE_PIECE_BYTES, memory_bytes // PIECES_IN_MEMORY)
    return min(memory_bytes // INBOX_SHARE // (PIECES_HELD * inputs), most_bytes)


def rows_bytes_of(memory_bytes: int, inputs: int) -> int:
    """What is left of the memory for the operator when each input has rows that wait."""
    return memory_bytes - PIECES_HELD * inputs * piece_bytes_of(memory_bytes, inputs)


def block_bytes_of(memory_bytes: int) -> int:
    return min(max(memory_bytes // MEMORY_IN_BLOCKS, LEAST_BLOCK_BYTES), MOST_BLOCK_BYTES)


def _spill_directory(parent: Path | None) -> PrivateDirectory:
    try:
        return PrivateDirectory("spill", parent)
    except OSError as error:
        where = parent if parent is not None else tempfile.gettempdir()
        raise InvalidJoin(
            f"spill_dir={str(where)!r} cannot take files: {error.strerror}; give a directory that you can write to."
        ) from error


def _flush_fraction(rows_bytes: int) -> float:
    """How much leaves a full memory: a tenth, or as much as is worth a file, or half of a memory that is so small."""
    return max(FLUSH_FRACTION, min(LEAST_FLUSH_BYTES / rows_bytes, 1 / 2))


@atexit.register
def _abandon_all() -> None:
    """The program ends, and with it what somebody has begun to read and left, or reads in a daemon."""
    for query in list(_running):
        query._abandon()


os.register_at_fork(after_in_child=_running.clear)  # a forked child has none of the threads, and perhaps their locks
