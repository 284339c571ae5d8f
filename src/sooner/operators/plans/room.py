"""Room in a budget that joins share: a policy chooses whose rows leave memory."""

from functools import partial
from typing import Protocol

from sooner.operators.operator import MakeRoom
from sooner.operators.plans.passage import Passage
from sooner.policies.view import BUSY, RoomPolicy, Surroundings, Together, View


class Member(Protocol):
    """A join in the middle of a call lets none of its rows go, unless it is the one that asks for room."""

    def view(self, around: Surroundings) -> View: ...

    def evict(self, evictions: Together) -> bool: ...


class SharedRoom:
    """So many bytes leave memory at least when it is full. Where nobody can let any go, there is the passage."""

    def __init__(self, policy: RoomPolicy, flush_bytes: int = 0, passage: Passage | None = None) -> None:
        self._policy = policy
        self._flush_bytes = flush_bytes
        self._passage = passage
        self.members: dict[str, Member] = {}

    def made_for(self, name: str) -> MakeRoom:
        """How this member asks for room."""
        return partial(self._make, name)

    def _make(self, asking: str, needed_bytes: int) -> bool:
        return self.let_go(asking, needed_bytes) or (self._passage is not None and self._passage.give())

    def let_go(self, asking: str, needed_bytes: int) -> bool:
        """Rows leave memory for this member. Whether any did."""
        views = {name: member.view(BUSY) for name, member in self.members.items()}
        return any(map(self._evict, self._policy.choose(views, asking, max(needed_bytes, self._flush_bytes))))

    def _evict(self, evictions: Together) -> bool:
        whose = sorted({eviction.operator for eviction in evictions})
        went = [self.members[one].evict([some for some in evictions if some.operator == one]) for one in whose]
        return any(went)
