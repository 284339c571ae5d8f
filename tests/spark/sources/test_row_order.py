"""Rows have numbers, and the numbers always mean the same rows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sooner.spark.sources.row_order import NumberedRows, Order, RowGroup, permutation

sizes = st.lists(st.integers(0, 50), max_size=12)
orders = st.sampled_from(["file", "random"])


def numbered(rows: list[int], order: Order = "file", seed: int = 0) -> NumberedRows:
    return NumberedRows([RowGroup(0, group, size) for group, size in enumerate(rows)], order, seed)


def places(table: NumberedRows, start: int, end: int) -> list[tuple[int, int]]:
    """Group and place inside it, for each row."""
    return [
        (piece.row_group.group, place) for piece in table.pieces(start, end) for place in range(piece.first, piece.end)
    ]


@given(sizes, orders, st.integers(-5, 5))
def test_every_row_has_one_number(rows: list[int], order: Order, seed: int) -> None:
    table = numbered(rows, order, seed)
    assert table.rows == sum(rows)
    every = [(group, place) for group, size in enumerate(rows) for place in range(size)]
    assert sorted(places(table, 0, table.rows)) == every


@given(sizes, orders, st.data())
def test_a_stretch_of_numbers_is_the_same_however_it_is_cut(rows: list[int], order: Order, data: st.DataObject) -> None:
    table = numbered(rows, order, 3)
    start = data.draw(st.integers(0, table.rows))
    end = data.draw(st.integers(start, table.rows))
    tasks = data.draw(st.integers(1, 5))
    shares = table.shares(start, end, tasks)
    assert len(shares) <= tasks
    assert [place for share in shares for place in places(table, *share)] == places(table, start, end)


@given(sizes, st.integers(1, 60))
def test_batches_go_forward_within_the_limit_to_the_end(rows: list[int], most_rows: int) -> None:
    table = numbered(rows)
    ends = [0]
    while ends[-1] < table.rows:
        ends.append(table.batch_end(ends[-1], most_rows))
    assert ends[-1] == table.rows
    assert all(0 < end - start <= most_rows for start, end in pairwise(ends))


def test_a_batch_ends_with_a_row_group_if_one_ends_near() -> None:
    table = numbered([100, 100, 100])
    assert table.batch_end(0, 250) == 200
    assert table.batch_end(200, 250) == 300
    assert table.batch_end(0, 60) == 60
    assert table.batch_end(60, 60) == 100
    assert table.batch_end(90, 60) == 150  # rather than a batch of ten rows


def test_tasks_share_whole_row_groups_if_the_shares_stay_fair() -> None:
    assert numbered([100, 110, 90, 100]).shares(0, 400, 2) == [(0, 210), (210, 400)]
    assert numbered([400]).shares(0, 400, 2) == [(0, 200), (200, 400)]
    assert numbered([10]).shares(0, 1, 4) == [(0, 1)]
    assert numbered([10]).shares(5, 5, 4) == []


def test_the_shuffle_is_the_same_for_ever() -> None:
    """These numbers stand in checkpoints: they must not change with a version of anything."""
    assert permutation(8, seed=7, stream=1).tolist() == [6, 4, 2, 0, 7, 1, 3, 5]


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_shuffle_has_every_number_once(size: int) -> None:
    assert sorted(permutation(size, seed=-1, stream=2**40).tolist()) == list(range(size))


def test_streams_and_seeds_shuffle_differently() -> None:
    shuffles = {tuple(permutation(100, seed, stream)) for seed in range(5) for stream in range(5)}
    assert len(shuffles) == 25
