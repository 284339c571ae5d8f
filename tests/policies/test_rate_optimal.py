"""RPJ's optimal flush, section 4, in the paper's own numbers."""

import itertools
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.view import EvictUpTo, JoinView
from sooner.sides import LEFT, RIGHT
from views import ROW_BYTES, random_views, rows_taken, view_of

TO_THE_LETTER = RateOptimal(tolerance=0)


def test_the_worked_example_of_section_4_1() -> None:
    # p1(1) = 35%, p1(2) = 25%, p2(1) = 10%, p2(2) = 30%; 10 tuples of each relation and value; 15 must go.
    view = view_of([[10, 10], [10, 10]], arrived_rows=[[35, 25], [10, 30]], recent_rows=[60.0, 40.0])
    first, second = itertools.islice(TO_THE_LETTER.choose(view, 15 * ROW_BYTES), 2)
    chances = [f"the next row can match one of these with a chance of {chance}" for chance in (0.1, 0.25)]
    assert first == [EvictUpTo(LEFT, 0, at_most_bytes=10 * ROW_BYTES, why=chances[0])]
    assert second == [EvictUpTo(RIGHT, 1, at_most_bytes=5 * ROW_BYTES, why=chances[1])]
    left_over = view.resident_rows - rows_taken(view, [first, second], 15)
    assert left_over.tolist() == [[0, 10], [10, 5]]


def test_the_recent_speed_of_a_side_counts_and_not_how_much_came_of_it() -> None:
    # Both sides sent as much so far, but lately only the left did: rows of the left have nobody to wait for.
    view = view_of([[5, 5], [5, 5]], arrived_rows=[[10, 10], [10, 10]], recent_rows=[30.0, 1.0])
    assert [eviction.input for [eviction] in TO_THE_LETTER.choose(view, 20 * ROW_BYTES)] == [LEFT, LEFT, RIGHT, RIGHT]


def test_rows_that_wait_for_an_ended_side_go_first() -> None:
    # By the counts alone, the left rows of partition 0 (chance 45%) would be the last to go.
    view = view_of([[4, 4], [4, 4]], arrived_rows=[[10, 90], [90, 10]], ended=(False, True))
    evictions = [eviction for [eviction] in TO_THE_LETTER.choose(view, 16 * ROW_BYTES)]
    assert {(e.input, e.partition) for e in evictions[:2]} == {(LEFT, 0), (LEFT, 1)}
    assert [(e.input, e.partition) for e in evictions[2:]] == [(RIGHT, 0), (RIGHT, 1)]


def test_chances_that_are_as_good_as_equal_let_the_largest_go_first() -> None:
    view = view_of([[1, 9], [0, 0]], arrived_rows=[[500, 500], [1000, 1001]])
    for policy, partition in ((TO_THE_LETTER, 0), (RateOptimal(tolerance=0.05), 1)):
        [first] = next(iter(policy.choose(view, 1)))
        assert first.partition == partition


def expected_results(view: JoinView, kept: Any) -> Any:
    """Equation 3 (and 4, by partitions): what the rows kept are worth, for any number of choices at once."""
    total = np.maximum(view.arrived_rows.sum(axis=1, keepdims=True), 1)
    recent = view.recent_rows if view.recent_rows.any() else np.ones(2)
    alive = ~np.array(view.ended)
    chance = view.arrived_rows / total * (recent / recent.sum() * alive)[:, None]
    return (kept[..., LEFT, :] * chance[RIGHT] + kept[..., RIGHT, :] * chance[LEFT]).sum(axis=-1)


@given(view=random_views(partitions=2, most_rows=5), share=st.floats(0, 1))
@settings(max_examples=200)
def test_lemma_1_no_other_eviction_of_as_many_rows_promises_more_results(view: JoinView, share: float) -> None:
    needed_rows = int(share * view.resident_rows.sum())
    kept = view.resident_rows - rows_taken(view, TO_THE_LETTER.choose(view, needed_rows * ROW_BYTES), needed_rows)
    assert kept.sum() == view.resident_rows.sum() - needed_rows
    ranges = [range(rows + 1) for rows in view.resident_rows.ravel()]
    every = np.array(list(itertools.product(*ranges))).reshape(-1, *view.resident_rows.shape)
    alternatives = every[every.sum(axis=(1, 2)) == kept.sum()]
    best = expected_results(view, alternatives).max()
    np.testing.assert_allclose(expected_results(view, kept), best, atol=1e-12)
