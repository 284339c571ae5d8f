"""Work on spilled rows, in quanta: memory with disk, and the rest before or at the end.

A task goes through the codes of one partition from the lowest to the highest. Between two quanta rows may arrive and
leave memory; no other task touches the partition. How far a task is belongs to the state, so it can be saved anywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from sooner.operators.events import Merged, MergingTask, Scanned
from sooner.operators.ledgers.stamps import memory_with_disk
from sooner.operators.pairs import Bundle
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import JoinRuns, MergedOutput, PartRectangle, Workbench
from sooner.operators.sweeping.sweep import START, Examined, Sweep
from sooner.operators.tasks.parts import Begun, Parts
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import SpilledRun
from sooner.sides import LEFT, SIDES, opposite


class Task(ABC):
    """Work on one partition that has begun, and what is true once it is done."""

    kind: ClassVar[str]
    is_the_policys: ClassVar[bool] = False  # it goes on as long as the react policy wants to work
    passes: ClassVar[int] = 1  # how often the bytes of a slab come from the disk or go there

    def __init__(self, state: JoinState, begun: Begun, memory_of: Sequence[int]) -> None:
        self.partition = begun.partition
        self._state = state
        self._begun = begun
        self._memory_of = memory_of  # the sides whose rows in memory meet the other side's disk
        self._sweep: Sweep | None = None
        self.worked_bytes = 0  # read and written, in this process
        self._tell_memory()

    @property
    def tick(self) -> int:
        """When it began."""
        return self._begun.tick

    @property
    def is_done(self) -> bool:
        return self._begun.cursor.code == ALL_CODES

    @property
    def covered_pairs(self) -> float:
        """About how many it has covered that the state does not know of; from any thread."""
        return 0.0

    @property
    def is_untouched(self) -> bool:
        """Whether it has done nothing, so that it can be dropped."""
        return self._begun.cursor == START and self._sweep is None

    def advance(self, quantum_bytes: int, join: JoinRuns, bench: Workbench) -> Iterator[Bundle]:
        """The pairs in the next codes, up to so many bytes."""
        begun = self._begun
        if self._sweep is None:
            if not begun.cursor.strides:
                begun.slab_bytes = bench.slab_within(quantum_bytes // self.passes)
                begun.since = self._state.ledger.left_since(self.partition, begun.runs)
            parts, order = Parts(self._state, begun, bench), (self._state.existence.reach, self._state.ledger.drives)
            what = self._rectangles(parts), self._outputs(parts), self._examined(parts)
            self._sweep = Sweep(*what, *order, begun.slab_bytes, bench, begun.cursor)
        before = self._sweep.worked_bytes
        yield from self._sweep.advance(quantum_bytes, join)
        self.worked_bytes += self._sweep.worked_bytes - before
        begun.cursor = self._sweep.cursor
        if self._sweep.is_at_its_end:
            self.pause()
        self._tell_memory()

    def let_go_of_memory(self) -> None:
        """Rows are about to arrive or to leave: what is in memory is looked at anew with the next quantum."""
        if self._memory_of:
            self.pause()

    def pause(self) -> None:
        """Hold nothing; the state is about to be saved, or rows to leave memory."""
        self._sweep = None

    def close(self) -> None:
        """It does not go on."""
        self.pause()

    @abstractmethod
    def finish(self) -> None:
        """All codes are done: the state learns what that means."""

    @abstractmethod
    def _rectangles(self, parts: Parts) -> list[PartRectangle]: ...

    def _outputs(self, parts: Parts) -> Sequence[MergedOutput]:  # noqa: ARG002 - most write nothing
        return ()

    def _examined(self, parts: Parts) -> Sequence[Examined]:  # noqa: ARG002 - most look for pairs alone
        return ()

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self._begun)}

    def _tell_memory(self) -> None:
        below = self._begun.cursor.met_memory_below
        if 0 < below < ALL_CODES:
            for side in self._memory_of:
                self._state.memory_met_disk(side, self.partition, self._begun.tick, below)

    def _read_runs(self, side: int) -> list[SpilledRun]:
        return [run for run in self._state.spilled(side, self.partition) if run.number in self._begun.runs[side]]


class Scan(Task):
    """Memory of one side with disk of the other (RPJ sec. 5.1)."""

    kind = "scan"
    is_the_policys = True

    def __init__(self, state: JoinState, begun: Begun, side: int) -> None:
        super().__init__(state, begun, (side,))
        self._side = side

    def _rectangles(self, parts: Parts) -> list[PartRectangle]:
        return memory_with_disk(self._state.ledger, self._side, parts)

    def finish(self) -> None:
        """Memory and disk have met."""
        read, tick = self._read_runs(opposite(self._side)), self._begun.tick
        self._state.memory_met_disk(self._side, self.partition, tick)
        n_bytes, numbers = sum(run.n_bytes for run in read), tuple(run.number for run in read)
        self._state.shell.report(Scanned(tick, self._side, self.partition, len(read), n_bytes, numbers))

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"side": self._side}


class Rest(Task):
    """All that has not met in one partition, although more may arrive."""

    kind: ClassVar[MergingTask] = "rest"

    def __init__(self, state: JoinState, begun: Begun, open_pairs: float) -> None:
        super().__init__(state, begun, SIDES)
        self._open_pairs = open_pairs  # on disk, at the begin
        state.ledger.whole_begins(self.partition, state.shell.tick)

    def _rectangles(self, parts: Parts) -> list[PartRectangle]:
        return self._state.ledger.open_rectangles(parts) if self._state.kind.pairs else []

    @property
    def covered_pairs(self) -> float:
        return self._done_fraction * self._state.statistics.open_pairs(self.partition)

    @property
    def _done_fraction(self) -> float:
        """As far as codes tell: hashes are everywhere alike; of others the most may lie in a small part of all."""
        sweep = self._sweep  # which another thread may be at the end of
        code = (self._begun.cursor if sweep is None else sweep.cursor).code
        bounds: list[int] = self._state.inputs[LEFT].bounds.tolist()
        low, high = [0, *bounds, ALL_CODES][self.partition : self.partition + 2]
        return min(max((code - low) / (high - low), 0.0), 1.0)

    def finish(self) -> None:
        """All that was there at the begin has met."""
        state, p, tick = self._state, self.partition, self._begun.tick
        read = [run for side in SIDES for run in self._read_runs(side)]
        state.met_as_whole(p, self._begun.runs, tick)
        state.statistics.met_as_whole(p, tick, self._open_pairs, self._begun.rows)
        n_bytes = sum(run.n_bytes for run in read)
        state.shell.report(Merged(tick, p, len(read), n_bytes, 0, (self._begun.runs,), self.kind))

    def _begin_anew(self) -> None:
        self.pause()
        self._begun = Begun.now(self._state, self.partition)
        self._open_pairs = float(self._state.statistics.unmet_on_disk[self.partition])

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"open_pairs": self._open_pairs}
