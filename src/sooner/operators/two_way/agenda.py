"""Which work on disk is due, beside what the react policy chooses: pure questions about the state of a join."""

import math

import numpy as np

from sooner.operators.deciding.expiry import LATER, SOON
from sooner.operators.state.state import JoinState
from sooner.operators.tasks.beginning import tidying_plan
from sooner.policies.view import Surroundings
from sooner.sides import opposite


def first_crowded(state: JoinState, crowd: int | None) -> int | None:
    """A partition with so many runs that are alike that some are to become one."""
    if crowd is None:
        return None
    many = np.flatnonzero((state.statistics.spilled_runs >= crowd).any(axis=0)).tolist()
    return next((p for p in many if tidying_plan(state, p, crowd) is not None), None)


def first_to_part(state: JoinState, around: Surroundings) -> tuple[int, int] | None:
    """A partition and a side of it of which rows can be decided, since the other side has ended.

    While rows come that costs no more than twice what it decides: rows on disk are read once for as many that wait.
    """
    statistics = state.statistics
    for side in state.kind.examined:
        if state.inputs[side].ended or not state.inputs[opposite(side)].ended:
            continue
        waiting = statistics.undecided_rows[side]
        enough = 1 if around.silent or around.settling else statistics.spilled_rows[opposite(side)]
        due = np.flatnonzero((waiting > 0) & (waiting >= enough))
        if len(due):
            return int(due[0]), side
    return None


def first_to_forget(state: JoinState, around: Surroundings) -> int | None:
    """A partition with rows that nothing will match any more: in silence any, else if enough have come together."""
    expiry = state.expiry
    if expiry is None:
        return None
    at_leisure = around.silent or around.settling
    parts = [math.inf if at_leisure else LATER if has_runs(state, p) else SOON for p in range(state.n_partitions)]
    return next((p for p, share in enumerate(parts) if expiry.is_due(p, share)), None)


def first_open(state: JoinState) -> int | None:
    return next((p for p in range(state.n_partitions) if state.ledger.is_open(p)), None)


def has_runs(state: JoinState, p: int) -> bool:
    """On disk, of either side."""
    return any(state.run_numbers(p))
