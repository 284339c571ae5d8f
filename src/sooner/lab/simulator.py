"""Runs a two-way join in simulated time: a trace, a device and an algorithm in, a history out. No wall clock.

The operator is the real one; only its disk and its clock are simulated. Rows that arrive while it is busy wait in an
input buffer without limit. When the sources have been silent for `silence_seconds` it does disk work, task by
task, and looks at the buffer after each (RPJ sec. 3 and 6; DINER sec. 5: RPJ and HMJ look after each merge of F runs).

Rows go in by chunks, for speed. Work on a chunk overlaps with the arrival of its rows, and its results
appear evenly over that time. A chunk never reaches beyond a silence that is still to come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.algorithms import Algorithm
from sooner.budget import Budget
from sooner.kernels.keys import KeyPlan
from sooner.lab.device import Device
from sooner.lab.history import History, Recorder
from sooner.lab.run_files import SimulatedRunFiles
from sooner.lab.traces import Trace, batch_of
from sooner.operators.arrivals import Arrivals, sort_arrivals
from sooner.operators.events import Event
from sooner.operators.two_way import TwoWayJoin
from sooner.policies.view import SIDES
from sooner.runs.run import HELPER_BYTES

ROW_BYTES: Final = 4 + HELPER_BYTES  # the key of a simulated row, and what a run keeps beside it
ROUNDING_SECONDS: Final = 1e-6  # sums of gaps are not exact; a gap must be longer than the threshold by more than this
KEYS: Final = KeyPlan(("key",), ("key",), (pa.int32(),), exact=True)


@dataclass(frozen=True)
class Laboratory:
    """All but the trace and the algorithm.

    The operator counts arrivals in units of its own: `seconds_per_unit` simulated seconds are one (RPJ sec. 4.2).
    """

    device: Device
    chunk_rows: int
    silence_seconds: float = 0.025
    seconds_per_unit: float = 1.0
    flush_fraction: float = 0.1


def simulate(trace: Trace, algorithm: Algorithm, laboratory: Laboratory) -> History:
    """The history of this algorithm on this trace."""
    return _Simulation(trace, algorithm, laboratory).run()


class _Simulation:
    def __init__(self, trace: Trace, algorithm: Algorithm, laboratory: Laboratory) -> None:
        self._trace = trace
        self._lab = laboratory
        self._code = trace.code_rows()
        self._join = TwoWayJoin(
            KEYS,
            (SimulatedRunFiles(), SimulatedRunFiles()),
            algorithm,
            Budget(laboratory.device.memory_bytes),
            trace.partitions,
            result_of=len,
            device=laboratory.device.disk,
            flush_fraction=laboratory.flush_fraction,
            listener=self._listen,
        )
        gaps = np.diff(trace.seconds, append=np.inf)
        self._silences = np.flatnonzero(gaps > laboratory.silence_seconds + ROUNDING_SECONDS)  # after these rows
        self._last_rows = [int(np.flatnonzero(trace.sides == side)[-1]) for side in SIDES]
        self._taken = 0  # rows that the join has taken in
        self._clock = 0.0
        self._work_seconds = 0.0
        self._recorder = Recorder()

    def run(self) -> History:
        while self._taken < len(self._trace):
            self._take_chunk()
            self._use_silence()
        while self._join.phase != "done":
            self._work(self._join.clean_up())
        return self._recorder.history(
            last_arrival_seconds=float(self._trace.seconds[-1]), trace_rows=len(self._trace), statistics=None
        )

    def _take_chunk(self) -> None:
        first, end = self._taken, self._chunk_end()
        begin = max(self._clock, float(self._trace.seconds[first]))
        self._clock = begin
        left, right = (self._arrivals(side, first, end) for side in SIDES)
        now = float(self._trace.seconds[end - 1]) / self._lab.seconds_per_unit
        self._taken = end
        self._work(self._join.arrive(left, right, now), not_before=float(self._trace.seconds[end - 1]))
        for side in SIDES:
            if first <= self._last_rows[side] < end:
                self._join.end(side)
