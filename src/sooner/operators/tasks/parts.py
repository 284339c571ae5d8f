"""A task as far as it is, and the rows of its partition as it sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sooner.operators.deciding.examining import Rows
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import InMemory, OnDisk, PartRectangle, Workbench
from sooner.operators.sweeping.sweep import START, Cursor
from sooner.runs.ledger import Rectangle
from sooner.runs.run import NEVER, merge
from sooner.sides import LEFT, RIGHT


@dataclass
class Begun:
    """A task as far as it is: which runs were there when it began, at which tick, and where it is."""

    partition: int
    tick: int
    rows: int  # that had arrived in the partition
    runs: Rectangle
    since: Rectangle = ((), ())  # what has left memory after it began, if it has to be looked for
    slab_bytes: int = 0  # as large as a quantum allows; strides of a code are counted by it, and it stays until then
    cursor: Cursor = START

    @staticmethod
    def now(state: JoinState, partition: int) -> "Begun":
        state.shell.advance()
        rows = int(state.statistics.arrived_rows[:, partition].sum())
        return Begun(partition, state.shell.tick, rows, state.run_numbers(partition))

    @staticmethod
    def from_plain(data: dict[str, Any]) -> "Begun":
        runs, since = ((tuple(left), tuple(right)) for left, right in (data["runs"], data["since"]))
        place = data["slab_bytes"], Cursor(*data["cursor"])
        return Begun(data["partition"], data["tick"], data["rows"], runs, since, *place)


class Parts:
    """Until the task pauses: what is read of a run is read once, and what is in memory stays there."""

    def __init__(self, state: JoinState, begun: Begun, bench: Workbench) -> None:
        self._state = state
        self._begun = begun
        self._bench = bench
        self._on_disk: dict[tuple[int, int], list[OnDisk]] = {}

    @property
    def partition(self) -> int:
        return self._begun.partition

    @property
    def runs(self) -> Rectangle:
        return self._begun.runs

    @property
    def since(self) -> Rectangle:
        return self._begun.since

    def on_disk(self, side: int, numbers: Sequence[int]) -> list[OnDisk]:
        """These runs, in this order. Who asks for one again gets the same parts: nothing is read twice."""
        missing = {*numbers} - {number for of_side, number in self._on_disk if of_side == side}
        store = self._state.inputs[side].store
        for run in self._state.spilled(side, self.partition) if missing else ():
            if run.number in missing:
                self._on_disk[side, run.number] = [OnDisk(store, segment) for segment in run.segments]
        return [part for number in numbers for part in self._on_disk[side, number]]

    def in_memory(self, side: int, after: int = NEVER) -> list[InMemory]:
        """What is in memory of one side, came after a tick, and was there at the begin."""
        resident = self._state.inputs[side].partitions[self.partition].resident
        runs = [run for run in resident if run.newest > after]
        if len(runs) > 1 and sum(run.n_bytes for run in runs) <= self._bench.merge_bytes:
            runs = [merge(runs)]  # then every slab looks at one run
        return [InMemory(run, after, self._begun.tick) for run in runs]

    def rows(self, side: int) -> Rows:
        """All there are in the partition, wherever they are by now."""
        state, p, numbers = self._state, self.partition, self.runs[side]
        since = [run.number for run in state.spilled(side, p) if run.number not in numbers]
        in_memory = [InMemory(run) for run in state.inputs[side].partitions[p].resident]
        return Rows(self.on_disk(side, numbers), in_memory, self.on_disk(side, since))

    def rectangles(self, cells: Sequence[Rectangle]) -> list[PartRectangle]:
        """These runs on disk."""
        return [(self.on_disk(LEFT, left), self.on_disk(RIGHT, right)) for left, right in cells]
