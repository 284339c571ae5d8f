"""The policy that knows the future: no honest policy has more early results, and it keeps its own books right."""

import numpy as np
import pytest

from small_worlds import small_history, small_trace
from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.experiments.rpj import PANELS, Panel
from sooner.lab.traces import Silences, Trace, key_codes
from sooner.named_algorithms import ALGORITHMS
from views import view_of

# The others of the table flush as one of these does.
FLUSH_POLICIES = ("rpj", "xjoin", "hmj", "hmj_all", "hmj_smallest", "random")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_no_policy_has_more_early_results(panel: Panel) -> None:
    bound = small_history("clairvoyant", panel, "reliable")
    assert bound.total_results == small_trace(panel, "reliable").join_size()
    early = {name: small_history(name, panel, "reliable").early_results for name in FLUSH_POLICIES}
    assert max(early.values()) <= bound.early_results
    assert early["rpj"] > bound.early_results / 2  # or the bound would say nothing


def test_every_policy_of_the_table_is_held_against_the_bound() -> None:
    spilling = [algorithm for algorithm in ALGORITHMS.values() if algorithm.name != "symmetric_hash"]
    compared = {type(ALGORITHMS[name].flush) for name in FLUSH_POLICIES if name in ALGORITHMS}
    assert {type(algorithm.flush) for algorithm in spilling} <= compared


def test_what_meets_least_leaves_first() -> None:
    # In memory are keys 0, 1, 2 of the left; to come on the right are two of key 0, one of key 2 and none of key 1.
    trace = Trace(
        np.arange(6.0),
        np.array([0, 0, 0, 1, 1, 1], np.int8),
        np.array([0, 1, 2, 0, 2, 0], np.int32),
        Silences(np.empty(0), np.empty(0)),
        domain=3,
        partitions=1,
    )
    policy = Clairvoyant(trace, row_bytes=10, memory_rows=3)
    view = view_of(resident_rows=[[3], [0]])
    leaving = [next(iter(policy.choose(view, needed_bytes=10))) for _ in range(3)]
    assert [eviction.codes for [eviction] in leaving] == [key_codes(3, 1)[key] for key in (1, 2, 0)]
