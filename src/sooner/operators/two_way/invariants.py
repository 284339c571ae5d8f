"""What is true of a two-way join between any two calls, recounted from its rows. Slow, and for tests."""

from collections.abc import Sequence

import numpy as np

from sooner.operators.state.state import JoinState
from sooner.operators.statistics.open_pairs import MOMENTS_KEPT
from sooner.operators.tasks.task import Task
from sooner.sides import SIDES, opposite


def check(state: JoinState, tasks: Sequence[Task]) -> None:
    """Raise an AssertionError that says what is wrong."""
    _check_budget(state)
    for p in range(state.n_partitions):
        for side in SIDES:
            _check_counts(state, side, p)
            _check_stamps(state, side, p)
            _check_regions(state, side, p)
        _check_cells(state, p)
        _check_area(state, p)
    partitions = [task.partition for task in tasks]
    assert len({*partitions}) == len(partitions), f"two tasks are at work in one partition: {partitions}"


def _check_budget(state: JoinState) -> None:
    resident = sum(side.resident_bytes for side in state.inputs)
    used, limit = state.budget.used_bytes, state.budget.limit_bytes
    assert resident <= used <= limit, f"{resident} bytes are in memory, {used} are counted, {limit} may be"


def _check_counts(state: JoinState, side: int, p: int) -> None:
    partition, statistics = state.inputs[side].partitions[p], state.statistics
    rows, n_bytes = sum(map(len, partition.resident)), sum(run.n_bytes for run in partition.resident)
    spilled = sum(run.n_rows for run in partition.spilled)
    assert statistics.resident_rows[side, p] == partition.resident.n_rows == rows
    assert statistics.resident_bytes[side, p] == partition.resident.n_bytes == n_bytes
    assert statistics.spilled_rows[side, p] == spilled
    assert statistics.spilled_runs[side, p] == len(partition.spilled)
    assert statistics.spilled_bytes[side, p] == sum(run.n_bytes for run in partition.spilled)
    if state.phase in ("arriving", "reactive"):
        forgotten = statistics.forgotten_rows[side, p]
        assert statistics.arrived_rows[side, p] == rows + spilled + forgotten, "a row is lost, or there twice"
        is_needed = state.kind.pairs and not state.ended[opposite(side)] and state.expiry is None
        assert not forgotten or not is_needed, "a row is forgotten that could still match"


def _check_stamps(state: JoinState, side: int, p: int) -> None:
    for run in state.inputs[side].partitions[p].resident:
        assert (run.codes[:-1] <= run.codes[1:]).all(), "a run is not sorted"
        assert run.newest <= state.tick, "a row comes from the future"
    assert state.met_disk[side][p] <= state.tick


def _check_regions(state: JoinState, side: int, p: int) -> None:
    """Join bits are there where they are looked at, and regions do not overlap."""
    follows = state.inputs[side].follows_joins
    for run in state.inputs[side].partitions[p].resident:
        assert (run.joined is not None) == follows, "join bits are missing, or nobody looks at them"
    if (regions := state.statistics.regions) is not None:
        first, last = regions.bounds[side, p].tolist()
        assert first <= last + 1, f"the lower region ends with {first} and the upper one begins after {last}"
        seen = state.seen_regions()
        assert seen is not None and seen.rows[side, p].sum() == state.statistics.resident_rows[side, p]


def _check_cells(state: JoinState, p: int) -> None:
    """Cells are of runs that are there, and no two runs have one name."""
    for side in SIDES:
        partition = state.inputs[side].partitions[p]
        living = [run.number for run in partition.spilled]
        assert len({*living}) == len(living), f"two runs have one number: {living}"
        assert all(number < partition.next_number for number in living)
        assert state.decided_runs[side][p] <= {*living}, "a run is decided that is gone"
        if state.phase in ("arriving", "reactive"):
            assert {*state.cells[p].met(side)} <= {*living}, "a cell is of a run that is gone"


def has_all_rows(state: JoinState) -> bool:
    """Whether no rows leave without being counted in what is open."""
    return state.phase in ("arriving", "reactive") and not state.kind.examined and state.expiry is None


def _check_area(state: JoinState, p: int) -> None:
    """What is open between memory and disk is a recount; what is open at all is no more than there is."""
    if not has_all_rows(state) or not state.is_stamped:
        return
    statistics = state.statistics
    for side in SIDES:
        other = statistics.history[opposite(side)][p]
        recount = other.flushed_before(state.unseen_arrivals(side, p))
        if len(other.ticks) < MOMENTS_KEPT // 2:
            assert np.isclose(statistics.unmet_with_disk[side, p], recount), "what memory has to meet is miscounted"
    on_disk = float(np.prod(statistics.spilled_rows[:, p].astype(float)))
    assert -1e-6 <= statistics.unmet_on_disk[p] <= on_disk + 1e-6, "more is open on disk than is there"
    if not state.cells[p].open_rectangles(*([run.number for run in state.spilled(side, p)] for side in SIDES)):
        assert np.isclose(statistics.unmet_on_disk[p], 0), "all runs have met, and something is said to be open"
