"""Groups have numbers: the same for equal values, whatever batch they come in."""

import math

import pyarrow as pa

from sooner.estimation.groups import Groups


def test_nan_is_one_group_and_so_are_both_zeros_in_every_batch() -> None:
    groups = Groups([pa.float64()])
    first = groups.numbers_of([pa.array([math.nan, 0.0, 1.5])]).tolist()
    again = groups.numbers_of([pa.array([float("nan"), -0.0, 1.5, None])]).tolist()
    assert again[:3] == first
    assert len(groups) == 4
    saved = Groups([pa.float64()])
    saved.load_plain(groups.to_plain())
    assert saved.numbers_of([pa.array([float("nan"), -0.0, 1.5, None])]).tolist() == again
