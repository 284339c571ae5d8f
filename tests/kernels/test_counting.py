"""Rows counted by key: the same numbers as by looking at every row, whatever comes, leaves and meets the disk."""

import numpy as np
import pytest

from counted_rows import ROW_BYTES, SHAPE, arrays, counted, follow


@pytest.mark.parametrize("ages", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_counts_what_every_row_tells(seed: int, ages: bool) -> None:
    follow(seed, ages=ages)


def test_rows_that_are_not_kept_meet_those_that_are() -> None:
    known = arrays(ages=True, regions=False)
    kept = np.ones(SHAPE[:2], np.bool_)
    kept[0] = False
    results, _ = counted(known).arrive(*[np.array([5, 5], np.int32)] * 2, kept, 1)
    assert results == 0
    assert known.forgotten.sum() == 2
    assert known.resident[1, 2] == 2
    assert known.resident_bytes[1, 2] == 2 * ROW_BYTES


def test_results_are_counted_in_the_region_of_their_code_on_both_sides() -> None:
    known = arrays(ages=False, regions=True)
    rows, kept = counted(known), np.ones(SHAPE[:2], np.bool_)
    rows.arrive(np.array([0, 3, 9, 9], np.int32), np.array([0, 9], np.int32), kept, 1)  # keys 0, 1 and 3 of partition 0
    assert known.region_joins[:, 0].tolist() == [[1, 0, 2]] * 2
    assert known.joined[:, 0].tolist() == [[True, False, False, True]] * 2
    assert known.joins is not None
    assert known.joins[:, 0].tolist() == [[1, 0, 0, 2]] * 2


def test_there_is_room_for_more_groups_than_at_first() -> None:
    known = arrays(ages=True, regions=False)
    rows, kept = counted(known), np.ones(SHAPE[:2], np.bool_)
    keys, none = np.zeros(7, np.int32), np.empty(0, np.int32)
    for tick in range(1, 2000):
        rows.arrive(keys, none, kept, tick)
    assert rows.oldest(0, 7 * 1500 + 1) == 7 * 1501


@pytest.mark.parametrize("downwards", [False, True])
def test_rows_leave_in_order_until_there_are_enough(downwards: bool) -> None:
    known = arrays(ages=False, regions=False)
    known.counts.memory[1, 2] = 3, 0, 2, 4
    known.resident[1, 2] = 9
    order = [3, 2, 1, 0] if downwards else [0, 1, 2, 3]
    for wanted in range(1, 12):
        [leaving] = counted(known).in_order(np.array([5]), np.array([wanted]), np.array([downwards]))
        rows, left = known.counts.memory[1, 2].tolist(), wanted
        for key in order:
            assert leaving[key] == (rows[key] if left > 0 else 0)
            left -= rows[key]


def test_of_the_last_key_the_oldest_rows_leave_and_those_left_have_joined_nothing() -> None:
    known = arrays(ages=True, regions=True)
    rows, kept, none = counted(known), np.ones(SHAPE[:2], np.bool_), np.empty(0, np.int32)
    for tick in range(1, 4):  # two rows of key 0 of partition 0, then two of key 1
        rows.arrive(np.array([0, 0, 3, 3], np.int32), none, kept, tick)
    rows.arrive(none, np.array([0, 3], np.int32), kept, 4)
    places, wanted = np.array([0, 3]), np.array([9, 1])
    leaving = rows.in_order(places, wanted, np.array([False, True]))
    assert leaving.tolist() == [[6, 4, 0, 0], [0, 1, 0, 0]]  # rows that came together leave together
    assert known.joined is not None
    assert known.joined[:, 0, :2].tolist() == [[True, False], [True, False]]


def test_rows_in_memory_are_counted_by_region() -> None:
    known = arrays(ages=False, regions=True)
    assert known.bounds is not None
    known.bounds[1, 0] = 0, 2**64 - 1
    known.counts.memory[:, 0] = 1, 2, 3, 4
    assert counted(known).by_region()[:, 0].tolist() == [[1, 5, 4], [0, 10, 0]]
