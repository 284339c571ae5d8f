"""Regions of codes, join bits and the clock, and rows of a code that leave by age (DINER sec. 3.2 and 3.3)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joins import PLENTY, arrive, end, new_join, rows
from schedules import ROW_BYTES
from sooner.errors import InvalidJoin
from sooner.named_algorithms import ALGORITHMS, Algorithm
from sooner.operators.statistics.regions import HIGHEST_CODE, RegionStatistics, go_round, outer_codes, rows_by_region
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.flush.regions import Regions
from sooner.policies.react.never import Never
from sooner.policies.view import EvictAll, EvictCodes, EvictUpTo, JoinView
from sooner.sides import LEFT, RIGHT
from sooner.testing.invariants import check_invariants

DINER = replace(ALGORITHMS["diner"], react=Never())
SIGN = 2**63  # the code of the value 0


def codes(*values: int) -> Any:
    return np.array(values, np.uint64)


def diner(directory: Path, budget_rows: int = PLENTY, **others: Any) -> TwoWayJoin[Any]:
    """Rows in the order of their values; with the join bit each weighs a byte more."""
    budget_bytes = budget_rows * (ROW_BYTES + 1)
    return new_join(directory, DINER, budget_bytes=budget_bytes, order="values", **others)


def keys_in_memory(join: TwoWayJoin[Any], side: int) -> list[int]:
    return sorted(code - SIGN for run in join.inputs[side].partitions[0].resident for code in run.codes.tolist())


def joined_keys(join: TwoWayJoin[Any], side: int) -> set[int]:
    runs = join.inputs[side].partitions[0].resident
    return {code - SIGN for run in runs for code in run.codes[run.joined].tolist()}


# The clock


@pytest.mark.parametrize(
    ("hand", "wanted", "going", "passed", "last"),
    [
        (0, 2, [20], [10], 20),  # 10 has joined: it is passed
        (20, 3, [20, 40], [30], 40),
        (40, 12, [20, 40, 50], [10, 30], 30),  # round the end, and then again: what was passed can go
        (60, 1, [20], [10], 20),  # beyond the last it begins anew
    ],
)
def test_the_hand_goes_round_and_lets_go_of_what_has_not_joined(
    hand: int, wanted: int, going: list[int], passed: list[int], last: int
) -> None:
    # Of 10 there are 1, of 20 2, ...; 10 and 30 have joined.
    found = go_round(codes(10, 20, 30, 40, 50), np.arange(1, 6), np.array([1, 0, 1, 0, 0], bool), hand, wanted)
    if wanted == 12:  # 4 + 5 + 2 in the first round, 1 more in the second
        going, last = [10, *going], 10
    assert found.going.tolist() == sorted(going)
    assert found.passed.tolist() == passed
    assert (found.last, found.next_code) == (last, last + 1)


def test_how_many_rows_of_the_last_code_are_enough() -> None:
    found = go_round(codes(10, 20), np.array([3, 9]), np.zeros(2, bool), 0, wanted_rows=5)
    assert (found.last, found.last_rows) == (20, 2)
    everything = go_round(codes(10, 20), np.array([3, 9]), np.zeros(2, bool), 0, wanted_rows=50)
    assert (everything.going.tolist(), everything.last_rows) == ([10, 20], 9)


# Regions


def test_joins_are_counted_where_their_codes_are() -> None:
    regions = RegionStatistics(2, partitions=2, flush_bytes=100)
    regions.count_joins(LEFT, 0, codes(0, 5, HIGHEST_CODE))
    assert regions.joins[LEFT, 0].tolist() == [0, 3, 0], "at first everything is in the middle"
    regions.set_outer_codes(LEFT, 0, lowest=5, highest=8)
    regions.begin_anew(LEFT)
    regions.count_joins(LEFT, 0, codes(0, 5, 6, 7, 7, 8, 9, 9, 9))
    assert regions.joins[LEFT, 0].tolist() == [2, 3, 4]
    regions.count_joins(LEFT, 0, codes(1, 7), np.array([10, 20]))
    assert regions.joins[LEFT, 0].tolist() == [12, 23, 4]
    assert not regions.joins[RIGHT].any()


@pytest.mark.parametrize(
    ("lowest", "highest", "rows"),
    [(3, 7, (3, 1, 2)), (3, 4, (3, 0, 3)), (3, 3, (3, 0, 3)), (7, 3, (5, 0, 1)), (9, 1, (6, 0, 0))],
)
def test_outer_regions_never_overlap(lowest: int, highest: int, rows: tuple[int, int, int]) -> None:
    regions = RegionStatistics(2, 1, 100)
    regions.set_outer_codes(RIGHT, 0, lowest, highest)
    assert rows_by_region([codes(1, 3, 5), codes(2, 7, 9)], *regions.bounds[RIGHT, 0]) == rows


def test_the_extreme_codes_do_not_overflow() -> None:
    regions = RegionStatistics(2, 1, 100)
    regions.set_outer_codes(LEFT, 0, HIGHEST_CODE, HIGHEST_CODE)
    assert sum(rows_by_region([codes(0, HIGHEST_CODE)], *regions.bounds[LEFT, 0])) == 2
    again = RegionStatistics(2, 1, 100)
    again.load_plain(json.loads(json.dumps(regions.to_plain())))
    assert again.bounds.tolist() == regions.bounds.tolist()


def test_an_outer_region_reaches_as_far_as_it_has_enough_rows() -> None:
    assert outer_codes([codes(1, 4, 6), codes(2, 3, 9)], rows=3) == (3, 4)
    assert outer_codes([codes(5, 5, 5)], rows=2) == (5, 5)
    assert outer_codes([codes(1, 2)], rows=10) == (2, 1)


# In a join


def test_rows_that_did_not_join_leave_first_and_bits_of_those_passed_are_cleared(tmp_path: Path) -> None:
    join = diner(tmp_path, budget_rows=24, flush_fraction=4 / 24)
    arrive(join, rows(list(range(16))), rows([0, 1, 2, 4, 6, 8, 10, 12]))
    assert joined_keys(join, LEFT) == {0, 1, 2, 4, 6, 8, 10, 12}
    arrive(join, rows([20, 21, 22, 23]), None)  # the first flush: the clock begins with the lowest of all
    assert keys_in_memory(join, LEFT) == [0, 1, 2, 4, 6, 8, *range(10, 16), 20, 21, 22, 23], "3, 5, 7 and 9 are gone"
    assert joined_keys(join, LEFT) == {10, 12}, "the hand has passed 0 to 8"
    check_invariants(join)
    end(join)


def test_after_a_flush_each_outer_region_has_about_as_much_as_leaves_at_a_time(tmp_path: Path) -> None:
    join = diner(tmp_path, budget_rows=24, flush_fraction=4 / 24)
    arrive(join, rows(list(range(16))), rows(list(range(8))))
    arrive(join, rows([9]), rows([4, 5]))
    seen, regions = join._state.seen_regions(), join.statistics.regions
    assert seen is not None
    assert regions is not None
    assert seen.rows[LEFT, 0].tolist()[::2] == [4, 4]
    assert regions.bounds[RIGHT, 0].tolist() == [0, HIGHEST_CODE], "of the right nothing has left"


def test_joins_are_counted_anew_after_each_flush_of_their_side(tmp_path: Path) -> None:
    join = diner(tmp_path, budget_rows=24, flush_fraction=4 / 24)
    arrive(join, rows(list(range(16))), rows(list(range(8))))
    regions = join.statistics.regions
    assert regions is not None
    assert regions.joins.sum(axis=2).tolist() == [[8], [8]]
    arrive(join, None, rows([0, 1, 99]))  # of the left some leave first; then 0 and 1 have a match each
    assert regions.joins.sum(axis=2).tolist() == [[2], [10]]


def test_a_hot_value_leaves_by_age_and_not_as_a_whole(tmp_path: Path) -> None:
    join = diner(tmp_path, budget_rows=40, flush_fraction=4 / 40)
    for batch in range(4):
        arrive(join, rows([7] * 8, range(8 * batch, 8 * batch + 8)), rows([500 + batch]))
    arrive(join, rows([7] * 8, range(32, 40)), None)
    [run] = join.inputs[LEFT].partitions[0].spilled
    assert run.n_rows == 8, "those that came together left together, and no others"
    kept = [row for one in join.inputs[LEFT].partitions[0].resident for row in one.rows["row"].to_pylist()]
    assert sorted(kept) == list(range(8, 40)), "the oldest are gone"
    check_invariants(join)


class Unequal:
    """Lets go of a part of a single code, and then of everything."""

    def choose(self, view: JoinView, needed_bytes: int) -> Any:  # noqa: ARG002 - the contract
        yield [EvictCodes(LEFT, 0, codes=codes(SIGN + 7), at_most_bytes=2 * ROW_BYTES)]
        yield [EvictAll(LEFT, 0), EvictAll(RIGHT, 0)]


def test_of_a_single_code_so_many_rows_can_be_asked_for(tmp_path: Path) -> None:
    algorithm = Algorithm("unequal", Unequal(), Never(), splits="codes by age", flushes=1)
    join = new_join(tmp_path, algorithm, budget_rows=10, order="values")
    for number in range(5):
        arrive(join, rows([7, 8], [2 * number, 2 * number + 1]), None)
    arrive(join, None, rows([9]))
    assert keys_in_memory(join, LEFT) == [7, 7, 7, 8, 8, 8, 8, 8]


def test_join_bits_regions_and_the_clock_survive_a_snapshot(tmp_path: Path) -> None:
    def go_on(join: TwoWayJoin[Any]) -> tuple[Any, ...]:
        arrive(join, rows([20, 21, 22, 23]), rows([21]))
        arrive(join, rows([3, 4, 5]), rows([11, 13]))
        return keys_in_memory(join, LEFT), keys_in_memory(join, RIGHT), joined_keys(join, LEFT)

    one, other = (diner(tmp_path / name, budget_rows=24, flush_fraction=4 / 24) for name in ("one", "other"))
    for join in (one, other):
        Path(join.inputs[0].store._directory).mkdir()
        arrive(join, rows(list(range(14))), rows([0, 1, 2, 4, 6, 8]))
        arrive(join, rows([2, 3, 30]), rows([30, 31]))
    plain = json.loads(json.dumps(other.snapshot()))
    again = diner(tmp_path / "other", budget_rows=24, flush_fraction=4 / 24)
    again.restore(plain)
    assert go_on(again) == go_on(one)
    assert joined_keys(one, LEFT)


def test_who_sees_no_regions_pays_nothing_for_them(tmp_path: Path) -> None:
    join = new_join(tmp_path, "rpj")
    arrive(join, rows([1, 2]), rows([1]))
    assert all(run.joined is None for side in join.inputs for run in side.partitions[0].resident)
    assert join.statistics.regions is None
    assert "regions" not in join.statistics.to_plain()


def test_the_clock_is_refused_where_there_are_no_join_bits(tmp_path: Path) -> None:
    class ByClock:
        def choose(self, view: JoinView, needed_bytes: int) -> Any:  # noqa: ARG002 - the contract
            yield [EvictUpTo(LEFT, 0, needed_bytes, "the clock's hand")]

    join = new_join(tmp_path, Algorithm("by clock", ByClock(), Never()), budget_rows=4)
    arrive(join, rows([1, 2, 3]), None)
    with pytest.raises(InvalidJoin, match="sees='regions'"):
        arrive(join, rows([1, 2, 3]), None)
    assert isinstance(ALGORITHMS["diner"].flush, Regions)
