"""A nested loop over runs on disk, a chunk of the outer side at a time: DINER's ReactiveNL (DINER sec. 3.4).

Runs are sorted by code, so a chunk and the runs of the inner side are joined range by range of codes, as they would be
block by block (Point 5 joins sorted blocks too). Each range is a moment at which the engine can hand over.
"""

from typing import Any

from sooner.operators.events import Looped
from sooner.operators.state.looping import Loop, next_chunk
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import PartRectangle
from sooner.operators.tasks.parts import Begun, Parts
from sooner.operators.tasks.task import Task
from sooner.policies.view import NestedLoop
from sooner.sides import LEFT, RIGHT, SIDES


class NestedLoopTask(Task):
    """One chunk; nothing is written."""

    kind = "nested loop"
    is_the_policys = True

    def __init__(self, state: JoinState, begun: Begun, loop: Loop, open_pairs: float) -> None:
        super().__init__(state, begun, memory_of=())
        self._loop = loop  # as it is when this chunk is done
        self._open_pairs = open_pairs  # that it covers

    def _rectangles(self, parts: Parts) -> list[PartRectangle]:
        return parts.rectangles(self._state.ledger.cells[self.partition].open_rectangles(*parts.runs))

    def finish(self) -> None:
        """The chunk has met the inner side."""
        state, p, tick, runs = self._state, self.partition, self._begun.tick, self._begun.runs
        state.ledger.cells[p].cover(*runs)
        state.loops[p] = self._loop
        state.statistics.met_on_disk(p, tick, self._open_pairs)
        read = [run for side in SIDES for run in self._read_runs(side)]
        n_bytes = sum(run.n_bytes for run in read)
        state.shell.report(Looped(tick, p, self._loop.outer, len(read), n_bytes, cells=(runs,)))

    def to_plain(self) -> dict[str, Any]:
        return super().to_plain() | {"loop": self._loop.to_plain(), "open_pairs": self._open_pairs}


def begin_chunk(state: JoinState, chosen: NestedLoop) -> Task | None:
    """The next chunk of the partition's loop, or of a new one; None if nothing is open on disk."""
    p = chosen.partition
    begun, unmet = Begun.now(state, p), float(state.statistics.unmet_on_disk[p])
    loop, on_disk = state.loops.get(p, Loop(chosen.outer)), (state.spilled(LEFT, p), state.spilled(RIGHT, p))
    chunk = next_chunk(*on_disk, state.ledger.cells[p], loop, chosen.max_outer_bytes)
    if chunk is None:
        state.loops.pop(p, None)
        state.statistics.met_on_disk(p, begun.tick, unmet)
        return None
    begun.runs = chunk.runs
    return NestedLoopTask(state, begun, chunk.loop, unmet * chunk.share)
