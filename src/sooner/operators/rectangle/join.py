"""The join of growing rectangles (PR-Join sec. 4; block ripple join, GRACE and others as rules over it).

It begins as any two-way join, in memory. Once memory was full, rows that arrive are stored and meet nothing. Partitions
are then joined as wholes, memory and disk, when the react policy says so, and at the end. So what has met of one is a
rectangle of the rows that came first, of both sides: if they come in random order, a sample of the join.

Everything else is the two-way join's: runs, flushes, tasks in quanta, rows that come out by themselves, forgetting.
"""

from typing import Any, TypeVar

from sooner.operators.rectangle import invariants
from sooner.operators.rectangle.state import RectangleState
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import Together

R = TypeVar("R")


class RectangleJoin(TwoWayJoin[R]):
    new_state = RectangleState
    _state: RectangleState

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self._algorithm.waits == "always":
            self._state.begin_waiting()

    def evict(self, evictions: Together) -> bool:
        """Let these rows leave memory. From then on rows that arrive wait."""
        if not self._state.rows_wait:
            self._state.begin_waiting()
        return super().evict(evictions)

    def check_invariants(self) -> None:
        """Raise an AssertionError if the state is not what it must be between calls."""
        super().check_invariants()
        invariants.check(self._state)
