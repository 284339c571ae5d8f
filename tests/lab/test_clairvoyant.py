"""The policy that knows the future: no honest policy has more early results, and it keeps its own books right."""

import numpy as np
import pytest

from sooner.algorithms import ALGORITHMS, Algorithm
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.experiments.rpj import COMPETITORS, MEMORY_ROWS, PANELS, Panel, draw_trace, laboratory
from sooner.lab.simulator import ROW_BYTES, simulate
from sooner.lab.traces import Silences, Trace
from sooner.policies.react.never import Never
from sooner.policies.view import DeviceCosts, JoinView

SCALE = 100
HONEST = [name for name in ALGORITHMS if name not in ("symmetric_hash", "rpj_md", "rpj_dd", "pmj")]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_no_policy_has_more_early_results(panel: Panel) -> None:
    trace = draw_trace(panel, "reliable", SCALE, seed=0)
    clairvoyant = Algorithm("clairvoyant", Clairvoyant(trace, ROW_BYTES, MEMORY_ROWS // SCALE), Never())
    bound = simulate(trace, clairvoyant, laboratory(SCALE))
    assert bound.total_results == trace.join_size()
    honest = {name: COMPETITORS.get(name, ALGORITHMS[name]) for name in HONEST}
    early = {name: simulate(trace, algorithm, laboratory(SCALE)).early_results for name, algorithm in honest.items()}
    assert max(early.values()) <= bound.early_results
    assert min(early.values()) > 0.1 * bound.early_results  # or the comparison would say nothing


def test_what_meets_least_leaves_first() -> None:
    # Resident are keys 0, 1, 2 of the left; to come on the right are two of key 0, one of key 2 and none of key 1.
    trace = Trace(
        np.arange(6.0),
        np.array([0, 0, 0, 1, 1, 1], np.int8),
        np.array([0, 1, 2, 0, 2, 0], np.int32),
        Silences(np.empty(0), np.empty(0)),
        domain=3,
        partitions=1,
    )
    policy = Clairvoyant(trace, row_bytes=10, memory_rows=3)
    codes = [trace.code_rows()]
    del codes
    evictions = [list(policy.choose(_view(arrived=3), needed_bytes=10)) for _ in range(3)]
    from sooner.lab.traces import key_codes

    order = [int(np.flatnonzero(key_codes(3, 1) == eviction[0].codes[0])[0]) for eviction in evictions]
    assert order == [1, 2, 0]


def _view(arrived: int) -> JoinView:
    counts, numbers = np.zeros((2, 1), np.int64), np.zeros((2, 1))
    arrived_rows = np.array([[arrived], [0]])
    return JoinView(
        tick=1,
        ended=(False, False),
        arrived_rows=arrived_rows,
        resident_rows=arrived_rows,
        resident_bytes=counts,
        spilled_rows=counts,
        spilled_bytes=counts,
        spilled_runs=counts,
        recent_rows=numbers[:, 0],
        unmet_with_disk=numbers,
        unmet_on_disk=numbers[0],
        selectivity=numbers[0],
        last_merge=counts[0],
        device=DeviceCosts(),
    )
