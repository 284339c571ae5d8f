"""Each row of a stream with the rows of a master table that have its key, while the stream goes on.

The master comes first: until it has ended, the stream's port is blocked. A master that fits the memory stays there.
Otherwise it is on disk, sorted, and an algorithm says how stream rows meet it: `Probe` answers them at once, `Scan`
keeps them until all of the master has passed by.

Changes of the master, if there are any, may come at any time; those of a call count for the stream rows of the call.

Beside the budget it uses `scratch_bytes`, an eighth of the memory, in which blocks are read and runs merged; with a
probe once more as much for rows on their way into the cache; and the rows of one call, while they are answered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import pyarrow as pa

from sooner.budget import Account
from sooner.kernels.array_types import Codes
from sooner.operators.enrich.answers import Answers
from sooner.operators.enrich.master import MASTER, Master
from sooner.operators.enrich.waits import Waits
from sooner.operators.events import Arrived, Event, Scanned
from sooner.operators.inputs import Input
from sooner.operators.operator import Operator, Port
from sooner.operators.order import Arrivals
from sooner.operators.pairs import Bundle, bundled
from sooner.operators.shell import Shell
from sooner.operators.statistics.arrivals import Statistics
from sooner.operators.sweeping.parts import Workbench
from sooner.operators.whole_inputs import count_whole, view_of
from sooner.phases import Phase
from sooner.policies.view import SILENT, Surroundings, View
from sooner.progress import Progress
from sooner.runs.run import Run
from sooner.runs.store import counts_of_each

STREAM: Final = 0


class Manner(Protocol):
    """How stream rows meet a master on disk."""

    @property
    def is_ready(self) -> bool:
        """Whether it takes rows now."""

    def has_work(self, around: Surroundings) -> bool: ...

    @property
    def name(self) -> str:
        """In a word."""

    @property
    def waiting_rows(self) -> int:
        """Stream rows that have not met all there is."""

    @property
    def known_rows(self) -> int:
        """Stream rows that the cache answered, in this process."""

    @property
    def read_bytes(self) -> int:
        """Of the master, in this process."""

    @property
    def worked_bytes(self) -> int: ...

    def begin(self) -> None:
        """The master is complete, and on disk."""

    def take(self, stream: Run) -> Iterator[Bundle]:
        """Answer these sorted rows, or keep them."""

    def work(self, quantum_bytes: int) -> Iterator[Bundle]:
        """Go on for so many bytes."""

    def changed(self, codes: Codes) -> None:
        """Rows of the master with these codes are others now."""

    def make_room(self, n_bytes: int) -> None:
        """So many bytes are needed for rows of the master: let what can be read again go."""

    def fit(self) -> None:
        """More is in memory than may be: let some go."""

    def forget(self) -> None:
        """Nothing comes any more, and nobody waits."""

    def to_plain(self) -> dict[str, Any]: ...

    def load_plain(self, data: dict[str, Any]) -> None: ...


class Enrichment(Operator[pa.RecordBatch]):
    worked_bytes = 0

    def __init__(
        self,
        stream: Input,
        master: Master,
        changes: Input | None,
        manner: Manner,
        answers: Answers,
        result_of: Callable[[Bundle], pa.RecordBatch],
        account: Account,
        shell: Shell,
        bench: Workbench,
    ) -> None:
        self._stream = stream
        self._master = master
        self._changes = changes
        self._manner = manner
        self._answers = answers
        self._result_of = result_of
        self._account = account
        self._shell = shell
        self._bench = bench
        self._statistics = Statistics(len(self.inputs), 1)
        self._was_in_memory = False  # the master, when it was complete
        self._waits = Waits()
        self._known_rows = 0  # stream rows that met a master in memory
        self._before = 0, 0  # stream rows that memory alone answered, and bytes that were read, in earlier processes

    @property
    def inputs(self) -> Sequence[Input]:
        return (self._stream, self._master.rows, *(() if self._changes is None else (self._changes,)))

    @property
    def phase(self) -> Phase:
        return self._shell.phase

    @property
    def account(self) -> Account:
        return self._account

    def port(self, which: int) -> Port:
        """The master comes first; and a queue may be full."""
        port = super().port(which)
        if which == STREAM and port == "ready":
            return "ready" if self._master.rows.ended and self._takes_rows else "blocked"
        return port

    @property
    def _takes_rows(self) -> bool:
        return self._master.is_in_memory or self._manner.is_ready

    def arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        """Rows of the master are taken in; those of the stream are answered, or wait."""
        return self._shell.exclusively(self._in_scratch(self._arrive(rows, now)))

    def _arrive(self, rows: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        self._shell.require("arriving", "reactive")
        n_rows = tuple(sum(batch.num_rows for batch in batches) for batches in rows)
        if not any(n_rows):
            return
        self._shell.enter("arriving")
        self._shell.advance()
        stream, master, *changes = ([batch for batch in batches if batch.num_rows] for batches in rows)
        self._master.take_in(master)
        for some in filter(None, changes):
            self._manner.changed(self._master.take_changes(some, self._manner.make_room))
        if stream:
            known_before, arrivals = self._read_so_far()[0], self._stream.sorted(stream)
            yield from self._take(arrivals)
            keyless = n_rows[STREAM] - sum(map(len, filter(None, arrivals.runs)))
            at_once = keyless + self._read_so_far()[0] - known_before
            self._waits.look(n_rows[STREAM], at_once, self._manner.waiting_rows, now)
        for which, count in enumerate(n_rows):
            self._statistics.rows_received(which, count, now)
            self._statistics.arrived_rows[which] += count
        self._report(Arrived(self._shell.tick, n_rows, compared=0))

    def _take(self, arrivals: Arrivals) -> Iterator[pa.RecordBatch]:
        yield from self._results(bundled(self._answers.keyless(arrivals)))
        [run] = arrivals.runs
        if run is None:
            return
        stream = self._answers.followed(replace(run, arrived=self._shell.tick))
        if self._master.is_in_memory:
            self._known_rows += len(stream)
            yield from self._results(bundled(self._answers.met_all(stream, self._master.in_memory(stream.codes))))
        else:
            yield from self._results(self._manner.take(stream))

    def end(self, which: int) -> None:
        """When the master has ended, the stream may come; when the stream has, nobody asks for changes any more."""
        self.inputs[which].ended = True
        if which == STREAM and self._changes is not None:
            self._changes.ended = True
        if which == MASTER:
            self._master.complete()
            self._was_in_memory = self._master.is_in_memory
            if not self._master.is_in_memory:
                self._manner.begin()
            self._count()
        if all(one.ended for one in self.inputs):
            self._shell.enter("clean-up")

    def has_work(self, around: Surroundings) -> bool:
        """As long as runs of the master should become one, or rows of the stream wait."""
        if self.phase in ("clean-up", "done"):
            return self.phase == "clean-up"
        return self._master.is_crowded or self._manner.has_work(around)

    def work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        """A piece of it."""
        return self._shell.exclusively(self._in_scratch(self._work(quantum_bytes, around)))

    def _work(self, quantum_bytes: int, around: Surroundings) -> Iterator[pa.RecordBatch]:
        self._shell.breathe()
        if not self.has_work(around):
            return
        if self.phase != "clean-up":
            self._shell.enter("reactive")
        self._shell.advance()
        if self._master.is_scattered and self.phase != "clean-up":
            self._compact(quantum_bytes)
        elif self._manner.has_work(SILENT if self.phase == "clean-up" else around):
            before = self._manner.worked_bytes
            yield from self._results(self._manner.work(quantum_bytes))
            n_bytes = self._manner.worked_bytes - before
            self.worked_bytes += n_bytes
            self._waits.look(0, 0, self._manner.waiting_rows, around.now)
            self._report(Scanned(self._shell.tick, STREAM, 0, 1, n_bytes))
        elif self.phase == "clean-up":
            self._forget()
            self._shell.enter("done")
        else:
            self._compact(quantum_bytes)

    def _compact(self, quantum_bytes: int) -> None:
        self.worked_bytes += self._master.compact(quantum_bytes)
        self._count()

    def _forget(self) -> None:
        self._manner.forget()
        self._master.forget()
        self._count()

    def view(self, around: Surroundings) -> View:
        return view_of(self._statistics, self.inputs, self._shell.tick, around)

    def progress(self) -> Progress:
        """Instead of pairs, stream rows are counted: those that have met all of the master are covered."""
        arrived = int(self._statistics.received_rows[STREAM])
        waiting = min(self._manner.waiting_rows, arrived)  # amid a call they wait before they are counted
        progress = self._statistics.progress(self.phase, self._account, float(arrived), float(arrived - waiting))
        known_rows, read_bytes = self._read_so_far()
        return replace(
            progress, manner=self._how(), known_rows=known_rows, waiting_rows=waiting, read_bytes=read_bytes,
            waited_rows=self._waits.rows, newest_version=self._master.newest_version,
        )  # fmt: skip

    def _how(self) -> str:
        """How rows are looked up now."""
        if not self._master.rows.ended:
            return "the master is not complete"
        return "all of it in memory" if self._was_in_memory else self._manner.name

    def _read_so_far(self) -> tuple[int, int]:
        known_rows, read_bytes = self._before
        return known_rows + self._known_rows + self._manner.known_rows, read_bytes + self._manner.read_bytes

    def snapshot(self) -> dict[str, Any]:
        return {
            **self._shell.to_plain(),
            "stream": self._stream.to_plain(),
            "master": self._master.to_plain(),
            "changes_ended": self._changes is not None and self._changes.ended,
            "was_in_memory": self._was_in_memory,
            "read_so_far": self._read_so_far(),
            "manner": self._manner.to_plain(),
            "waits": self._waits.to_plain(),
            "statistics": self._statistics.to_plain(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        self._shell.load_plain(data)
        self._statistics.load_plain(data["statistics"])
        self._stream.load_plain(data["stream"], self._account)
        self._master.load_plain(data["master"])
        if self._changes is not None:
            self._changes.ended = bool(data["changes_ended"])
        self._was_in_memory = bool(data["was_in_memory"])
        known_rows, read_bytes = counts_of_each(data["read_so_far"], 2)
        self._before = known_rows, read_bytes
        self._manner.load_plain(data["manner"])
        self._waits.load_plain(data["waits"])
        if self._account.free_bytes < 0:
            self._master.spill()
        if self._master.rows.ended and not self._master.is_in_memory:
            self._manner.begin()
        if self._account.free_bytes < 0:
            self._manner.fit()
        self._count()

    def interrupt(self) -> None:
        self._shell.interrupt()

    def close(self) -> None:
        self._master.close()
        super().close()

    def _results(self, bundles: Iterator[Bundle]) -> Iterator[pa.RecordBatch]:
        for bundle in bundles:
            self._shell.breathe()
            result = self._result_of(bundle)
            self._statistics.results += result.num_rows
            yield result

    def _in_scratch(self, work: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._account.borrowed(self._bench.scratch_bytes):
            yield from work

    def _count(self) -> None:
        count_whole(self._statistics, self.inputs)

    def _report(self, event: Event) -> None:
        self._count()
        self._shell.report(event)
        self._shell.report_reached(self._statistics)
