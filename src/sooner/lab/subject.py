"""What the simulator drives: an operator that takes keys and tells what it measures.

`RealOperator` is any operator by its contract, with rows and runs, only that its disk is simulated. `CountedJoin` is
the two-way join's twin, for experiments at the size of the papers.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from sooner.lab.kept_runs import KeptRuns
from sooner.lab.traces import Keys, Trace, batch_of
from sooner.operators.events import Event
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means, Operator
from sooner.operators.ports import Doors
from sooner.phases import Phase
from sooner.policies.view import Surroundings
from sooner.runs.run import HELPER_BYTES

ROW_BYTES: Final = 4 + HELPER_BYTES  # the key of a simulated row, and what a run keeps beside it
SCHEMA: Final = pa.schema([("key", pa.int32())])
WHOLE_TASK: Final = 2**62  # bytes: a task is looked at when it is done


class Subject(Protocol):
    @property
    def phase(self) -> Phase:
        """The phase: arriving or reactive until all inputs have ended, then the clean-up, then done."""

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each input have come."""

    def end(self, which: int) -> None:
        """This input has no more rows."""

    def has_work(self, around: Surroundings) -> bool:
        """Whether there is something to do although no row is taken in."""

    def work(self, around: Surroundings) -> None:
        """The most urgent task, as far as it goes in one piece."""

    def measures(self) -> Mapping[str, float]:
        """Columns of the history: `results`, `memory_bytes`, and whatever else there is to see, always the same."""


class Rehearsing(Subject, Protocol):
    def rehearse(self, around: Surroundings) -> Event | None:
        """What the next task would report, with nothing done."""


MakeSubject = Callable[[Trace, Means], Subject]
MakeOperator = Callable[[Storage, Means], Operator[Any]]
RowsOf = Callable[[int, Keys], pa.RecordBatch]  # an input, and the keys of its rows


class RealOperator:
    def __init__(self, operator: Operator[Any], rows_of: RowsOf = lambda _, keys: batch_of(keys)) -> None:
        self._operator = operator
        self._rows_of = rows_of
        self._doors = Doors(operator, [deque() for _ in operator.inputs])
        self._ended = [False for _ in operator.inputs]
        self._now = 0.0

    @property
    def phase(self) -> Phase:
        return self._operator.phase

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        self._now = now
        for _ in self._doors.arrive([[self._rows_of(which, some)] for which, some in enumerate(keys)], now):
            pass
        self._look()

    def end(self, which: int) -> None:
        self._ended[which] = True
        self._look()

    def has_work(self, around: Surroundings) -> bool:
        return self._operator.has_work(around)

    def work(self, around: Surroundings) -> None:
        for _ in self._operator.work(WHOLE_TASK, around):
            pass
        self._look()

    def _look(self) -> None:
        for _ in self._doors.look(self._ended, self._now):
            pass

    def measures(self) -> Mapping[str, float]:
        progress = self._operator.progress()
        return {"results": progress.results, "memory_bytes": progress.resident_bytes}


def real(make: MakeOperator) -> MakeSubject:
    """An operator by its contract, on rows of one column and runs that only count as spilled."""

    def subject(trace: Trace, means: Means) -> RealOperator:
        return RealOperator(make(Storage(trace.partitions, lambda schema: KeptRuns()), means))  # noqa: ARG005

    return subject
