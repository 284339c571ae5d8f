"""What is true of a join of rectangles between any two calls, beside what is true of any two-way join."""

import numpy as np

from sooner.operators.rectangle.state import RectangleState
from sooner.operators.two_way.invariants import has_all_rows
from sooner.runs.run import STILL_HERE, Run
from sooner.sides import LEFT, RIGHT, SIDES


def check(state: RectangleState) -> None:
    """Raise an AssertionError that says what is wrong."""
    if not state.rows_wait:
        spilled = state.statistics.spilled_rows.any()
        assert not spilled, "rows have left memory, and those that come still meet what is there"
    for p, horizon in enumerate(state.horizons):
        assert horizon.right <= state.tick, "a rectangle reaches into the future"
        assert horizon.left <= state.tick or horizon.left == STILL_HERE, "a rectangle reaches into the future"
        if state.rows_wait and has_all_rows(state) and not any(state.ended):
            arrived = state.statistics.arrived_rows[:, p].tolist()
            met = [rows - _newer(state, side, p, horizon[side]) for side, rows in zip(SIDES, arrived, strict=True)]
            open_pairs = arrived[LEFT] * arrived[RIGHT] - met[LEFT] * met[RIGHT]
            assert np.isclose(state.statistics.open_pairs(p), open_pairs), "what is open is miscounted"


def _newer(state: RectangleState, side: int, p: int, tick: int) -> int:
    """Rows of a partition that came after a tick."""
    partition, store = state.inputs[side].partitions[p], state.inputs[side].store
    segments = [segment for run in partition.spilled for segment in run.segments]
    on_disk = [run for segment in segments for run in store.read(segment, segment.blocks.between(0, 2**64))]
    return sum(_came_after(run, tick) for run in (*partition.resident, *on_disk))


def _came_after(run: Run, tick: int) -> int:
    return int(np.count_nonzero(np.broadcast_to(np.asarray(run.arrived), len(run)) > tick))
