"""Partitions of one size although keys are skewed: they are cut anew when memory is half full (PR-Join sec. 5.1).

All rows are in memory then, and if they come in random order they are a sample of all that will come. So the ranges of
codes are cut such that each has its share of the rows; no row is read or written for it. A code with more than its
share is a partition of its own; nothing can cut that.
"""

import itertools
from typing import Final

import numpy as np

from sooner.kernels.array_types import Codes
from sooner.kernels.matching import EQUAL
from sooner.operators.ledgers.horizons import Horizons
from sooner.operators.state.state import JoinState
from sooner.runs.run import code_position
from sooner.sides import SIDES

HALF: Final = 2  # of the memory, one part in so many is full


def even_out_once(state: JoinState, ledger: Horizons) -> None:
    """Once it can be done: to be asked after each arrival."""
    if _can_be_evened_out(state, ledger):
        ledger.is_evened_out = True
        _even_out(state)


def _can_be_evened_out(state: JoinState, ledger: Horizons) -> bool:
    """Once, while nothing has left memory, and nothing is known of single partitions that would be lost."""
    account = state.account
    is_due = not ledger.is_evened_out and not ledger.rows_wait and account.used_bytes * HALF >= account.share_bytes
    if not is_due or state.n_partitions == 1 or any(state.ended) or state.expiry is not None:
        return False
    return all(one.overlap == EQUAL for one in state.inputs) and not state.statistics.forgotten_rows.any()


def _even_out(state: JoinState) -> None:
    """Cut partitions anew, each with its share of the rows that are there."""
    runs = [run for one in state.inputs for partition in one.partitions for run in partition.resident]
    bounds = even_bounds(np.concatenate([run.codes for run in runs]), state.n_partitions)
    for side in SIDES:
        _cut_anew(state, side, bounds)
    for pairs in (state.statistics.compared_pairs, state.statistics.matched_pairs):
        pairs[:] = pairs.mean()


def even_bounds(codes: Codes, partitions: int) -> Codes:
    """Where partitions 1, 2, ... begin if each is to have as many of these codes as the others, as far as that goes."""
    each, counts = np.unique(codes, return_counts=True)
    up_to = np.append(0, counts.cumsum())  # codes before each
    middles = up_to[:-1] + counts / 2
    bounds: list[int] = []
    first = 0  # code of the present partition
    for partitions_left in range(partitions, 1, -1):
        share = (len(codes) - up_to[first]) / partitions_left
        first = max(first + 1, int(np.searchsorted(middles, up_to[first] + share)))
        if first >= len(each):
            break
        bounds.append(int(each[first]))
    empty = [0] * (partitions - 1 - len(bounds))  # if there are fewer codes than partitions
    return np.array([*empty, *bounds], np.uint64)


def _cut_anew(state: JoinState, side: int, bounds: Codes) -> None:
    mine, statistics = state.inputs[side], state.statistics
    runs = [run for partition in mine.partitions for run in partition.resident]
    before = mine.resident_bytes
    for partition in mine.partitions:
        partition.resident.clear()
    for run in runs:
        ends = [0, *(code_position(run.codes, bound) for bound in bounds.tolist()), len(run)]
        for partition, (begin, end) in zip(mine.partitions, itertools.pairwise(ends), strict=True):
            if end > begin:  # with buffers of its own, or none of them could be freed before all are
                partition.resident.add(run.take(np.arange(begin, end)))
    mine.bounds = bounds
    state.account.release(before)
    state.account.take(mine.resident_bytes)
    for p, partition in enumerate(mine.partitions):
        state.count_resident(side, p)
        statistics.arrived_rows[side, p] = partition.resident.n_rows
        if side in state.kind.examined:
            statistics.undecided_rows[side, p] = partition.resident.n_rows
