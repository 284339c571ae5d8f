"""Verdicts on how long the first results take: each kind of claim with histories for which it holds and does not."""

from collections import Counter

import numpy as np
import pytest

from sooner.lab.experiment import Quantity
from sooner.lab.first_results import FirstResults, seconds_to_first
from sooner.lab.history import History

FIRST = FirstResults(100)


def history(seconds_to_100: float, stands_for: int = 1) -> History:
    """Results come evenly, and after so many seconds there are 100 of the paper's."""
    seconds = np.array([0.0, 500.0])
    results = 100 * seconds / seconds_to_100 / stands_for
    columns = {"seconds": seconds, "results": results}
    return History(columns, ("arriving",) * 2, 200.0, Counter(), 0, 0, 0, None, stands_for)


def verdict(quantity: Quantity, **seconds: float) -> str:
    return quantity.read({name: history(some) for name, some in seconds.items()}).verdict


def test_it_is_read_when_so_many_results_were_there() -> None:
    assert seconds_to_first(history(40.0), 100) == pytest.approx(40.0)
    assert seconds_to_first(history(40.0), 25) == pytest.approx(10.0)
    assert seconds_to_first(history(40.0, stands_for=5), 50) == pytest.approx(20.0)
    assert seconds_to_first(history(40.0), 10_000) == float("inf")


def test_the_first_moment_counts_where_nothing_comes_for_a_while() -> None:
    columns = {"seconds": np.array([0.0, 10.0, 50.0, 60.0]), "results": np.array([0.0, 100.0, 100.0, 200.0])}
    paused = History(columns, ("arriving",) * 4, 60.0, Counter(), 200, 0, 0, None)
    assert seconds_to_first(paused, 100) == pytest.approx(10.0)


@pytest.mark.parametrize(("mine", "expected"), [(69, "holds"), (71, "does not hold")])
def test_sooner_by_a_share_of_the_others_time(mine: float, expected: str) -> None:
    assert verdict(FIRST.sooner_by([("a", "b")], 0.30), a=mine, b=100) == expected


def test_sooner_in_each_set_up() -> None:
    pairs = [("a", "b"), ("c", "d")]
    assert verdict(FIRST.sooner(pairs), a=50, b=60, c=70, d=80) == "holds"
    assert verdict(FIRST.sooner(pairs), a=50, b=60, c=81, d=80) == "does not hold"


@pytest.mark.parametrize(("mine", "expected"), [(85, "holds"), (75, "does not hold"), (125, "does not hold")])
def test_similar(mine: float, expected: str) -> None:
    assert verdict(FIRST.similar("a", "b"), a=mine, b=100) == expected


def test_steady() -> None:
    assert verdict(FIRST.steady(["a", "b", "c"]), a=100, b=105, c=109) == "holds"
    assert verdict(FIRST.steady(["a", "b", "c"]), a=100, b=105, c=112) == "does not hold"


def test_a_lead_that_shrinks_and_one_that_grows() -> None:
    pairs = [("a", "b"), ("c", "d")]
    shrinking, growing = {"a": 50, "b": 100, "c": 50, "d": 80}, {"a": 50, "b": 80, "c": 50, "d": 100}
    assert verdict(FIRST.lead_shrinks(pairs), **shrinking) == verdict(FIRST.lead_grows(pairs), **growing) == "holds"
    assert verdict(FIRST.lead_shrinks(pairs), **growing) == "does not hold"
    assert verdict(FIRST.lead_grows(pairs), **shrinking) == "does not hold"


def test_more_before_the_clean_up() -> None:
    """Rows come for 200 seconds; one that has all of them by then has not more than another."""
    more = FIRST.more_before_clean_up([("a", "b")])
    assert verdict(more, a=100, b=400) == "holds"
    assert verdict(more, a=100, b=150) == "does not hold"


def test_a_share_of_the_bound() -> None:
    histories = {"a": history(100.0), "bound": history(80.0)}
    assert FIRST.share_of_bound("a", "bound").measure(histories) == pytest.approx(0.8)
    assert FIRST.seconds_of("a").measure(histories) == pytest.approx(100.0)
    assert FIRST.time_beside("a", "bound").measure(histories) == pytest.approx(1.25)


def test_who_never_has_them_is_behind() -> None:
    never = history(40.0)
    never = History({name: some[:1] for name, some in never.columns.items()}, ("done",), 0.0, Counter(), 0, 0, 0, None)
    both = {"a": history(50.0), "b": never}
    assert FIRST.sooner([("a", "b")]).read(both).verdict == "holds"
    assert FIRST.sooner([("b", "a")]).read(both).verdict == "does not hold"
