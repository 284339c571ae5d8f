"""Room in memory: rows that nobody needs go first, and then what the flush policy chooses."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sooner.errors import BudgetTooSmall
from sooner.named_algorithms import Algorithm
from sooner.operators.leaving.flushing import freed_by, spill, why_no_room
from sooner.operators.leaving.room import enough_of, flush_bytes_of
from sooner.operators.operator import Means
from sooner.operators.state.state import JoinState
from sooner.operators.sweeping.parts import Workbench
from sooner.parallel import Crew
from sooner.policies.view import JoinView, Together
from sooner.sides import LEFT, SIDES


class RoomMaker:
    """`view` is what the flush policy sees, and `let_go` tells tasks in these partitions that rows are about to leave.

    Who gave the means may have said how room is made, by `evict` of this join or of others with the same budget; by
    default the algorithm's flush policy decides.
    """

    def __init__(
        self,
        state: JoinState,
        algorithm: Algorithm,
        means: Means,
        bench: Workbench,
        crew: Crew,
        view: Callable[[], JoinView],
        let_go: Callable[[set[int]], None],
    ) -> None:
        self._state = state
        self._algorithm = algorithm
        self._flush_bytes = flush_bytes_of(algorithm, means)
        self._bench = bench
        self._crew = crew
        self._view = view
        self._let_go = let_go
        self._make_room = means.room or self.flush
        self.is_asking = False

    def reserve(self, needed_bytes: int) -> None:
        """Ask for room until so many bytes are free, and take them, before a merge of runs can."""
        account = self._state.account
        if account.free_bytes < needed_bytes:
            for p in range(self._state.n_partitions):
                self._let_useless_go(p)
        self.is_asking = True
        try:
            while account.free_bytes < needed_bytes:
                if not self._make_room(needed_bytes - account.free_bytes):
                    raise BudgetTooSmall(why_no_room(needed_bytes, account, self._algorithm))
        finally:
            self.is_asking = False
        account.reserve(needed_bytes)

    def flush(self, needed_bytes: int) -> bool:
        """Let so many bytes leave memory, or a little more, as the flush policy chooses. Whether any did."""
        goal_bytes = max(needed_bytes, self._flush_bytes)
        view = replace(self._view(), regions=self._state.seen_regions())
        chosen = self._algorithm.flush.choose(view, goal_bytes)
        return self.evict(enough_of(chosen, goal_bytes, partial(freed_by, self._state)))

    def evict(self, evictions: Together) -> bool:
        """Let these rows leave memory; between calls, or when room is asked for. Whether any did."""
        partitions = {eviction.partition for eviction in evictions}
        self._state.ledger.rows_leave(evictions, self._state.shell.tick)
        self._let_go(partitions)
        before = self._state.account.used_bytes
        for p in partitions:
            self._let_useless_go(p)
        return spill(self._state, evictions, self._bench, self._crew) or self._state.account.used_bytes < before

    def _let_useless_go(self, p: int) -> None:
        """Rows in memory that nobody needs any more."""
        if not self._state.kind.pairs:
            self._state.let_matched_go(LEFT, p)
        for side in SIDES:
            self._state.let_gone_go(side, p)
