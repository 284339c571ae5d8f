"""Runs: taking, slicing and merging keep rows, codes and stamps together."""

from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from run_building import content, contents, run_of
from sooner.errors import StreamTooLong
from sooner.runs.run import HELPER_BYTES, NEVER, STILL_HERE, Run, arrived_between, merge, next_tick

HIGHEST_CODE = 2**64 - 1

codes = st.one_of(st.integers(0, 6), st.sampled_from([2**63, HIGHEST_CODE]))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    some = sorted(draw(st.lists(codes, min_size=1, max_size=12)))

    def stamp() -> int | np.ndarray:
        ticks = draw(st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), min_size=len(some), max_size=len(some))))
        return ticks if isinstance(ticks, int) else np.array(ticks, np.int32)

    return run_of(some, arrived=stamp(), departed=stamp(), met_disk=stamp())


@given(parts=st.lists(runs(), min_size=1, max_size=7))
@settings(max_examples=100)
def test_a_merged_run_is_sorted_and_has_each_row_with_its_own_stamps(parts: list[Run]) -> None:
    merged = merge(parts)
    assert (merged.codes[1:] >= merged.codes[:-1]).all()
    assert sorted(content(merged)) == sorted(contents(parts))


@given(run=runs(), data=st.data())
@settings(max_examples=100)
def test_runs_that_lie_one_after_the_other_become_what_they_are_of(run: Run, data: st.DataObject) -> None:
    joined = np.array(data.draw(st.lists(st.booleans(), min_size=len(run), max_size=len(run))))
    whole = replace(run, joined=joined)
    ends = [at for at in range(1, len(run)) if run.codes[at - 1] < run.codes[at]]  # a code is in one part
    cuts = sorted(data.draw(st.sets(st.sampled_from(ends)))) if ends else []
    parts = [whole.slice(begin, end) for begin, end in pairwise([0, *cuts, len(run)])]
    with mock.patch("sooner.runs.run.MANY_ROWS", 1):
        merged = merge(data.draw(st.permutations([*parts, whole.slice(0, 0)])))
    assert content(merged) == content(whole)
    assert merged.joined is not None
    assert merged.joined.tolist() == joined.tolist()


def test_runs_that_share_a_stamp_keep_it_as_one_number() -> None:
    merged = merge([run_of([1, 3], arrived=4), run_of([2, 2], arrived=5)])
    assert merged.departed == STILL_HERE
    assert merged.arrived.tolist() == [4, 5, 5, 4]


def test_merging_runs_adds_up_their_bytes_exactly() -> None:
    parts = [run_of([1, 2, 3]), run_of([2, 9], arrived=2)]
    assert [part.n_bytes for part in parts] == [3 * (8 + HELPER_BYTES), 2 * (8 + HELPER_BYTES)]
    assert merge(parts).n_bytes == sum(part.n_bytes for part in parts)


@given(run=runs(), low=codes, high=st.one_of(codes, st.just(2**64)))
@settings(max_examples=100)
def test_between_is_a_filter_by_code(run: Run, low: int, high: int) -> None:
    if low > high:
        low, high = high, low
    assert content(run.between(low, high)) == [row for row in content(run) if low <= row[0] < high]


@given(run=runs(), after=st.integers(0, 9), until=st.integers(0, 9))
@settings(max_examples=100)
def test_arrived_between_is_a_filter_by_arrival(run: Run, after: int, until: int) -> None:
    found = arrived_between(run, after, until)
    arrived = np.broadcast_to(np.asarray(run.arrived), len(run)).tolist()
    expected = [row for row, tick in zip(content(run), arrived, strict=True) if after < tick <= until]
    assert content(found) == expected


@given(run=runs(), data=st.data())
@settings(max_examples=100)
def test_take_and_slice_pick_rows_with_their_stamps(run: Run, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, len(run) - 1), unique=True).map(sorted))
    taken = run.take(np.array(positions, np.int64))
    assert content(taken) == [content(run)[position] for position in positions]
    begin = data.draw(st.integers(0, len(run)))
    end = data.draw(st.integers(begin, len(run)))
    assert content(run.slice(begin, end)) == content(run)[begin:end]


def test_what_was_taken_does_not_hold_the_rest_in_memory() -> None:
    large = run_of(range(10_000))
    assert large.take(np.array([5])).n_bytes == 8 + HELPER_BYTES
    buffers = large.take(np.array([5])).rows.column(0).buffers()
    assert sum(buffer.size for buffer in buffers if buffer is not None) < 1000


def test_a_run_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        run_of([1]).arrived = 2  # type: ignore[misc]


def test_ticks_end_before_they_mean_something_else() -> None:
    assert next_tick(NEVER) == 1
    assert next_tick(STILL_HERE - 2) == STILL_HERE - 1
    with pytest.raises(StreamTooLong, match=r"2,147,483,646 times.*begin anew with an empty state"):
        next_tick(STILL_HERE - 1)
