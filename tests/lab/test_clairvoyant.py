"""The policy that knows the future keeps its own books right; that none does better is in test_rpj_experiments."""

import numpy as np

from sooner.lab.clairvoyant import Clairvoyant
from sooner.lab.traces import Silences, Trace, key_codes
from views import view_of


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
