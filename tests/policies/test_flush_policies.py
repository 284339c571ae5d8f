"""What each flush policy picks, on views small enough to check by hand, and what all of them promise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.named_algorithms import ALGORITHMS
from sooner.policies.flush.all import All
from sooner.policies.flush.balanced import Balanced
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.never import Never
from sooner.policies.flush.random import Random
from sooner.policies.flush.rate_optimal import RateOptimal
from sooner.policies.flush.smallest import Smallest
from sooner.policies.view import EvictUpTo, FlushPolicy, JoinView
from sooner.sides import LEFT, RIGHT
from views import ROW_BYTES, random_views, view_of

POLICIES: dict[str, FlushPolicy] = {
    **{name: algorithm.flush for name, algorithm in ALGORITHMS.items() if name != "symmetric_hash"},
    "one side, largest": Largest("one side"),
    "one side, smallest": Smallest("one side"),
    "to the letter": RateOptimal(tolerance=0),
    "another seed": Random(seed=7),
}
SOME_ROWS = view_of([[5, 0, 2], [3, 4, 1]])


def picks(policy: FlushPolicy, view: JoinView, needed_bytes: int = 1) -> list[tuple[int, int]]:
    return [(one.input, one.partition) for group in policy.choose(view, needed_bytes) for one in group]


def test_largest_takes_the_largest_side_of_a_partition_first() -> None:
    assert picks(Largest(), SOME_ROWS) == [(LEFT, 0), (RIGHT, 1), (RIGHT, 0), (LEFT, 2), (RIGHT, 2)]


def test_largest_of_both_sides_takes_the_partition_that_is_largest_as_a_pair() -> None:
    assert picks(Largest("both sides"), SOME_ROWS) == [(LEFT, 0), (RIGHT, 0), (RIGHT, 1), (LEFT, 2), (RIGHT, 2)]


def test_smallest_takes_the_smallest_side_of_a_partition_first_and_skips_what_is_empty() -> None:
    assert picks(Smallest(), SOME_ROWS) == [(RIGHT, 2), (LEFT, 2), (RIGHT, 0), (RIGHT, 1), (LEFT, 0)]


def test_smallest_of_both_sides_takes_the_partition_that_is_smallest_as_a_pair() -> None:
    assert picks(Smallest("both sides"), SOME_ROWS) == [(LEFT, 2), (RIGHT, 2), (RIGHT, 1), (LEFT, 0), (RIGHT, 0)]


def test_balanced_takes_the_most_even_of_the_large_pairs() -> None:
    # Sizes 12, 11, 2 and 15 are 10 on average; partition 2 is the most even of all, but not large.
    view = view_of([[8, 6, 1, 14], [4, 5, 1, 1]])
    assert picks(Balanced(), view)[:4] == [(LEFT, 1), (RIGHT, 1), (LEFT, 0), (RIGHT, 0)]
    assert picks(Balanced(), view)[-2:] == [(LEFT, 2), (RIGHT, 2)]


def test_all_takes_everything() -> None:
    assert picks(All(), SOME_ROWS) == [(LEFT, 0), (RIGHT, 0), (RIGHT, 1), (LEFT, 2), (RIGHT, 2)]


def test_never_takes_nothing() -> None:
    assert picks(Never(), SOME_ROWS, needed_bytes=10**9) == []


def test_random_depends_on_its_seed_and_the_tick_and_on_nothing_else() -> None:
    views = [view_of([[1] * 6, [1] * 6], tick=tick) for tick in range(5)]
    orders = {(seed, view.tick): tuple(picks(Random(seed), view)) for seed in range(5) for view in views}
    assert orders == {(seed, view.tick): tuple(picks(Random(seed), view)) for seed in range(5) for view in views}
    assert len(set(orders.values())) == len(orders)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@given(view=random_views(), needed_rows=st.integers(1, 100))
@settings(max_examples=60)
def test_every_flush_policy_keeps_the_contract(policy: FlushPolicy, view: JoinView, needed_rows: int) -> None:
    needed_bytes = needed_rows * ROW_BYTES
    groups = [list(group) for group in policy.choose(view, needed_bytes)]
    evictions = [eviction for group in groups for eviction in group]
    places = [(eviction.input, eviction.partition, getattr(eviction, "codes_from", None)) for eviction in evictions]
    freed_bytes = 0
    for eviction in evictions:
        here_bytes = int(view.resident_bytes[eviction.input, eviction.partition])
        assert here_bytes > 0, "an eviction names rows that are not there"
        freed_bytes += min(eviction.at_most_bytes, here_bytes) if isinstance(eviction, EvictUpTo) else here_bytes
    assert len(set(places)) == len(places), "the same place is evicted twice"
    assert freed_bytes >= min(needed_bytes, int(view.resident_bytes.sum()))
    assert groups == [list(group) for group in policy.choose(view, needed_bytes)], "the same view gave another choice"
