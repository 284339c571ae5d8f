"""Verdicts that can be otherwise: each kind of claim with histories for which it holds, does not, and is a tie."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sooner.lab.claims import (
    TENTHS,
    ahead,
    ahead_each_time,
    ahead_in_the_end,
    alike,
    best_ratio,
    cheaper,
    close,
    cost_per_result,
    early_share,
    growing,
    most_waiting,
    share_before_clean_up,
    share_of_bound,
    similar_clean_up,
    waiting_rows,
)
from sooner.lab.experiment import Claim
from sooner.lab.history import History


def history(
    results: Sequence[float], cost: float = 10.0, total: int = 200, clean_up_seconds: float = 5.0, stands_for: int = 1
) -> History:
    """So many results at each tenth of ten seconds; the cost grows evenly."""
    seconds = np.array([0.0, *(10 * tenth for tenth in TENTHS), 10 + clean_up_seconds])
    columns = {
        "seconds": seconds,
        "results": np.array([0.0, *results, total]),
        "cost_seconds": seconds * cost / 10,
        "buffered_rows": np.zeros(len(seconds)),
    }
    phases = ("arriving",) * 11 + ("done",)
    return History(columns, phases, 10.0, Counter(), int(results[-1]), 0, None, stands_for)


EVEN = history([10 * n for n in range(1, 11)])
MORE = history([11 * n for n in range(1, 11)])
NEARLY = history([10.01 * n for n in range(1, 11)])
LATE = history([*(9 * n for n in range(1, 10)), 110])  # behind, and ahead in the end


def verdict(read, **histories: History) -> str:
    return read(histories).verdict


@pytest.mark.parametrize(
    ("mine", "expected"), [(MORE, "holds"), (EVEN, "tie"), (NEARLY, "tie"), (LATE, "does not hold")]
)
def test_who_is_ahead_is_so_at_every_point(mine: History, expected: str) -> None:
    assert verdict(ahead("a", "b"), a=mine, b=EVEN) == expected


def swept(*early: int) -> tuple[dict[str, History], list[tuple[str, str]]]:
    """One that has so many early results in each set-up, and another that always has 100."""
    histories = {f"a {n}": history([mine] * 10) for n, mine in enumerate(early)}
    others = {f"b {n}": history([100] * 10) for n in range(len(early))}
    return histories | others, list(zip(histories, others, strict=True))


@pytest.mark.parametrize(
    ("early", "expected"), [((110, 150), "holds"), ((100, 100), "tie"), ((150, 99), "does not hold")]
)
def test_who_is_ahead_each_time_is_so_in_every_set_up(early: tuple[int, ...], expected: str) -> None:
    histories, pairs = swept(*early)
    assert verdict(ahead_each_time(pairs), **histories) == expected


def test_the_best_of_several_ratios_decides() -> None:
    histories, pairs = swept(110, 250, 90)
    assert best_ratio(pairs, 2.5)(histories).highest == 2.5
    assert verdict(best_ratio(pairs, 2.5), **histories) == "holds"
    assert verdict(best_ratio(pairs, 2.6), **histories) == "does not hold"


@pytest.mark.parametrize(
    ("early", "expected"), [((100, 90, 120), "holds"), ((100, 300, 100), "tie"), ((120, 300, 100), "does not hold")]
)
def test_an_advantage_grows_from_the_first_set_up_to_the_last(early: tuple[int, ...], expected: str) -> None:
    histories, pairs = swept(*early)
    assert verdict(growing(pairs), **histories) == expected


def test_those_are_alike_of_which_none_has_much_fewer() -> None:
    histories, _ = swept(100, 96, 98)
    names = ["a 0", "a 1", "a 2"]
    assert verdict(alike(names, 0.041), **histories) == "holds"
    assert verdict(alike(names, 0.03), **histories) == "does not hold"


def test_rows_that_waited_are_counted_as_the_papers_rows() -> None:
    histories = {"a": replace(EVEN, most_buffered_rows=30), "b": replace(EVEN, most_buffered_rows=2, stands_for=20)}
    assert verdict(waiting_rows(["a", "b"], most=40), **histories) == "holds"
    assert verdict(waiting_rows(["a", "b"], most=39), **histories) == "does not hold"
    assert verdict(waiting_rows(["a", "b"], least=31), **histories) == "does not hold"
    assert most_waiting("b").measure(histories) == 40


def test_who_is_ahead_at_some_points_and_behind_at_none_is_ahead() -> None:
    late_lead = history([*(10 * n for n in range(1, 10)), 120])
    assert verdict(ahead("a", "b"), a=late_lead, b=EVEN) == "holds"
    assert verdict(ahead("a", "b"), a=EVEN, b=late_lead) == "does not hold"


@pytest.mark.parametrize(("mine", "expected"), [(LATE, "holds"), (NEARLY, "tie"), (EVEN, "tie")])
def test_who_is_ahead_in_the_end_may_have_been_behind(mine: History, expected: str) -> None:
    assert verdict(ahead_in_the_end("a", "b"), a=mine, b=EVEN) == expected
    assert verdict(ahead_in_the_end("a", "b"), a=EVEN, b=LATE) == "does not hold"


@pytest.mark.parametrize(("least", "most", "expected"), [(0.4, 0.6, "holds"), (0.1, 0.3, "does not hold")])
def test_a_share_lies_in_a_range_or_not(least: float, most: float, expected: str) -> None:
    assert verdict(early_share("a", least, most), a=EVEN) == expected


def test_what_is_close_differs_by_little() -> None:
    assert verdict(close("a", "b", 0.02), a=NEARLY, b=EVEN) == "holds"
    assert verdict(close("a", "b", 0.02), a=MORE, b=EVEN) == "does not hold"
    assert verdict(close("a", "b", 0.02), a=EVEN, b=MORE) == "does not hold"


def test_who_is_cheaper_costs_less_per_result_at_every_point_in_question() -> None:
    assert verdict(cheaper("a", "b"), a=MORE, b=EVEN) == "holds"
    assert verdict(cheaper("a", "b"), a=NEARLY, b=EVEN) == "tie"
    assert verdict(cheaper("a", "b"), a=LATE, b=EVEN) == "does not hold"
    assert verdict(cheaper("a", "b", after=1.0), a=LATE, b=EVEN) == "holds"
    assert verdict(cheaper("a", "b", before=0.1), a=LATE, b=EVEN) == "does not hold"


def test_clean_ups_are_similar_or_not() -> None:
    assert verdict(similar_clean_up("a", "b"), a=EVEN, b=history([1] * 10, clean_up_seconds=9)) == "holds"
    assert verdict(similar_clean_up("a", "b"), a=EVEN, b=history([1] * 10, clean_up_seconds=11)) == "does not hold"


def test_a_claim_holds_if_it_does_with_every_seed_and_tells_the_whole_range() -> None:
    claim = Claim("a is ahead", "ahead", ahead("a", "b"), why_not="because")
    ahead_twice = claim.judge([{"a": MORE, "b": EVEN}, {"a": history([12 * n for n in range(1, 11)]), "b": EVEN}])
    assert ahead_twice == {
        "what": "a is ahead",
        "expected": "ahead",
        "ours": "1.100 to 1.200 times as many",
        "holds": True,
        "verdict": "holds",
    }
    mixed = claim.judge([{"a": MORE, "b": EVEN}, {"a": LATE, "b": EVEN}])
    assert mixed["ours"] == "0.900 to 1.100 times as many; holds with 1 of 2 seeds"
    assert (mixed["holds"], mixed["verdict"], mixed["why"]) == (False, "does not hold", "because")
    tie = claim.judge([{"a": EVEN, "b": EVEN}, {"a": NEARLY, "b": EVEN}])
    assert (tie["holds"], tie["verdict"]) == (False, "tie")


def test_a_measurement_has_a_median_and_its_spread_and_no_verdict() -> None:
    by_seed = [{"a": EVEN}, {"a": MORE}, {"a": LATE}]
    assert share_before_clean_up("a").take(by_seed) == {
        "what": "a: share before the clean-up",
        "ours": "55.0% (50.0% to 55.0%)",
    }
    assert share_of_bound("a", "b").take([{"a": EVEN, "b": MORE}])["ours"] == "90.9%"
    assert cost_per_result("a").take([{"a": EVEN}])["ours"] == "100000.00 µs"
    assert cost_per_result("a").take([{"a": history([10] * 10, stands_for=100)}])["ours"] == "10000.00 µs"
