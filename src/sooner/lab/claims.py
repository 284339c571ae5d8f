"""What papers claim of algorithms over time: quantities as the papers define them, read off histories.

Whoever is within a tie of another at every point is not ahead of it. Who falls behind by more than that at any point is
not ahead either.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from sooner.lab.experiment import Histories, Measurement, Quantity, Reading, Verdict
from sooner.lab.history import History
from sooner.lab.tolerances import tolerance

TENTHS: Final = tuple(tenth / 10 for tenth in range(1, 11))
TIE: Final = "a tie"
OF_THE_PAPER: Final = "a number of the paper"

Pairs = Sequence[tuple[str, str]]  # a leader and another, in each of several set-ups
Measure = Callable[[History], float]


def ahead(leader: str, other: str, after: float = 0.0) -> Quantity:
    """At every tenth of the time in which rows arrive, from `after` on, the leader has as many results, or more."""

    def read(histories: Histories) -> Reading:
        mine, theirs = (_results_by_tenth(histories, name, after) for name in (leader, other))
        return _compared([over(a, b) for a, b in zip(mine, theirs, strict=True)])

    since = f" from {after:.0%} of them on" if after else ""
    return Quantity(f"results out at each tenth of the arrivals{since}, as a multiple of the other's", read, TIE)


def far_ahead(leader: str, other: str) -> Quantity:
    """When the last row has arrived the leader has far more results."""
    least = tolerance("far more")

    def read(histories: Histories) -> Reading:
        [mine], [theirs] = (_results_by_tenth(histories, name, after=1.0) for name in (leader, other))
        return _one(over(mine, theirs), "{:.2f}", " times as many", holds=mine >= least * theirs)

    return Quantity("results out when the last row has arrived, as a multiple of the other's", read, "far more")


def far_better(leader: str, other: str) -> Quantity:
    """When the clean-up begins, the leader has reported far more results: the other is a poor choice."""
    what, least = "results out before the clean-up, as a multiple of the other's", tolerance("a poor choice")
    early = ratio(lambda history: history.early_results, leader, other)
    return within(what, early, "{:.2f}", " times as many", least, float("inf"), "a poor choice")


def ahead_in_the_end(leader: str, other: str) -> Quantity:
    """When the clean-up begins, the leader has reported more results."""
    return ahead_each_time([(leader, other)])


def ahead_each_time(pairs: Pairs) -> Quantity:
    """In each of several set-ups the leader has more results when the clean-up begins."""
    what = "results out before the clean-up, as a multiple of the other's, in each set-up"
    return Quantity(what, lambda histories: _compared(_early_ratios(histories, pairs)), TIE)


def best_ratio(pairs: Pairs, times: float) -> Quantity:
    """Where the leader is furthest ahead of one other, it has so many times as many results before the clean-up."""
    least = (1 - tolerance(OF_THE_PAPER)) * times

    def read(histories: Histories) -> Reading:
        best = max(_early_ratios(histories, pairs))
        return _one(best, "{:.2f}", " times as many", holds=best >= least)

    what = "results out before the clean-up, as a multiple of the other's, in the set-up where that is most"
    return Quantity(what, read, OF_THE_PAPER)


def more_than(pairs: Pairs, times: float) -> Quantity:
    """Where the leader is furthest ahead of one other, it has more than so many times as many results."""

    def read(histories: Histories) -> Reading:
        best = max(_early_ratios(histories, pairs))
        return _one(best, "{:.2f}", " times as many", holds=best > times)

    what = "results out before the clean-up, as a multiple of the other's, in the set-up where that is most"
    return Quantity(what, read, "none")


def growing(pairs: Pairs) -> Quantity:
    """From each set-up to the next the leader's advantage grows, or falls back a little."""
    a_step_back = tolerance("a step back")

    def read(histories: Histories) -> Reading:
        ratios = _early_ratios(histories, pairs)
        steps = [over(after, before) for before, after in pairwise(ratios)]
        verdict: Verdict = "does not hold" if min(steps) < 1 - a_step_back else _verdict([over(ratios[-1], ratios[0])])
        return Reading(min(steps), max(steps), "{:.2f}", verdict, " times the ratio before it")

    return Quantity("by how much that multiple changes from one set-up to the next", read, "a step back")


def marginal(names: Sequence[str]) -> Quantity:
    """The one with the fewest early results has hardly fewer than the one with the most."""
    most = tolerance("very marginal")

    def read(histories: Histories) -> Reading:
        early = [histories[name].early_results for name in names]
        spread = 1 - min(early) / max(early)
        return _one(spread, "{:.1%}", " fewer", holds=spread <= most)

    what = "results out before the clean-up: by how much the fewest are below the most"
    return Quantity(what, read, "very marginal")


def similar_all_along(name: str, other: str) -> Quantity:
    """At every tenth of the arrivals the two have nearly as many results."""
    most = tolerance("very similar")

    def read(histories: Histories) -> Reading:
        mine, theirs = (_results_by_tenth(histories, one, after=0.0) for one in (name, other))
        apart = [over(a, b) - 1 for a, b in zip(mine, theirs, strict=True)]
        holds = max(map(abs, apart)) <= most
        return Reading(min(apart), max(apart), "{:+.1%}", _held(holds))

    return Quantity("results out at each tenth of the arrivals: how far from the other's", read, "very similar")


def waiting_in_reaction(names: Sequence[str], least: int, most: float = float("inf")) -> Quantity:
    """Rows that waited in the reactive phase: in none of these too many, and in one of them so many at least."""
    allowed = most + tolerance("rows on the way")

    def read(histories: Histories) -> Reading:
        waited = [_waiting_in_reaction(histories[name]) for name in names]
        holds = least <= max(waited) <= allowed
        return Reading(min(waited), max(waited), "{:,.0f}", _held(holds), " rows")

    return Quantity("the most rows in the input buffer in the reactive phase (table 3)", read, "rows on the way")


def so_many_wait(name: str, rows: int) -> Quantity:
    """About so many rows waited in the reactive phase at most."""
    off = tolerance(OF_THE_PAPER)

    def value(histories: Histories) -> float:
        return _waiting_in_reaction(histories[name])

    what = "the most rows in the input buffer in the reactive phase (table 3)"
    return within(what, value, "{:,.0f}", " rows", rows * (1 - off), rows * (1 + off), OF_THE_PAPER)


def overflows(names: Sequence[str], memory_rows: int) -> Quantity:
    """In each of these more rows wait in the reactive phase than memory has room for."""

    def read(histories: Histories) -> Reading:
        waited = [_waiting_in_reaction(histories[name]) for name in names]
        return Reading(min(waited), max(waited), "{:,.0f}", _held(min(waited) > memory_rows), " rows")

    what = f"the most rows in the input buffer in the reactive phase; memory has room for {memory_rows:,}"
    return Quantity(what, read, "none")


def most_of_it(name: str) -> Quantity:
    """Most results are out when the clean-up begins."""
    return _share(name, tolerance("most"), 1.0, "most")


def about_a_share(name: str, share: float) -> Quantity:
    """About this share of all results is out when the clean-up begins."""
    points = tolerance("about a share")
    return _share(name, share - points, share + points, "about a share")


def more_than_a_share(name: str, share: float) -> Quantity:
    """More than this share of all results is out when the clean-up begins."""
    return _share(name, share, 1.0, "none")


def smaller_by_little(names: Sequence[str]) -> Quantity:
    """From each to the next, the share of results that are out when the clean-up begins falls by little."""
    most = tolerance("a modest decrease")

    def read(histories: Histories) -> Reading:
        shares = [histories[name].early_share for name in names]
        falls = [1 - over(after, before) for before, after in pairwise(shares)]
        return Reading(min(falls), max(falls), "{:.1%}", _held(max(falls) <= most), " less than before it")

    what = "results out before the clean-up, as a share of all: by how much it falls from one to the next"
    return Quantity(what, read, "a modest decrease")


def as_many(name: str, other: str) -> Quantity:
    """Early results hardly differ."""
    most = tolerance("rounding")

    def read(histories: Histories) -> Reading:
        difference = over(histories[name].early_results, histories[other].early_results) - 1
        return _one(difference, "{:+.2%}", "", holds=abs(difference) <= most)

    return Quantity("results out before the clean-up: how far from the other's", read, "rounding")


def cheaper(leader: str, other: str, after: float = 0.0, before: float = 1.0) -> Quantity:
    """The leader costs less per result than the other, at each tenth of the arrivals from `after` to `before`."""

    def read(histories: Histories) -> Reading:
        costs = [_costs(histories, name, after, before) for name in (leader, other)]
        ratios = [over(mine, theirs) for mine, theirs in zip(*costs, strict=True)]
        verdict = _verdict([over(1, ratio) for ratio in ratios])
        return Reading(min(ratios), max(ratios), "{:.2f}", verdict, " times the cost")

    what = "seconds of disk and processor spent so far, over the results so far, at each tenth of the arrivals"
    return Quantity(what, read, TIE)


def similar_clean_up(*names: str) -> Quantity:
    """The slowest clean-up takes hardly longer than the fastest."""
    what = "seconds from the last arrival to the end, the slowest over the fastest"
    return _slowest(names, lambda history: history.clean_up_seconds, what, "similar clean-ups")


def comparable_completion(*names: str) -> Quantity:
    """The slowest join takes hardly longer than the fastest, from the first arrival to the last result."""
    what = "seconds from the first arrival to the end, the slowest over the fastest"
    return _slowest(names, lambda history: history.end_seconds, what, "comparable completion")


def done_sooner(pairs: Pairs) -> Quantity:
    """In each set-up the leader has all results sooner than the other."""

    def read(histories: Histories) -> Reading:
        ratios = [histories[leader].end_seconds / histories[other].end_seconds for leader, other in pairs]
        return Reading(min(ratios), max(ratios), "{:.2f}", _verdict([1 / ratio for ratio in ratios]), " times as long")

    return Quantity("seconds to the last result, as a multiple of the other's, in each set-up", read, TIE)


# Measurements


def share_before_clean_up(name: str) -> Measurement:
    return Measurement(f"{name}: share before the clean-up", lambda histories: histories[name].early_share, "{:.1%}")


def most_waiting(name: str) -> Measurement:
    """In the arriving phase, where rows wait because a flush takes long, and in the reactive one."""

    def measure(histories: Histories) -> float:
        return histories[name].most_buffered_rows * histories[name].stands_for

    return Measurement(f"{name}: rows that waited at most, in all phases", measure, "{:,.0f}")


def most_waiting_in_reaction(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return _waiting_in_reaction(histories[name])

    return Measurement(f"{name}: rows that waited at most, in the reactive phase", measure, "{:,.0f}")


def clean_up_seconds(name: str) -> Measurement:
    return Measurement(f"{name}: clean-up", lambda histories: histories[name].clean_up_seconds, "{:,.0f} s")


def seconds_to_end(name: str) -> Measurement:
    return Measurement(f"{name}: end to end", lambda histories: histories[name].end_seconds, "{:,.0f} s")


def early_ratio(name: str, other: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return histories[name].early_results / histories[other].early_results

    return Measurement(f"{name}: early results, as a multiple of those of {other}", measure, "{:.3f}")


def cost_per_result(name: str) -> Measurement:
    """The cost per result, in microseconds, when the last row has arrived."""

    def measure(histories: Histories) -> float:
        history = histories[name]
        return 1e6 * history.cost_per_result_at(history.last_arrival_seconds)

    return Measurement(f"{name}: cost per result when the last row has come", measure, "{:.2f} µs")


def share_of_bound(name: str, bound: str) -> Measurement:
    """Early results as a share of those of the policy that knows the future."""

    def measure(histories: Histories) -> float:
        return histories[name].early_results / histories[bound].early_results

    return Measurement(
        f"{name}: early results, as a share of those of a policy that knows the future", measure, "{:.1%}"
    )


# How they are read


def over(some: float, other: float) -> float:
    """Of mutants there may be nothing at all: then it is endless, or no number, and nothing is said to hold."""
    if other:
        return some / other
    return float("inf") if some else float("nan")


def ratio(measure: Measure, name: str, other: str) -> Callable[[Histories], float]:
    """What is measured of the one, over the same of the other."""
    return lambda histories: over(measure(histories[name]), measure(histories[other]))


def within(
    what: str, value: Callable[[Histories], float], shown: str, unit: str, least: float, most: float, named: str
) -> Quantity:
    """A number that is to lie between two."""

    def read(histories: Histories) -> Reading:
        number = value(histories)
        return _one(number, shown, unit, holds=least <= number <= most)

    return Quantity(what, read, named)


def _one(value: float, shown: str, unit: str, *, holds: bool) -> Reading:
    return Reading(value, value, shown, _held(holds), unit)


def _held(holds: bool) -> Verdict:
    return "holds" if holds else "does not hold"


def _share(name: str, least: float, most: float, named: str) -> Quantity:
    what = "results out before the clean-up, as a share of all"
    return within(what, lambda histories: histories[name].early_share, "{:.1%}", "", least, most, named)


def _slowest(names: Sequence[str], measure: Measure, what: str, named: str) -> Quantity:
    def value(histories: Histories) -> float:
        seconds = [measure(histories[name]) for name in names]
        return over(max(seconds), min(seconds))

    return within(what, value, "{:.2f}", " times as long as the fastest", 1.0, tolerance(named), named)


def _waiting_in_reaction(history: History) -> int:
    return history.most_buffered_in_reaction * history.stands_for


def _early_ratios(histories: Histories, pairs: Pairs) -> list[float]:
    return [over(histories[leader].early_results, histories[other].early_results) for leader, other in pairs]


def _compared(ratios: Sequence[float]) -> Reading:
    return Reading(min(ratios), max(ratios), "{:.3f}", _verdict(ratios), " times as many")


def _verdict(ratios: Sequence[float]) -> Verdict:
    tie = tolerance(TIE)
    if min(ratios) < 1 - tie:
        return "does not hold"
    return "holds" if max(ratios) > 1 + tie else "tie"


def _results_by_tenth(histories: Histories, name: str, after: float) -> list[float]:
    history = histories[name]
    return [history.results_at(tenth * history.last_arrival_seconds) for tenth in TENTHS if tenth >= after]


def _costs(histories: Histories, name: str, after: float, before: float) -> list[float]:
    history = histories[name]
    tenths = [tenth for tenth in TENTHS if after <= tenth <= before]
    return [history.cost_per_result_at(tenth * history.last_arrival_seconds) for tenth in tenths]
