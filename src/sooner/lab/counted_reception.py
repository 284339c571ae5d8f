"""Rows that arrive at a join that only counts them: what they meet at once, and which of them are kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sooner.kernels.array_types import Flags, Positions
from sooner.lab.counted_leaving import CountedLeaving
from sooner.lab.counted_state import CountedState
from sooner.lab.traces import Keys
from sooner.operators.events import Arrived
from sooner.policies.view import Counts
from sooner.sides import LEFT, RIGHT, SIDES, opposite


@dataclass(frozen=True)
class Arriving:
    """Rows that arrive, the left ones first; places are those of KeyCounts in one row."""

    lefts: int  # how many are left ones
    mine: Positions  # the place of each row's key on its own side
    other: Positions  # and on the other side
    of_side: Positions  # the place of each row's side and partition
    counts: Counts  # [side, partition]: rows

    @staticmethod
    def placed(keys: Sequence[Keys], partitions: int, keys_of_partition: int) -> "Arriving":
        """Rows with these keys of each side."""
        lefts = len(keys[LEFT])
        together = np.concatenate(keys)
        of_partition = together % partitions
        place = of_partition * np.int64(keys_of_partition) + together // partitions
        mine, other, of_side = place, place.copy(), of_partition.astype(np.int64)
        mine[lefts:] += partitions * keys_of_partition
        other[:lefts] += partitions * keys_of_partition
        of_side[lefts:] += partitions
        counts = np.bincount(of_side, minlength=2 * partitions).reshape(2, partitions)
        return Arriving(lefts, mine, other, of_side, counts)

    def only(self, wanted: Flags) -> "Arriving":
        """The arriving rows of some sides and partitions."""
        chosen = wanted.reshape(-1)[self.of_side]
        lefts = int(chosen[: self.lefts].sum())
        mine, other, of_side = (some[chosen] for some in (self.mine, self.other, self.of_side))
        return Arriving(lefts, mine, other, of_side, np.where(wanted, self.counts, 0))


class CountedReception:
    def __init__(self, state: CountedState, leaving: CountedLeaving) -> None:
        self._state = state
        self._leaving = leaving
        self._flat = state.counts.in_one_row()

    def receive(self, keys: Sequence[Keys], now: float) -> None:
        """Rows with these keys of each side meet what is in memory, and are in memory from then on."""
        state, statistics, rows = self._state, self._state.statistics, tuple(map(len, keys))
        arriving = Arriving.placed(keys, len(state.partitions), state.keys)
        self._make_room(arriving.counts)
        state.tick += 1
        counts = arriving.counts
        for side in SIDES:
            statistics.rows_received(side, rows[side], now)
        resident = statistics.resident_rows
        compared = counts[LEFT] * resident[RIGHT] + counts[RIGHT] * (resident[LEFT] + counts[LEFT])
        statistics.compared_pairs += compared
        self._admit(arriving)
        state.report(Arrived(state.tick, rows, int(compared.sum())))

    def _make_room(self, arrived: Counts) -> None:
        reserved = 0
        while (kept := self._bytes_to_keep(arrived)) > reserved:
            self._leaving.reserve(kept - reserved)
            reserved = kept

    def _bytes_to_keep(self, arrived: Counts) -> int:
        if any(self._state.ended):
            arrived = np.array([np.where(self._is_kept(side), arrived[side], 0) for side in SIDES])
        return int(arrived.sum()) * self._state.memory.row_bytes

    def _is_kept(self, side: int) -> Flags:
        """[partition]: whether rows of this side that arrive may match something that they do not meet at once."""
        other = opposite(side)
        kept: Flags = (self._state.statistics.spilled_rows[other] > 0) | (not self._state.ended[other])
        return kept

    def _admit(self, arriving: Arriving) -> None:
        """Left rows first: those of the right that come with them meet them too."""
        state, statistics, flat, counts = self._state, self._state.statistics, self._flat, arriving.counts
        spilled = statistics.spilled_rows[::-1]  # of the other side
        matches = flat.memory[arriving.other]
        statistics.arrived_rows += counts
        statistics.unmet_with_disk += counts * spilled
        kept, are_kept = arriving, np.ones(counts.shape, np.bool_)
        if any(state.ended):
            are_kept = np.array([self._is_kept(side) for side in SIDES])
            statistics.forgotten_rows += np.where(are_kept, 0, counts)
            kept = arriving.only(are_kept)
        lefts = kept.mine[: kept.lefts]
        np.add.at(flat.memory, lefts, 1)
        matches[arriving.lefts :] = flat.memory[arriving.other[arriving.lefts :]]
        np.add.at(flat.memory, kept.mine[kept.lefts :], 1)
        np.add.at(flat.unseen, kept.mine, 1)
        np.add.at(flat.unmet_matches, kept.mine, flat.on_disk[kept.other])
        unmet_pairs = spilled.reshape(-1)[kept.of_side]
        np.add.at(flat.unmet_pairs, kept.mine, unmet_pairs)
        state.memory.note_ages(kept.mine, unmet_pairs, state.tick)
        matched = np.bincount(arriving.of_side, matches, minlength=counts.size).reshape(counts.shape)
        statistics.matched_pairs += matched.sum(axis=0)
        statistics.results += int(matches.sum())
        statistics.resident_rows += kept.counts
        statistics.resident_bytes += kept.counts * state.memory.row_bytes
        if statistics.regions is not None:
            keys = flat.memory.size // len(SIDES)
            joins = np.bincount(arriving.mine % keys, matches, minlength=keys).astype(np.int64)
            state.memory.note_joins(joins.reshape(state.counts.memory.shape[1:]), are_kept)
