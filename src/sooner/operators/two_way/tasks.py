"""Work on spilled rows, in quanta: memory with disk, disk with disk, the rest before or at the end, and merging alone.

A task goes through the codes of one partition from the lowest to the highest. Between two quanta rows may arrive and
leave memory; no other task touches the partition. How far a task is belongs to the state, so it can be saved anywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Final

from sooner.operators.events import Merged, MergingTask, Scanned, Tidied
from sooner.operators.two_way.covering import (
    START,
    Cursor,
    Drives,
    Examined,
    InMemory,
    JoinRuns,
    MergedOutput,
    OnDisk,
    Part,
    PartRectangle,
    Sweep,
    Workbench,
)
from sooner.operators.two_way.examining import Rows
from sooner.operators.two_way.merging import DiskTask, MergePlan
from sooner.operators.two_way.pairs import Bundle
from sooner.operators.two_way.state import JoinState, Numbers
from sooner.runs.ledger import Rectangle
from sooner.runs.run import NEVER, merge, next_tick
from sooner.runs.slabs import ALL_CODES
from sooner.runs.store import Segment, SpilledRun
from sooner.sides import LEFT, RIGHT, SIDES, opposite


@dataclass
class Begun:
    """A task as far as it is: which runs were there when it began, at which tick, and where it is."""

    partition: int
    tick: int
    rows: int  # that had arrived in the partition
    runs: tuple[Numbers, Numbers]
    since: tuple[Numbers, Numbers] = ((), ())  # what has left memory after it began, if it has to be looked for
    slab_bytes: int = 0  # as large as a quantum allows; the steps of a code are counted by it, and it stays until then
    cursor: Cursor = START

    @staticmethod
    def now(state: JoinState, partition: int) -> "Begun":
        state.tick = next_tick(state.tick)
        rows = int(state.statistics.arrived_rows[:, partition].sum())
        return Begun(partition, state.tick, rows, state.run_numbers(partition))

    @staticmethod
    def from_plain(data: dict[str, Any]) -> "Begun":
        runs, since = ((tuple(left), tuple(right)) for left, right in (data["runs"], data["since"]))
        place = data["slab_bytes"], Cursor(*data["cursor"])
        return Begun(data["partition"], data["tick"], data["rows"], runs, since, *place)

    def reads(self, side: int) -> Numbers:
        """The runs of a side that it reads."""
        return self.runs[side] + self.since[side]


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
        self._parts: dict[tuple[int, int], list[OnDisk]] = {}
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
    def is_untouched(self) -> bool:
        """Whether it has done nothing, so that it can be dropped."""
        return self._begun.cursor == START and self._sweep is None

    def advance(self, quantum_bytes: int, join: JoinRuns, bench: Workbench) -> Iterator[Bundle]:
        """The pairs in the next codes, up to so many bytes."""
        begun = self._begun
        if self._sweep is None:
            if not begun.cursor.steps:
                begun.slab_bytes = bench.slab_within(quantum_bytes // self.passes)
                begun.since = self._state.left_since(self.partition, begun.runs)
            what = self._rectangles(bench), self._outputs(), self._examined(), self._state.existence.reach
            drives: Drives = "memory" if self._state.is_stamped else "left"
            self._sweep = Sweep(*what, drives, begun.slab_bytes, bench, begun.cursor)
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
        self._parts.clear()

    def close(self) -> None:
        """It does not go on."""
        self.pause()

    @abstractmethod
    def finish(self) -> None:
        """All codes are done: the state learns what that means."""

    @abstractmethod
    def _rectangles(self, bench: Workbench) -> list[PartRectangle]: ...

    def _outputs(self) -> Sequence[MergedOutput]:
        return ()

    def _examined(self) -> Sequence[Examined]:
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

    def _on_disk(self, side: int, numbers: Sequence[int]) -> list[OnDisk]:
        """These runs, in this order. Who asks for one again gets the same parts: nothing is read twice."""
        missing = {*numbers} - {number for of_side, number in self._parts if of_side == side}
        store = self._state.inputs[side].store
        for run in self._state.spilled(side, self.partition) if missing else ():
            if run.number in missing:
                self._parts[side, run.number] = [OnDisk(store, segment) for segment in run.segments]
        return [part for number in numbers for part in self._parts[side, number]]

    def _rows(self, side: int) -> Rows:
        """All there are in the partition, wherever they are by now."""
        state, p, numbers = self._state, self.partition, self._begun.runs[side]
        since = [run.number for run in state.spilled(side, p) if run.number not in numbers]
        in_memory = [InMemory(run) for run in state.inputs[side].partitions[p].resident]
        return Rows(self._on_disk(side, numbers), in_memory, self._on_disk(side, since))

    def _disk_rectangles(self, rectangles: Sequence[Rectangle]) -> list[PartRectangle]:
        return [(self._on_disk(LEFT, left), self._on_disk(RIGHT, right)) for left, right in rectangles]

    def _memory_rectangle(self, side: int, bench: Workbench) -> list[PartRectangle]:
        """What is in memory of one side, has not met the disk of the other since it came, and was there at the begin.

        Only such rows can find anything: what left memory before the last memory-disk task they met then, what left
        later they met in memory (RPJ's Lemma 2).
        """
        memory = self._in_memory(side, bench, self._state.met_disk[side][self.partition])
        disk = self._on_disk(opposite(side), self._begun.runs[opposite(side)])
        if not memory or not disk:
            return []
        return [(memory, disk) if side == LEFT else (disk, memory)]

    def _in_memory(self, side: int, bench: Workbench, after: int = NEVER) -> Sequence[Part]:
        """What is in memory of one side, came after a tick, and was there at the begin."""
        resident = self._state.inputs[side].partitions[self.partition].resident
        runs = [run for run in resident if run.newest > after]
        if len(runs) > 1 and sum(run.n_bytes for run in runs) <= bench.merge_bytes:  # then every slab looks at one run
            runs = [merge(runs)]
        return [InMemory(run, after, self._begun.tick) for run in runs]


class Scan(Task):
    """Memory of one side with disk of the other (RPJ sec. 5.1)."""

    kind = "scan"
    is_the_policys = True

    def __init__(self, state: JoinState, begun: Begun, side: int) -> None:
        super().__init__(state, begun, (side,))
        self._side = side

    def _rectangles(self, bench: Workbench) -> list[PartRectangle]:
        return self._memory_rectangle(self._side, bench)

    def finish(self) -> None:
        """Memory and disk have met."""
        read, tick = self._read_runs(opposite(self._side)), self._begun.tick
        self._state.memory_met_disk(self._side, self.partition, tick)
        n_bytes, numbers = sum(run.n_bytes for run in read), tuple(run.number for run in read)
        self._state.report(Scanned(tick, self._side, self.partition, len(read), n_bytes, numbers))

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"side": self._side}


class Rest(Task):
    """All that has not met in one partition, although more may arrive."""

    kind: ClassVar[MergingTask] = "rest"

    def __init__(self, state: JoinState, begun: Begun, open_pairs: float) -> None:
        super().__init__(state, begun, SIDES)
        self._open_pairs = open_pairs  # on disk, at the begin
        state.whole_begins(self.partition)

    def _rectangles(self, bench: Workbench) -> list[PartRectangle]:
        if not self._state.kind.pairs:
            return []
        if not self._state.is_stamped:
            return self._whole(bench) if self._state.is_open(self.partition) else []
        open_cells = self._state.cells[self.partition].open_rectangles(*self._begun.runs)
        in_memory = [rectangle for side in SIDES for rectangle in self._memory_rectangle(side, bench)]
        return self._disk_rectangles(open_cells) + in_memory

    def _whole(self, bench: Workbench) -> list[PartRectangle]:
        """All rows with all, in memory too, but for runs that have met: each run is read once and merged once."""
        cells = self._state.cells[self.partition]
        groups = cells.alike(*map(self._begun.reads, SIDES))
        disk: list[list[Sequence[Part]]] = [[self._on_disk(side, group) for group in groups[side]] for side in SIDES]
        memory = [[self._in_memory(side, bench)] for side in SIDES]
        on_disk = [
            (disk[LEFT][i], disk[RIGHT][j])
            for i, lefts in enumerate(groups[LEFT])
            for j, rights in enumerate(groups[RIGHT])
            if not cells.have_met(lefts, rights)
        ]
        in_memory = [*product(memory[LEFT], disk[RIGHT] + memory[RIGHT]), *product(disk[LEFT], memory[RIGHT])]
        return on_disk + [(left, right) for left, right in in_memory if left and right]

    def finish(self) -> None:
        """All that was there at the begin has met."""
        state, p, tick = self._state, self.partition, self._begun.tick
        read = [run for side in SIDES for run in self._read_runs(side)]
        state.met_as_whole(p, self._begun.runs, tick)
        state.statistics.met_as_whole(p, tick, self._open_pairs, self._begun.rows)
        n_bytes = sum(run.n_bytes for run in read)
        state.report(Merged(tick, p, len(read), n_bytes, 0, (self._begun.runs,), self.kind))

    def _begin_anew(self) -> None:
        self.pause()
        self._begun = Begun.now(self._state, self.partition)
        self._open_pairs = float(self._state.statistics.unmet_on_disk[self.partition])

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"open_pairs": self._open_pairs}


NOTHING_WRITTEN: Final[Sequence[Sequence[Segment]]] = ((), ())


class Writing(Task):
    """A task that writes runs on its way, and covers so many pairs that are open on disk."""

    looks_at: ClassVar[Sequence[int]] = ()  # the sides of which it needs what is in memory
    is_the_policys = True
    passes = 2

    def __init__(
        self,
        state: JoinState,
        begun: Begun,
        open_pairs: float,
        written: Sequence[Sequence[Segment]] = NOTHING_WRITTEN,
    ) -> None:
        super().__init__(state, begun, self.looks_at)
        self._open_pairs = open_pairs
        self._written = [list(segments) for segments in written]
        self._open_outputs: dict[int, MergedOutput] = {}
        self._files = ExitStack()

    def _open_output(self, side: int, numbers: Sequence[int]) -> MergedOutput:
        """For a new run of a side with the rows of these, or some of them."""
        store = self._state.inputs[side].store
        writer = self._files.enter_context(store.writer())
        expiry = self._state.expiry
        needed = None if expiry is None else partial(expiry.needed, side, self.partition)
        self._open_outputs[side] = MergedOutput(self._on_disk(side, numbers), store, writer, needed)
        return self._open_outputs[side]

    def pause(self) -> None:
        """What is written so far is a segment of the run to be."""
        super().pause()
        segments = {side: output.writer.end_segment() for side, output in self._open_outputs.items()}
        self._open_outputs = {}
        self._files.close()
        for side, segment in segments.items():
            if segment.n_rows:
                self._written[side].append(segment)
            else:
                self._state.inputs[side].store.remove(segment)

    def close(self) -> None:
        """What is written was in vain."""
        self._open_outputs = {}
        with suppress(_Abandoned), self._files:
            raise _Abandoned
        super().close()

    def _become_one(self, side: int, members: Numbers, level: int) -> int:
        """These runs are what was written, with a new number; there may be nothing left of them."""
        number = self._state.inputs[side].partitions[self.partition].new_number()
        runs = [run for run in self._state.spilled(side, self.partition) if run.number in members]
        newest = max((run.newest for run in runs if run.newest is not None), default=None)
        written = tuple(self._written[side])
        merged = SpilledRun(number, level, written, newest) if written else None
        self._state.replace_spilled(side, self.partition, members, merged)
        rows_left_out = sum(run.n_rows for run in runs) - sum(segment.n_rows for segment in written)
        self._state.statistics.forgotten_rows[side, self.partition] += rows_left_out
        return number

    @property
    def _written_bytes(self) -> int:
        return sum(part.n_bytes for segments in self._written for part in segments)

    def to_plain(self) -> dict[str, Any]:
        written = [[segment.to_plain() for segment in segments] for segments in self._written]
        return super().to_plain() | {"open_pairs": self._open_pairs, "written": written}


class Merge(Writing):
    """Runs become one run a side, joined on the way (PSMJ, RPJ sec. 5.2): one merge of a disk-disk task."""

    kind = "merge"

    def __init__(
        self,
        state: JoinState,
        begun: Begun,
        plan: MergePlan,
        open_pairs: float,
        written: Sequence[Sequence[Segment]] = NOTHING_WRITTEN,
        task: DiskTask | None = None,
    ) -> None:
        super().__init__(state, begun, open_pairs, written)
        self._plan = plan
        self.rest = task  # of the disk-disk task that it is part of; as it was before it, until it is done

    def _rectangles(self, bench: Workbench) -> list[PartRectangle]:  # noqa: ARG002 - memory has no part in it
        return self._disk_rectangles(self._plan.rectangles)

    def _outputs(self) -> Sequence[MergedOutput]:
        """A new run for each side that has several to merge."""
        groups = enumerate(self._plan.groups)
        return [self._open_output(side, group.members) for side, group in groups if len(group.members) > 1]

    def finish(self) -> None:
        """The members go up a level: as one run, if they were several."""
        self.pause()
        read = [run for side in SIDES for run in self._read_runs(side)]
        read_bytes = sum(run.n_bytes for run in read)
        for rectangle in self._plan.rectangles:
            self._state.cells[self.partition].cover(*rectangle)
        merged = [self._lift(side) for side in SIDES]
        if self.rest is not None:
            self.rest = self.rest.after(self._plan, merged, self._open_pairs)
        self._tell(len(read), read_bytes)

    def _tell(self, read_runs: int, read_bytes: int) -> None:
        tick, written_bytes = self._begun.tick, self._written_bytes
        self._state.statistics.met_on_disk(self.partition, tick, self._open_pairs)
        cells = self._plan.rectangles
        self._state.report(Merged(tick, self.partition, read_runs, read_bytes, written_bytes, cells, "merge"))

    def _lift(self, side: int) -> int | None:
        """Gives the number of the run that was made, if one was."""
        members, level = self._plan.groups[side].members, self._plan.levels[side]
        if len(members) > 1:
            return self._become_one(side, members, level)
        spilled = self._state.spilled(side, self.partition)
        lifted = [replace(run, level=level) if run.number in members else run for run in spilled]
        self._state.set_spilled(side, self.partition, lifted)
        return None

    def to_plain(self) -> dict[str, Any]:
        task = None if self.rest is None else self.rest.to_plain()
        return super().to_plain() | {"plan": self._plan.to_plain(), "task": task}


class Tidying(Merge):
    """Runs that are alike become one, with nothing joined."""

    kind = "tidying"
    is_the_policys = False

    def _tell(self, read_runs: int, read_bytes: int) -> None:
        self._state.report(Tidied(self._begun.tick, self.partition, read_runs, read_bytes))


class _Abandoned(Exception):  # noqa: N818 - not an error: files that are being written learn of it
    """A task does not go on."""
