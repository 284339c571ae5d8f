"""Tasks that write: runs become one, joined on the way or alone."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from sooner.operators.events import Merged, Tidied
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import MergedOutput, PartRectangle
from sooner.operators.tasks.merging import DiskTask, MergePlan
from sooner.operators.tasks.parts import Begun, Parts
from sooner.operators.tasks.task import Task
from sooner.runs.ledger import Numbers
from sooner.runs.store import Segment, SpilledRun
from sooner.sides import SIDES

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

    def _open_output(self, parts: Parts, side: int, numbers: Sequence[int]) -> MergedOutput:
        """For a new run of a side with the rows of these, or some of them."""
        store = self._state.inputs[side].store
        writer = self._files.enter_context(store.writer())
        expiry = self._state.expiry
        needed = None if expiry is None else partial(expiry.needed, side, self.partition)
        self._open_outputs[side] = MergedOutput(parts.on_disk(side, numbers), store, writer, needed)
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

    def _rectangles(self, parts: Parts) -> list[PartRectangle]:
        return parts.rectangles(self._plan.rectangles)

    def _outputs(self, parts: Parts) -> Sequence[MergedOutput]:
        """A new run for each side that has several to merge."""
        groups = enumerate(self._plan.groups)
        return [self._open_output(parts, side, group.members) for side, group in groups if len(group.members) > 1]

    def finish(self) -> None:
        """The members go up a level: as one run, if they were several."""
        self.pause()
        read = [run for side in SIDES for run in self._read_runs(side)]
        read_bytes = sum(run.n_bytes for run in read)
        for rectangle in self._plan.rectangles:
            self._state.ledger.cells[self.partition].cover(*rectangle)
        merged = [self._lift(side) for side in SIDES]
        if self.rest is not None:
            self.rest = self.rest.after(self._plan, merged, self._open_pairs)
        self._tell(len(read), read_bytes)

    def _tell(self, read_runs: int, read_bytes: int) -> None:
        tick, cells = self._begun.tick, self._plan.rectangles
        self._state.statistics.met_on_disk(self.partition, tick, self._open_pairs)
        merged = Merged(tick, self.partition, read_runs, read_bytes, self._written_bytes, cells, "merge")
        self._state.shell.report(merged)

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
        self._state.shell.report(Tidied(self._begun.tick, self.partition, read_runs, read_bytes))


class _Abandoned(Exception):  # noqa: N818 - not an error: files that are being written learn of it
    """A task does not go on."""
