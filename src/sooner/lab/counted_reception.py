"""Rows that arrive at a join that only counts them: what they meet at once, and which of them are kept."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sooner.kernels.array_types import Flags, Positions
from sooner.lab.counted_leaving import CountedLeaving
from sooner.lab.counted_state import CountedState
from sooner.lab.traces import Keys
from sooner.operators.events import Arrived
from sooner.policies.view import Counts
from sooner.sides import LEFT, SIDES


class Arriving(NamedTuple):
    """Rows that arrive, the left ones first; places are those of KeyCounts in one row."""

    lefts: int  # how many are left ones
    mine: Positions  # the place of each row's key on its own side
    other: Positions  # and on the other side
    of_partition: Positions  # each row's partition
    of_side: Positions  # the place of its side and partition
    counts: Counts  # [side, partition]: rows

    def only(self, wanted: Flags) -> "Arriving":
        """The arriving rows of some sides and partitions."""
        chosen = wanted.reshape(-1)[self.of_side]
        lefts = int(chosen[: self.lefts].sum())
        mine, other = self.mine[chosen], self.other[chosen]
        of_partition, of_side = self.of_partition[chosen], self.of_side[chosen]
        return Arriving(lefts, mine, other, of_partition, of_side, np.where(wanted, self.counts, 0))


class Places:
    """Where the rows of each key are counted: tables, since there are many more rows than keys."""

    def __init__(self, partitions: int, keys_of_partition: int) -> None:
        self._partitions = partitions
        self._keys = partitions * keys_of_partition
        of_left = np.arange(self._keys).reshape(partitions, keys_of_partition).T.ravel()
        of_partition = np.arange(self._keys) % partitions
        lefts = (of_left, of_left + self._keys, of_partition, of_partition)
        rights = (of_left + self._keys, of_left, of_partition, of_partition + partitions)
        self._places = np.hstack((lefts, rights))  # of each key of the left, then of each of the right

    def of(self, keys: Sequence[Keys]) -> Arriving:
        """Rows with these keys of each side."""
        lefts, together = len(keys[LEFT]), np.concatenate(keys)
        together[lefts:] += self._keys
        mine, other, of_partition, of_side = self._places.take(together, axis=1)
        counts = np.bincount(of_side, minlength=2 * self._partitions).reshape(2, self._partitions)
        return Arriving(lefts, mine, other, of_partition, of_side, counts)


class CountedReception:
    def __init__(self, state: CountedState, leaving: CountedLeaving) -> None:
        self._state = state
        self._leaving = leaving
        self._flat = state.counts.in_one_row()
        self._places = Places(len(state.partitions), state.keys)
        self._all = np.ones((len(SIDES), len(state.partitions)), np.bool_)

    def receive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side meet what is in memory, and are in memory from then on."""
        state, statistics, rows = self._state, self._state.statistics, tuple(map(len, keys))
        arriving = self._places.of(keys)
        if any(state.ended):
            self._make_room(arriving.counts)
        else:
            self._leaving.reserve(sum(rows) * state.memory.row_bytes)
        state.tick += 1
        for side in SIDES:
            statistics.rows_received(side, rows[side], now)
        (lefts, rights), (resident_lefts, resident_rights) = arriving.counts, statistics.resident_rows
        compared = lefts * resident_rights + rights * (resident_lefts + lefts)
        statistics.compared_pairs += compared
        self._admit(arriving)
        state.report(Arrived(state.tick, rows, int(compared.sum())))

    def _make_room(self, arrived: Counts) -> None:
        """For those that are kept; what leaves memory for them can make them more."""
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

    def _admit(self, arriving: Arriving) -> None:
        """Left rows first: those of the right that come with them meet them too."""
        state, statistics, flat, counts = self._state, self._state.statistics, self._flat, arriving.counts
        spilled = statistics.spilled_rows[::-1]  # of the other side
        matches = flat.memory.take(arriving.other)
        statistics.arrived_rows += counts
        statistics.unmet_with_disk += counts * spilled
        kept, are_kept = arriving, self._all
        if any(state.ended):
            are_kept = self._are_kept()
            statistics.forgotten_rows += np.where(are_kept, 0, counts)
            kept = arriving.only(are_kept)
        np.add.at(flat.memory, kept.mine, 1)
        matches[arriving.lefts :] = flat.memory.take(arriving.other[arriving.lefts :])
        if state.memory.splits_codes:
            unmet_pairs, unmet_matches = spilled.take(kept.of_side), flat.on_disk.take(kept.other)
            state.memory.note_ages(kept.mine, unmet_pairs, unmet_matches, state.tick)
        statistics.matched_pairs += np.bincount(arriving.of_partition, matches, minlength=len(state.partitions))
        state.selectivity = statistics.selectivity
        statistics.results += int(matches.sum())
        statistics.resident_rows += kept.counts
        np.multiply(statistics.resident_rows, state.memory.row_bytes, out=statistics.resident_bytes)
        state.memory.note_joins(arriving.mine, matches, are_kept)
