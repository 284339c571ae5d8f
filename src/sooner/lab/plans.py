"""Several operators as one: a left-deep plan of joins, each of which feeds the next (AGF sec. 3).

Input 0 and input 1 are those of the first join; input n + 1 is the right one of join n. Results of a join arrive at the
left of the next as soon as they come out. Disk work is done from the root down, since what is found there needs nobody
else; the clean-up goes from the first join up, each of which tells the next when it has no more to give.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sooner.lab.subject import WHOLE_TASK
from sooner.lab.traces import Keys, batch_of
from sooner.operators.operator import Operator
from sooner.phases import Phase
from sooner.policies.view import Surroundings
from sooner.sides import LEFT, RIGHT


class LeftDeepPlan:
    """Results of a join must have the columns of the next one's left input."""

    def __init__(self, joins: Sequence[Operator[pa.RecordBatch]]) -> None:
        self._joins = joins
        self._results = 0
        self._now = 0.0

    @property
    def phase(self) -> Phase:
        return self._joins[-1].phase

    def arrive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows of all inputs; those of the last joins go in first, so that results from below meet them."""
        batches = [[batch_of(some)] for some in keys]
        for level in reversed(range(1, len(self._joins))):
            self._pass_up(level, ([], batches[level + 1]), now)
        self._pass_up(0, (batches[LEFT], batches[RIGHT]), now)
        self._now = now

    def end(self, which: int) -> None:
        self._joins[max(which - 1, 0)].end(LEFT if which == 0 else RIGHT)

    def has_work(self, around: Surroundings) -> bool:
        return any(join.has_work(around) for join in self._joins)

    def work(self, around: Surroundings) -> None:
        """A task of one join: of the first that cleans up, or else of the last that has any."""
        levels = range(len(self._joins))
        cleaning = [level for level in levels if self._joins[level].phase == "clean-up"]
        reacting = [level for level in reversed(levels) if self._joins[level].has_work(around)]
        level = (cleaning or reacting)[0]
        found = list(self._joins[level].work(WHOLE_TASK, around))
        self._take(level, found, self._now)
        if self._joins[level].phase == "done" and level + 1 < len(self._joins):
            self._joins[level + 1].end(LEFT)

    def measures(self) -> Mapping[str, float]:
        return {"results": self._results, "memory_bytes": sum(join.budget.used_bytes for join in self._joins)}

    def _pass_up(self, level: int, batches: tuple[list[pa.RecordBatch], list[pa.RecordBatch]], now: float) -> None:
        self._take(level, list(self._joins[level].arrive(batches, now)), now)

    def _take(self, level: int, found: list[pa.RecordBatch], now: float) -> None:
        """What a join has found arrives at the next, or comes out."""
        if level + 1 == len(self._joins):
            self._results += sum(batch.num_rows for batch in found)
        elif found:
            self._pass_up(level + 1, (found, []), now)
