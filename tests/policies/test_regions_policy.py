"""DINER's flushing policy (DINER sec. 3.3), on views small enough to check by hand."""

import numpy as np
import pytest

from sooner.errors import InvalidJoin
from sooner.policies.flush.regions import Regions
from sooner.policies.view import Evict, EvictAll, EvictUpTo, JoinView, RegionsView
from sooner.sides import LEFT, RIGHT
from views import ROW_BYTES, unexplained, view_of

CLOCK = "the clock's hand"


def view_with(rows: list[list[list[int]]], joins: list[list[list[int]]], **others: object) -> JoinView:
    """Rows and joins are [side][partition][region]."""
    regions = RegionsView(np.array(rows), np.array(joins))
    return view_of(regions.rows.sum(axis=2).tolist(), regions=regions, **others)


def choice(view: JoinView, needed_rows: int) -> list[Evict]:
    return [eviction for group in Regions().choose(view, needed_rows * ROW_BYTES) for eviction in unexplained(group)]


def of(side: int, rows: int, codes_from: str, partition: int = 0) -> Evict:
    return EvictUpTo(side, partition, rows * ROW_BYTES, codes_from)


@pytest.mark.parametrize(
    ("joins", "codes_from"), [([1, 900, 800], "lowest"), ([900, 1, 800], CLOCK), ([900, 800, 1], "highest")]
)
def test_the_region_with_the_least_benefit_goes_first(joins: list[int], codes_from: str) -> None:
    view = view_with([[[10, 20, 10]], [[9, 9, 9]]], [[joins], [[0, 0, 0]]])
    assert choice(view, 5)[0] == of(LEFT, 5, codes_from)


def test_who_looks_on_is_told_what_a_region_was_worth() -> None:
    view = view_with([[[10, 20, 10]], [[9, 9, 9]]], [[[900, 1, 800]], [[0, 0, 0]]])
    [first] = next(iter(Regions().choose(view, ROW_BYTES)))
    assert first.why == "the middle values, with 0.05 results a row since the last flush"


def test_a_benefit_is_joins_for_each_row() -> None:
    # 30 joins of 30 rows are less than 12 of 10, or 11 of 10.
    view = view_with([[[10, 30, 10]], [[0, 0, 0]]], [[[12, 30, 11]], [[0, 0, 0]]])
    assert [eviction.codes_from for eviction in choice(view, 50)] == [CLOCK, "highest", "lowest"]


def test_the_victim_is_the_side_with_more_rows_whatever_joins() -> None:
    view = view_with([[[1, 5, 1]], [[1, 6, 1]]], [[[0, 0, 0]], [[99, 99, 99]]])
    assert choice(view, 1)[0].input == RIGHT


def test_before_the_first_flush_everything_is_in_the_middle() -> None:
    view = view_with([[[0, 20, 0]], [[0, 8, 0]]], [[[0, 7, 0]], [[0, 7, 0]]])
    assert choice(view, 5)[0] == of(LEFT, 5, CLOCK)


def test_what_one_region_lacks_comes_from_the_next_and_then_from_the_other_side() -> None:
    view = view_with([[[3, 0, 4]], [[2, 2, 2]]], [[[0, 0, 9]], [[5, 1, 5]]])
    assert choice(view, 10)[:3] == [of(LEFT, 3, "lowest"), of(LEFT, 4, "highest"), of(RIGHT, 2, CLOCK)]


def test_of_equal_benefits_the_upper_regions_counts_first_then_the_lowers() -> None:
    """Algorithm 2 asks in this order."""
    view = view_with([[[3, 3, 3]], [[0, 0, 0]]], [[[6, 6, 6]], [[0, 0, 0]]])
    assert [eviction.codes_from for eviction in choice(view, 9)] == ["highest", "lowest", CLOCK]


def test_all_partitions_are_compared() -> None:
    view = view_with([[[4, 4, 4], [4, 4, 4]], [[0, 0, 0]] * 2], [[[9, 9, 9], [9, 1, 9]], [[0, 0, 0]] * 2])
    assert choice(view, 2)[0] == of(LEFT, 2, CLOCK, partition=1)


@pytest.mark.parametrize("ended", [LEFT, RIGHT])
def test_when_a_side_has_ended_rows_of_the_other_go_first_and_all_of_them(ended: int) -> None:
    """Footnote 1: nothing comes any more that they could meet."""
    going_on = 1 - ended
    rows = [[[2, 2, 2]], [[2, 2, 2]]]
    rows[ended] = [[90, 90, 90]]
    view = view_with(rows, [[[9, 9, 9]], [[9, 9, 9]]], ended=(ended == LEFT, ended == RIGHT))
    evictions = choice(view, 10)
    assert evictions[0] == EvictAll(going_on, 0)
    assert evictions[1] == of(ended, 10 - 6, "highest")


def test_without_regions_it_says_what_is_missing() -> None:
    with pytest.raises(InvalidJoin, match="sees='regions'"):
        choice(view_of([[1], [1]]), 1)
