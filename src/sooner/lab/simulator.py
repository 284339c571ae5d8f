"""Runs an operator in simulated time: a trace, a machine and an operator in, a history out. No wall clock.

Rows that arrive while it is busy wait in the input buffer. When the sources are silent it does disk work, task by task.
What becomes of a task when a row comes in its middle is a setting:

- it *finishes*, and rows wait (RPJ sec. 3, reactive-stage, line 14; DINER sec. 5: RPJ and HMJ look after each merge);
- it *gives way* after a block, and goes on in the next silence before any other begins (DINER's ReactiveNL, sec. 3.4).
  What it finds is fixed when it begins, for rows that come later are not its business; it comes out as time is paid.
  A react policy that lets a few rows wait is asked after each block;
- it is *abandoned*: the time is lost, and nothing was done.

Rows go in by chunks, for speed. Work on a chunk overlaps with the arrival of its rows, and its results
appear evenly over that time. A chunk never reaches beyond a silence that is still to come.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from sooner.budget import Budget
from sooner.errors import InvalidCall
from sooner.lab.counted_join import CountedJoin
from sooner.lab.counted_state import AS_BUILT, CountedState, Variant
from sooner.lab.feed import Feed, Reading, Scan
from sooner.lab.history import History, Recorder
from sooner.lab.resources import Machine, Meter, Work
from sooner.lab.subject import ROW_BYTES, SCHEMA, MakeOperator, MakeSubject, Rehearsing, real
from sooner.lab.traces import Trace
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event, Inside, Reached
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.pairs import Bundle
from sooner.operators.two_way.join import TwoWayJoin
from sooner.operators.two_way.making import two_way_join
from sooner.operators.two_way.plan import INPUTS
from sooner.policies.view import SILENT, Surroundings

Rows = Literal["counted", "real"]
TaskManner = Literal["finishes", "gives way", "is abandoned"]  # when a row comes


@dataclass(frozen=True)
class Laboratory:
    """All but the trace and the algorithm."""

    machine: Machine
    chunk_rows: int
    unit_seconds: float = 1.0  # over how long the operator counts arrivals (RPJ sec. 4.2)
    flush_fraction: float = 0.1
    a_task: TaskManner = "finishes"
    variant: Variant = AS_BUILT  # of counted rows
    scans: tuple[Scan, ...] = ()
    reading: Reading = "together"  # of the scans


def simulate(
    trace: Trace, algorithm: Algorithm, laboratory: Laboratory, rows: Rows = "counted", row_bytes: int = ROW_BYTES
) -> History:
    """What the two-way join with this algorithm makes of this trace; counted rows may weigh whatever they are to."""

    def counted(trace: Trace, means: Means) -> CountedJoin:
        state = CountedState(trace.domain, trace.partitions, row_bytes, algorithm, means, laboratory.variant)
        return CountedJoin(state, tells_reached=False)

    def two_way(storage: Storage, means: Means) -> TwoWayJoin[int]:
        left, right = storage.inputs(trace.order(), INPUTS, (SCHEMA, SCHEMA))
        return two_way_join((left, right), trace.order(), algorithm, _size, means)

    return simulate_subject(trace, counted if rows == "counted" else real(two_way), laboratory)


def simulate_operator(trace: Trace, make: MakeOperator, laboratory: Laboratory) -> History:
    """What any operator makes of this trace."""
    return simulate_subject(trace, real(make), laboratory)


def simulate_subject(trace: Trace, make: MakeSubject, laboratory: Laboratory) -> History:
    return _Simulation(trace, make, laboratory).run()


def _size(bundle: Bundle) -> int:
    return sum(map(len, bundle))


@dataclass
class _Debt:
    """A task that has given way: what of it is still to come out."""

    results: float
    cost_seconds: Mapping[str, float]  # by resource
    seconds: float
    unpaid_seconds: float

    @property
    def share(self) -> float:
        return self.unpaid_seconds / self.seconds if self.seconds else 0.0


class _Simulation:
    def __init__(self, trace: Trace, make: MakeSubject, laboratory: Laboratory) -> None:
        machine = laboratory.machine
        self._trace = trace
        self._laboratory = laboratory
        self._feed = Feed(trace, laboratory.scans, laboratory.chunk_rows, laboratory.reading)
        means = Means(
            Budget(machine.memory_bytes - machine.buffer_bytes).account("the operator"),
            flush_fraction=laboratory.flush_fraction,
            device=machine.disk.costs,
            listener=self._listen,
            expected_rows=self._feed.expected_rows,
        )
        self._meter = Meter(machine, (scan.device.name for scan in laboratory.scans))
        self._recorder = Recorder(trace.seconds)
        self._subject = make(trace, means)
        if laboratory.a_task == "is abandoned" and not hasattr(self._subject, "rehearse"):
            raise InvalidCall("Tasks are abandoned only of operators that can rehearse them; simulate counted rows.")
        self._clock = 0.0
        self._noted = -1.0  # when the last moment was
        self._debt = _Debt(0, {}, 0, 0)

    def run(self) -> History:
        last_arrival = float(self._trace.seconds[-1]) if len(self._trace) else 0.0
        while not self._feed.is_over:
            self._take_chunk()
            last_arrival = max(last_arrival, self._clock) if self._laboratory.scans else last_arrival
            if self._subject.has_work(around := self._feed.around(self._clock, silent=False)):
                self._do_task(around, math.inf)
            self._use_silences()
        self._pay(math.inf)
        while self._subject.phase != "done":
            self._do_task(SILENT, math.inf)
        buffer_bytes = self._laboratory.machine.buffer_bytes
        return self._recorder.history(last_arrival, buffer_bytes // ROW_BYTES if buffer_bytes else None)

    def _take_chunk(self) -> None:
        chunk = self._feed.take(self._clock)
        if chunk.pushed:
            self._clock = max(self._clock, chunk.first_seconds)
        self._note_begin()
        self._subject.arrive(chunk.keys, max(self._clock, chunk.last_seconds) / self._laboratory.unit_seconds)
        self._pass(self._meter.spend(chunk.reading), not_over_before=chunk.last_seconds)
        for which in chunk.ended:
            self._subject.end(which)

    def _use_silences(self) -> None:
        """Do disk work in the silences before the next row."""
        silences, next_row = self._trace.silences, self._feed.next_row_seconds()
        if next_row is None or self._feed.is_pulled:
            return
        while (silence := silences.at_or_after(self._clock)) < len(silences):
            noticed, over = silences.edges[silence]
            self._clock = max(self._clock, min(next_row, noticed))
            if self._clock >= next_row:
                return
            while self._clock < over:
                if self._debt.unpaid_seconds:
                    self._pay(over)
                elif self._subject.has_work(SILENT):
                    self._do_task(SILENT, over)
                else:
                    self._clock = next_row
                    return
            self._let_rows_wait()

    def _let_rows_wait(self) -> None:
        """Rows have come in the middle of disk work: it goes on, block by block, as long as the policy wants that."""
        while self._subject.has_work(around := self._feed.around(self._clock, silent=False, after_silence=True)):
            if self._debt.unpaid_seconds:
                self._pay(self._clock)
            else:
                self._do_task(around, self._clock)

    def _do_task(self, around: Surroundings, until: float) -> None:
        """A task; rows are expected to come at `until`."""
        if self._laboratory.a_task == "is abandoned" and self._is_too_long(around, until):
            return
        self._note_begin()
        if self._laboratory.a_task != "gives way" or math.isinf(until):
            self._subject.work(around)
            self._pass(self._meter.spend())
            return
        results, cost = self._subject.measures()["results"], dict(self._meter.seconds)
        self._subject.work(around)
        seconds = self._meter.spend()
        gained = self._subject.measures()["results"] - results
        spent = {resource: all_of_it - cost[resource] for resource, all_of_it in self._meter.seconds.items()}
        self._debt = _Debt(gained, spent, seconds, seconds)
        self._pay(until)

    def _pay(self, until: float) -> None:
        """Go on with a task that has given way, up to the end of a block."""
        disk, debt = self._laboratory.machine.disk, self._debt
        block_seconds = disk.seek_seconds + disk.read_seconds
        self._note_begin()
        blocks = math.ceil((until - self._clock) / block_seconds) if math.isfinite(until) else math.inf
        paid_seconds = min(debt.unpaid_seconds, max(blocks, 1) * block_seconds)
        debt.unpaid_seconds -= paid_seconds
        self._pass(paid_seconds)

    def _is_too_long(self, around: Surroundings, until: float) -> bool:
        """Whether the next task would not be done by then; if so, the time is lost."""
        event = cast(Rehearsing, self._subject).rehearse(around)
        work: Work = [] if event is None else self._meter.work_of(event, self._subject.phase)
        seconds, left_seconds = sum(part for _, part in work), until - self._clock
        if seconds <= left_seconds:
            return False
        self._note_begin()
        self._pass(max(self._meter.spend([(one, part * left_seconds / seconds) for one, part in work]), left_seconds))
        return True

    def _pass(self, seconds: float, not_over_before: float = 0.0) -> None:
        self._clock = max(self._clock + seconds, not_over_before)
        self._note()

    def _listen(self, event: Event) -> None:
        own = event.event if isinstance(event, Inside) else event
        if not isinstance(own, Reached):  # that is no work, and what was reached is measured
            self._recorder.listen(own)
            self._meter.add(event, self._subject.phase)

    def _note_begin(self) -> None:
        """Something begins; if the clock has not moved since, all is as it was noted."""
        if self._clock != self._noted:
            self._note()

    def _note(self) -> None:
        self._noted = self._clock
        measured: Mapping[str, float] = self._subject.measures()
        cost = self._meter.seconds
        if self._debt.unpaid_seconds:
            unpaid, owed = self._debt.share, self._debt.cost_seconds
            measured = {**measured, "results": measured["results"] - unpaid * self._debt.results}
            cost = {resource: seconds - unpaid * owed[resource] for resource, seconds in cost.items()}
        self._recorder.note(self._subject.phase, self._clock, measured, self._feed.taken, cost)
