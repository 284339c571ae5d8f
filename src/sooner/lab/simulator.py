"""Runs an operator in simulated time: a trace, a device and an operator in, a history out. No wall clock.

The operator is the real one; only its disk and its clock are simulated. Rows that arrive while it is busy wait in an
input buffer without limit. When the sources are silent it does disk work, task by task, and looks at the buffer after
each (RPJ sec. 3, reactive-stage, line 14; DINER sec. 5: RPJ and HMJ look after each merge of F runs).

Rows go in by chunks, for speed. Work on a chunk overlaps with the arrival of its rows, and its results
appear evenly over that time. A chunk never reaches beyond a silence that is still to come.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.budget import Budget
from sooner.lab.device import Device, Meter
from sooner.lab.history import History, Moment
from sooner.lab.kept_runs import KeptRuns
from sooner.lab.traces import Trace, batch_of
from sooner.named_algorithms import Algorithm
from sooner.operators.events import Event
from sooner.operators.inputs import Input
from sooner.operators.operator import Means, Operator
from sooner.operators.order import equal_ranges
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import SILENT
from sooner.runs.run import HELPER_BYTES
from sooner.sides import SIDES
from sooner.trace import Entry

ROW_BYTES: Final = 4 + HELPER_BYTES  # the key of a simulated row, and what a run keeps beside it
SCHEMA: Final = pa.schema([("key", pa.int32())])
WHOLE_TASK: Final = 2**62  # bytes: a task is looked at when it is done

MakeOperator = Callable[[Sequence[Input], Means], Operator[int]]  # whose results are counts


@dataclass(frozen=True)
class Laboratory:
    """All but the trace and the algorithm."""

    device: Device
    chunk_rows: int
    unit_seconds: float = 1.0  # over how long the operator counts arrivals (RPJ sec. 4.2)
    flush_fraction: float = 0.1


def simulate(trace: Trace, algorithm: Algorithm, laboratory: Laboratory) -> History:
    """What the two-way join with this algorithm makes of this trace."""

    def two_way(inputs: Sequence[Input], means: Means) -> TwoWayJoin[int]:
        left, right = inputs
        return TwoWayJoin((left, right), trace.order(), algorithm, len, means)

    return simulate_operator(trace, two_way, laboratory)


def simulate_operator(trace: Trace, make: MakeOperator, laboratory: Laboratory) -> History:
    """What any operator makes of this trace."""
    return _Simulation(trace, make, laboratory).run()


class _Simulation:
    def __init__(self, trace: Trace, make: MakeOperator, laboratory: Laboratory) -> None:
        self._trace = trace
        self._laboratory = laboratory
        means = Means(
            Budget(laboratory.device.memory_bytes),
            flush_fraction=laboratory.flush_fraction,
            device=laboratory.device.disk,
            listener=self._listen,
        )
        coders, bounds = trace.order().coders, equal_ranges(trace.partitions)
        inputs = [Input(str(side), SCHEMA, coders[side], KeptRuns(), bounds) for side in SIDES]
        self._operator = make(inputs, means)
        self._last_rows = [int(np.flatnonzero(trace.sides == side)[-1]) for side in SIDES]
        self._taken = 0  # rows that the join has taken in
        self._clock = 0.0
        self._meter = Meter(laboratory.device)
        self._recorded: list[Entry | Moment] = []

    def run(self) -> History:
        while self._taken < len(self._trace):
            self._take_chunk()
            self._use_silences()
        while self._operator.phase != "done":
            self._work(self._operator.work(WHOLE_TASK, SILENT))
        return History.of(self._recorded, float(self._trace.seconds[-1]))

    def _take_chunk(self) -> None:
        first, end = self._taken, self._chunk_end()
        first_seconds, last_seconds = (float(self._trace.seconds[row]) for row in (first, end - 1))
        self._clock = max(self._clock, first_seconds)
        sides, keys = self._trace.sides[first:end], self._trace.keys[first:end]
        rows = [[batch_of(keys[sides == side])] for side in SIDES]
        results = self._operator.arrive(rows, last_seconds / self._laboratory.unit_seconds)
        self._work(results, taking_rows=end - first, not_over_before=last_seconds)
        for side in SIDES:
            if first <= self._last_rows[side] < end:
                self._operator.end(side)

    def _chunk_end(self) -> int:
        """After the rows that are there, and those that come before the next silence."""
        silence = self._next_silence()
        noticed = self._trace.silences.noticed_seconds[silence] if silence < len(self._trace.silences) else np.inf
        end = max(self._arrived(self._clock), self._arrived(noticed), self._taken + 1)
        return min(end, self._taken + self._laboratory.chunk_rows)

    def _use_silences(self) -> None:
        """Do disk work in the silences before the next row. The last task of each may last longer than the silence."""
        silences = self._trace.silences
        next_row = float(self._trace.seconds[self._taken]) if self._taken < len(self._trace) else 0.0
        while (silence := self._next_silence()) < len(silences):
            self._clock = max(self._clock, min(next_row, float(silences.noticed_seconds[silence])))
            if self._clock >= next_row:
                return
            while self._clock < silences.over_seconds[silence]:
                if not self._operator.has_work(SILENT):
                    return
                self._work(self._operator.work(WHOLE_TASK, SILENT))

    def _next_silence(self) -> int:
        """Which silence is now, or else the next one."""
        return int(np.searchsorted(self._trace.silences.over_seconds, self._clock, side="right"))

    def _arrived(self, seconds: float) -> int:
        """How many rows have arrived by then."""
        return int(np.searchsorted(self._trace.seconds, seconds, side="right"))

    def _work(self, results: Iterator[int], taking_rows: int = 0, not_over_before: float = 0.0) -> None:
        """Let the join do a piece of work, and the clock run meanwhile."""
        self._note()
        self._taken += taking_rows
        spent_seconds = self._meter.seconds
        for _ in results:
            pass
        self._clock = max(self._clock + (self._meter.seconds - spent_seconds), not_over_before)
        self._note()

    def _listen(self, event: Event) -> None:
        self._recorded.append(Entry(self._clock, event))
        self._meter.add(event, self._operator.phase)

    def _note(self) -> None:
        self._recorded.append(
            Moment(
                self._clock,
                self._operator.progress().results,
                self._meter.seconds,
                self._arrived(self._clock) - self._taken,
                self._operator.phase,
            )
        )
