"""What is true of a two-way join between any two calls, recounted from its rows."""

from typing import Any

import numpy as np

from sooner.operators.ledgers.horizons import Horizons
from sooner.operators.ledgers.open_pairs import MOMENTS_KEPT
from sooner.operators.state.state import JoinState
from sooner.operators.two_way.join import TwoWayJoin
from sooner.runs.run import STILL_HERE, Run
from sooner.sides import LEFT, RIGHT, SIDES, opposite


def check_invariants(join: TwoWayJoin[Any]) -> None:
    """Raise an AssertionError that says what is wrong."""
    state, tasks = join._state, join._tasks
    _check_account(state)
    for p in range(state.n_partitions):
        for side in SIDES:
            _check_counts(state, side, p)
            _check_stamps(state, side, p)
            _check_regions(state, side, p)
        _check_cells(state, p)
        _check_area(state, p)
    if isinstance(state.ledger, Horizons):
        _check_horizons(state, state.ledger)
    partitions = [task.partition for task in tasks]
    assert len({*partitions}) == len(partitions), f"two tasks are at work in one partition: {partitions}"


def _check_account(state: JoinState) -> None:
    resident = sum(side.resident_bytes for side in state.inputs)
    used, budget = state.account.used_bytes, state.account.budget
    assert resident <= used, f"{resident} bytes are in memory, {used} are counted"
    assert budget.used_bytes <= budget.limit_bytes, f"{budget.used_bytes} are counted, {budget.limit_bytes} may be"


def _check_counts(state: JoinState, side: int, p: int) -> None:
    partition, statistics = state.inputs[side].partitions[p], state.statistics
    rows, n_bytes = sum(map(len, partition.resident)), sum(run.n_bytes for run in partition.resident)
    spilled = sum(run.n_rows for run in partition.spilled)
    assert statistics.resident_rows[side, p] == partition.resident.n_rows == rows
    assert statistics.resident_bytes[side, p] == partition.resident.n_bytes == n_bytes
    assert statistics.spilled_rows[side, p] == spilled
    assert statistics.spilled_runs[side, p] == len(partition.spilled)
    assert statistics.spilled_bytes[side, p] == sum(run.n_bytes for run in partition.spilled)
    if state.shell.phase in ("arriving", "reactive"):
        forgotten = statistics.forgotten_rows[side, p]
        assert statistics.arrived_rows[side, p] == rows + spilled + forgotten, "a row is lost, or there twice"
        is_needed = state.kind.pairs and not state.ended[opposite(side)] and state.expiry is None
        assert not forgotten or not is_needed, "a row is forgotten that could still match"


def _check_stamps(state: JoinState, side: int, p: int) -> None:
    for run in state.inputs[side].partitions[p].resident:
        assert (run.codes[:-1] <= run.codes[1:]).all(), "a run is not sorted"
        assert run.newest <= state.shell.tick, "a row comes from the future"
    assert state.ledger.met_disk_until(side, p) <= state.shell.tick


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
        if state.shell.phase in ("arriving", "reactive"):
            assert {*state.ledger.cells[p].met(side)} <= {*living}, "a cell is of a run that is gone"


def _has_all_rows(state: JoinState) -> bool:
    """Whether no rows leave without being counted in what is open."""
    return state.shell.phase in ("arriving", "reactive") and not state.kind.examined and state.expiry is None


def _check_area(state: JoinState, p: int) -> None:
    """What is open at all is no more than there is."""
    if not _has_all_rows(state):
        return
    if isinstance(state.ledger, Horizons):
        _check_horizon(state, state.ledger, p)
    else:
        _check_open_pairs(state, p)


def _check_open_pairs(state: JoinState, p: int) -> None:
    """What is open between memory and disk is a recount."""
    statistics = state.statistics
    for side in SIDES:
        other = statistics.history[opposite(side)][p]
        recount = other.flushed_before(state.ledger.unseen_arrivals(side, p))
        if len(other.ticks) < MOMENTS_KEPT // 2:
            assert np.isclose(statistics.unmet_with_disk[side, p], recount), "what memory has to meet is miscounted"
    on_disk = float(np.prod(statistics.spilled_rows[:, p].astype(float)))
    assert -1e-6 <= statistics.unmet_on_disk[p] <= on_disk + 1e-6, "more is open on disk than is there"
    if not state.ledger.cells[p].open_rectangles(*state.run_numbers(p)):
        assert np.isclose(statistics.unmet_on_disk[p], 0), "all runs have met, and something is said to be open"


def _check_horizon(state: JoinState, ledger: Horizons, p: int) -> None:
    """What is open is what came since: a recount."""
    if not ledger.rows_wait or any(state.ended):
        return
    arrived = state.statistics.arrived_rows[:, p].tolist()
    met = [rows - _newer(state, side, p, ledger.horizons[p][side]) for side, rows in zip(SIDES, arrived, strict=True)]
    open_pairs = arrived[LEFT] * arrived[RIGHT] - met[LEFT] * met[RIGHT]
    assert np.isclose(state.statistics.open_pairs(p), open_pairs), "what is open is miscounted"


def _check_horizons(state: JoinState, ledger: Horizons) -> None:
    if not ledger.rows_wait:
        spilled = state.statistics.spilled_rows.any()
        assert not spilled, "rows have left memory, and those that come still meet what is there"
    for horizon in ledger.horizons:
        assert horizon.right <= state.shell.tick, "a rectangle reaches into the future"
        assert horizon.left <= state.shell.tick or horizon.left == STILL_HERE, "a rectangle reaches into the future"


def _newer(state: JoinState, side: int, p: int, tick: int) -> int:
    """Rows of a partition that came after a tick."""
    partition, store = state.inputs[side].partitions[p], state.inputs[side].store
    segments = [segment for run in partition.spilled for segment in run.segments]
    on_disk = [run for segment in segments for run in store.read(segment, segment.blocks.between(0, 2**64))]
    return sum(_came_after(run, tick) for run in (*partition.resident, *on_disk))


def _came_after(run: Run, tick: int) -> int:
    return int(np.count_nonzero(np.broadcast_to(np.asarray(run.arrived), len(run)) > tick))
