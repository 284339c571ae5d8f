"""The join of growing rectangles (PR-Join sec. 4; block ripple join, GRACE and others as rules over it).

It begins as any two-way join, in memory. Once memory was full, rows that arrive are stored and meet nothing. Partitions
are then joined as wholes, memory and disk, when the react policy says so, and at the end. So what has met of one is a
rectangle of the rows that came first, of both sides: if they come in random order, a sample of the join.

Everything else is the two-way join's: runs, flushes, tasks in quanta, rows that come out by themselves, forgetting.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from sooner.operators.rectangle import invariants
from sooner.operators.rectangle.state import RectangleState
from sooner.operators.two_way.evening_out import can_be_evened_out, even_out
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import BUSY, JoinView, Surroundings, Together
from sooner.sides import RIGHT

R = TypeVar("R")


class RectangleJoin(TwoWayJoin[R]):
    new_state = RectangleState
    _state: RectangleState

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self._algorithm.waits == "always":
            self._state.begin_waiting()

    def view(self, around: Surroundings = BUSY) -> JoinView:
        return replace(super().view(around), full_since=self._state.full_since)

    def evict(self, evictions: Together) -> bool:
        """Let these rows leave memory. From then on rows that arrive wait."""
        state = self._state
        if not state.rows_wait:
            state.begin_waiting(keeps_rights=self._algorithm.waits == "once memory was full, of the right")
        for eviction in evictions:
            if eviction.side == RIGHT and eviction.after is None:
                state.first_rights_leave(eviction.partition)
        return super().evict(evictions)

    def check_invariants(self) -> None:
        """Raise an AssertionError if the state is not what it must be between calls."""
        super().check_invariants()
        invariants.check(self._state)

    def _arrive(self, batches: Sequence[Sequence[pa.RecordBatch]], now: float) -> Iterator[R]:
        yield from super()._arrive(batches, now)
        if self._algorithm.partitions == "from the first rows" and can_be_evened_out(self._state):
            even_out(self._state)
