"""Rows counted by key: the same numbers as by looking at every row, whatever comes, leaves and meets the disk."""

import numpy as np
import pytest

from counted_rows import ROW_BYTES, SHAPE, arrays, follow
from sooner.kernels.counting import CountedRows, leave_in_order


@pytest.mark.parametrize("ages", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_counts_what_every_row_tells(seed: int, ages: bool) -> None:
    follow(seed, ages=ages)


def test_rows_that_are_not_kept_meet_those_that_are() -> None:
    known = arrays(ages=True, regions=False)
    kept = np.ones(SHAPE[:2], np.bool_)
    kept[0] = False
    results, _ = CountedRows(known, ROW_BYTES).arrive(*[np.array([5, 5], np.int32)] * 2, kept, 1)
    assert results == 0
    assert known.forgotten.sum() == 2
    assert known.resident[1, 2] == 2
    assert known.resident_bytes[1, 2] == 2 * ROW_BYTES


def test_results_are_counted_in_the_region_of_their_code_on_both_sides() -> None:
    known = arrays(ages=False, regions=True)
    rows, kept = CountedRows(known, ROW_BYTES), np.ones(SHAPE[:2], np.bool_)
    rows.arrive(np.array([0, 3, 9, 9], np.int32), np.array([0, 9], np.int32), kept, 1)  # keys 0, 1 and 3 of partition 0
    assert known.region_joins[:, 0].tolist() == [[1, 0, 2]] * 2
    assert known.joined[:, 0].tolist() == [[True, False, False, True]] * 2
    assert known.joins is not None
    assert known.joins[:, 0].tolist() == [[1, 0, 0, 2]] * 2


def test_there_is_room_for_more_groups_than_at_first() -> None:
    known = arrays(ages=True, regions=False)
    rows, kept = CountedRows(known, ROW_BYTES), np.ones(SHAPE[:2], np.bool_)
    keys, none = np.zeros(7, np.int32), np.empty(0, np.int32)
    for tick in range(1, 2000):
        rows.arrive(keys, none, kept, tick)
    assert rows.oldest(0, 7 * 1500 + 1) == 7 * 1501


@pytest.mark.parametrize("downwards", [False, True])
def test_rows_leave_in_order_until_there_are_enough(downwards: bool) -> None:
    rows = np.array([3, 0, 2, 4], np.int64)
    order = [3, 2, 1, 0] if downwards else [0, 1, 2, 3]
    for wanted in range(1, 12):
        leaving, last, enough = leave_in_order(rows, wanted, downwards=downwards)
        if wanted >= 9:
            assert last is None
            assert leaving.tolist() == rows.tolist()
            continue
        assert last is not None
        before = [key for key in order if order.index(key) < order.index(last)]
        assert sum(rows[before]) < wanted <= sum(rows[before]) + rows[last]
        assert enough == wanted - sum(rows[before])
        assert leaving.tolist() == [int(rows[key]) if key in (*before, last) else 0 for key in range(4)]
