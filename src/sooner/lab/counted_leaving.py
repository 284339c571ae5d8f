"""Rows that leave the memory of a join that only counts them, chosen by its flush policy."""

from dataclasses import replace

from sooner.errors import BudgetTooSmall
from sooner.lab.counted_state import CountedState
from sooner.operators.events import Flushed
from sooner.operators.leaving.room import CLEAN_UP_BYTES, enough_of, flush_bytes_of, scratch_bytes_of
from sooner.operators.sweeping.parts import COPIES
from sooner.policies.view import Evict, EvictAll, EvictCodes, EvictUpTo, Together
from sooner.sides import SIDES


class CountedLeaving:
    def __init__(self, state: CountedState) -> None:
        self._state = state
        self._flush_bytes = flush_bytes_of(state.algorithm, state.means)

    def reserve(self, needed_bytes: int) -> None:
        algorithm, account = self._state.algorithm, self._state.account
        while account.free_bytes < needed_bytes:
            if not self._flush(needed_bytes - account.free_bytes):
                raise BudgetTooSmall(f"The memory is full and the algorithm {algorithm.name!r} does not spill.")
        account.reserve(needed_bytes)

    def make_free(self, n_bytes: int) -> None:
        """Let rows leave until so much is free, if there are enough."""
        account = self._state.account
        while account.free_bytes < min(n_bytes, account.share_bytes) and self._flush(n_bytes - account.free_bytes):
            pass

    def empty(self, p: int) -> None:
        """Let all rows of a partition leave, if there are any."""
        if self._state.statistics.resident_rows[:, p].any():
            self._evict([EvictAll(side, p) for side in SIDES])

    def _flush(self, needed_bytes: int) -> bool:
        goal_bytes, state = max(needed_bytes, self._flush_bytes), self._state
        view, regions = state.view(), state.memory.seen_regions()
        groups = state.algorithm.flush.choose(replace(view, regions=regions) if regions else view, goal_bytes)
        return self._evict(enough_of(groups, goal_bytes, self._freed_by))

    def _freed_by(self, eviction: Evict) -> int:
        state = self._state
        if isinstance(eviction, EvictCodes):
            chosen_bytes = int(state.memory.leaving([eviction])[1].sum()) * state.memory.row_bytes
            return min(chosen_bytes, eviction.at_most_bytes or chosen_bytes)
        resident_bytes = int(state.statistics.resident_bytes[eviction.input, eviction.partition])
        return min(resident_bytes, eviction.at_most_bytes) if isinstance(eviction, EvictUpTo) else resident_bytes

    def _evict(self, evictions: Together) -> bool:
        """All of them at once: rows leave memory, those of a side and partition as a new run."""
        state = self._state
        state.tick += 1
        places, leaving = state.memory.leaving(evictions)
        begin = state.log.size
        totals = state.log.append(state.memory.rows, places, leaving)
        state.account.release(int(totals[:, 1].sum()) * state.memory.row_bytes)
        sides: set[int] = set()
        whys = {(one.input, one.partition): one.why for one in reversed(evictions)}
        for place, (n_keys, n_rows) in zip(places.tolist(), totals.tolist(), strict=True):
            if n_rows:
                side, p = divmod(place, len(state.partitions))
                run = state.partitions[p].disk[side].append((begin, begin + n_keys), n_rows, n_rows * state.row_bytes)
                state.report(Flushed(state.tick, side, p, n_rows, run.n_bytes, run.number, whys[side, p]))
                sides.add(side)
                begin += n_keys
        for side in sorted(sides):
            state.memory.renew_regions(side)
        return bool(sides)

    def free_memory_for(self, p: int) -> None:
        """Let later partitions leave memory for larger slabs of this one, as the real join does."""
        account = self._state.account
        needed_bytes = min(COPIES * int(self._state.statistics.spilled_bytes[:, p].sum()), CLEAN_UP_BYTES)
        scratch_bytes = scratch_bytes_of(account)
        for later in reversed(range(p + 1, len(self._state.partitions))):
            if max(scratch_bytes, min(account.free_bytes, CLEAN_UP_BYTES)) >= needed_bytes:
                return
            self._evict([EvictAll(side, later) for side in SIDES])
