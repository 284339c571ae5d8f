"""Rows that arrive at a join that only counts them: what they meet at once, and which of them are kept."""

from collections.abc import Sequence

import numpy as np

from sooner.kernels.array_types import Flags
from sooner.lab.counted_leaving import CountedLeaving
from sooner.lab.counted_state import CountedState
from sooner.lab.traces import Keys
from sooner.operators.events import Arrived
from sooner.policies.view import Counts
from sooner.sides import LEFT, RIGHT, SIDES


class CountedReception:
    def __init__(self, state: CountedState, leaving: CountedLeaving) -> None:
        self._state = state
        self._leaving = leaving
        self._all = np.ones((len(SIDES), len(state.partitions)), np.bool_)

    def receive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side meet what is in memory, and are in memory from then on."""
        state, statistics, rows = self._state, self._state.statistics, (len(keys[LEFT]), len(keys[RIGHT]))
        are_kept = self._all
        if any(state.ended):
            self._make_room(keys)
            are_kept = self._are_kept()
        else:
            self._leaving.reserve(sum(rows) * state.memory.row_bytes)
        state.tick += 1
        for side in SIDES:
            statistics.rows_received(side, rows[side], now)
        results, compared = state.memory.rows.arrive(keys[LEFT], keys[RIGHT], are_kept, state.tick)
        statistics.results += results
        state.report(Arrived(state.tick, rows, compared))

    def _make_room(self, keys: Sequence[Keys]) -> None:
        """For those that are kept; what leaves memory for them can make them more."""
        partitions = len(self._state.partitions)
        arrived = np.array([np.bincount(some % partitions, minlength=partitions) for some in keys])
        reserved = 0
        while (kept := self._bytes_to_keep(arrived)) > reserved:
            self._leaving.reserve(kept - reserved)
            reserved = kept

    def _bytes_to_keep(self, arrived: Counts) -> int:
        return int(arrived[self._are_kept()].sum()) * self._state.memory.row_bytes

    def _are_kept(self) -> Flags:
        """[side, partition]: whether rows that arrive may match something that they do not meet at once."""
        other_goes_on = ~np.array(self._state.ended[::-1])
        kept: Flags = (self._state.statistics.spilled_rows[::-1] > 0) | other_goes_on[:, None]
        return kept
