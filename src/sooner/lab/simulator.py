"""Runs a two-way join in simulated time: a trace, a device and an algorithm in, a history out. No wall clock.

The operator is the real one; only its disk and its clock are simulated. Rows that arrive while it is busy wait in an
input buffer without limit. When both sources have been silent for `silence_seconds` it does disk work, task by
task, and looks at the buffer after each (RPJ sec. 3 and 6; DINER sec. 5: RPJ and HMJ look after each merge of F runs).

Rows go in by chunks, for speed. Work on a chunk overlaps with the arrival of its rows, and its results
appear evenly over that time. A chunk never reaches beyond a silence that is still to come.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.algorithms import Algorithm
from sooner.budget import Budget
from sooner.kernels.keys import KeyPlan
from sooner.lab.device import Device
from sooner.lab.history import History, Moment
from sooner.lab.run_files import SimulatedRunFiles
from sooner.lab.traces import Trace, batch_of
from sooner.operators.events import Event
from sooner.operators.two_way import TwoWayJoin
from sooner.policies.view import SIDES
from sooner.runs.run import HELPER_BYTES

ROW_BYTES: Final = 4 + HELPER_BYTES  # the key of a simulated row, and what a run keeps beside it
KEYS: Final = KeyPlan(("key",), ("key",), (pa.int32(),), exact=True)


@dataclass(frozen=True)
class Laboratory:
    """All but the trace and the algorithm."""

    device: Device
    chunk_rows: int
    unit_seconds: float = 1.0  # over how long the operator counts arrivals (RPJ sec. 4.2)
    flush_fraction: float = 0.1


def simulate(trace: Trace, algorithm: Algorithm, laboratory: Laboratory) -> History:
    """What this algorithm makes of this trace."""
    return _Simulation(trace, algorithm, laboratory).run()


class _Simulation:
    def __init__(self, trace: Trace, algorithm: Algorithm, laboratory: Laboratory) -> None:
        self._trace = trace
        self._lab = laboratory
        code = trace.code_rows()
        self._join: TwoWayJoin[int] = TwoWayJoin(
            KEYS,
            (code, code),
            (SimulatedRunFiles(), SimulatedRunFiles()),
            algorithm,
            Budget(laboratory.device.memory_bytes),
            trace.partitions,
            result_of=len,
            device=laboratory.device.disk,
            flush_fraction=laboratory.flush_fraction,
            listener=self._count,
        )
        self._last_rows = [int(np.flatnonzero(trace.sides == side)[-1]) for side in SIDES]
        self._taken = 0  # rows that the join has taken in
        self._clock = 0.0
        self._cost_seconds = 0.0
        self._events: Counter[str] = Counter()
        self._moments: list[Moment] = []

    def run(self) -> History:
        while self._taken < len(self._trace):
            self._take_chunk()
            self._use_silence()
        while self._join.phase != "done":
            self._work(self._join.clean_up())
        return History(tuple(self._moments), float(self._trace.seconds[-1]), self._events)

    def _take_chunk(self) -> None:
        rows = slice(self._taken, self._chunk_end())
        first_second, last_second = (float(self._trace.seconds[i]) for i in (rows.start, rows.stop - 1))
        self._clock = max(self._clock, first_second)
        sides, keys = self._trace.sides[rows], self._trace.keys[rows]
        left, right = ([batch_of(keys[sides == side])] for side in SIDES)
        results = self._join.arrive(left, right, last_second / self._lab.unit_seconds)
        self._work(results, not_done_before=last_second)
        self._taken = rows.stop
        for side in SIDES:
            if rows.start <= self._last_rows[side] < rows.stop:
                self._join.end(side)

    def _chunk_end(self) -> int:
        """Rows that are there already, and then those that come before the next silence."""
        silence = np.searchsorted(self._trace.silences.end_seconds, self._clock, side="right")
        noticed = self._trace.silences.noticed_seconds[silence : silence + 1]
        before_silence = (
            np.searchsorted(self._trace.seconds, noticed[0], side="right") if len(noticed) else len(self._trace)
        )
        end = max(self._taken + 1, self._arrived(), int(before_silence))
        return min(self._taken + self._lab.chunk_rows, end)

    def _use_silence(self) -> None:
        """Do disk work in the silences before the next row, for as long as each lasts."""
        if self._taken == len(self._trace):
            return
        next_row = float(self._trace.seconds[self._taken])
        silences = self._trace.silences
        silence = int(np.searchsorted(silences.end_seconds, self._clock, side="right"))
        while (
            self._clock < next_row
            and silence < len(silences.end_seconds)
            and silences.noticed_seconds[silence] < next_row
        ):
            self._clock = max(self._clock, float(silences.noticed_seconds[silence]))
            while self._clock < silences.end_seconds[silence]:
                task = self._join.choose_task()
                if task is None:
                    return
                self._work(self._join.perform(task))
            silence = int(np.searchsorted(silences.end_seconds, self._clock, side="right"))

    def _work(self, results: Iterator[int], not_done_before: float = 0.0) -> None:
        """Let the clock run while the join does a piece of work."""
        self._note()
        cost_before = self._cost_seconds
        for _ in results:
            pass
        self._clock = max(self._clock + self._cost_seconds - cost_before, not_done_before)
        self._note()

    def _count(self, event: Event) -> None:
        self._events[type(event).__name__] += 1
        self._cost_seconds += self._lab.device.seconds(event)

    def _note(self) -> None:
        buffered = self._arrived() - self._taken
        results, phase = self._join.statistics.results, self._join.phase
        self._moments.append(Moment(self._clock, results, self._cost_seconds, max(0, buffered), phase))

    def _arrived(self) -> int:
        return int(np.searchsorted(self._trace.seconds, self._clock, side="right"))
