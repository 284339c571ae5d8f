"""What papers claim of algorithms over time, as ways to read histories.

Whoever is within TIE of another at every point is not ahead of it: that is a tie. Who falls behind by more than that at
any point is not ahead either.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sooner.lab.experiment import Histories, Measurement, Reading, Verdict

TENTHS: Final = tuple(tenth / 10 for tenth in range(1, 11))
TIE: Final = 0.005

Read = Callable[[Histories], Reading]


def ahead(leader: str, other: str, after: float = 0.0) -> Read:
    """At every tenth of the time in which rows arrive, from `after` on, the leader has as many results, or more."""

    def read(histories: Histories) -> Reading:
        mine, theirs = (_results_by_tenth(histories, name, after) for name in (leader, other))
        return _compared([a / b if b else float("inf") for a, b in zip(mine, theirs, strict=True)])

    return read


def ahead_in_the_end(leader: str, other: str) -> Read:
    """When the clean-up begins, the leader has reported more results."""

    def read(histories: Histories) -> Reading:
        return _compared([histories[leader].early_results / histories[other].early_results])

    return read


def ahead_each_time(pairs: Sequence[tuple[str, str]]) -> Read:
    """In each of several set-ups, (leader, other), the leader has more results when the clean-up begins."""
    return lambda histories: _compared(_early_ratios(histories, pairs))


def best_ratio(pairs: Sequence[tuple[str, str]], least: float) -> Read:
    """Where the leader is furthest ahead, it has so many times as many results when the clean-up begins."""

    def read(histories: Histories) -> Reading:
        best = max(_early_ratios(histories, pairs))
        return Reading(best, best, "{:.2f}", "holds" if best >= least else "does not hold", " times as many")

    return read


def growing(pairs: Sequence[tuple[str, str]]) -> Read:
    """From the first set-up to the last the leader's advantage grows."""

    def read(histories: Histories) -> Reading:
        first, *_, last = _early_ratios(histories, pairs)
        return Reading(last / first, last / first, "{:.2f}", _verdict([last / first]), " times the first ratio")

    return read


def alike(names: Sequence[str], tolerance: float) -> Read:
    """The one with the fewest early results has less than this share fewer than the one with the most."""

    def read(histories: Histories) -> Reading:
        early = [histories[name].early_results for name in names]
        spread = 1 - min(early) / max(early)
        return Reading(spread, spread, "{:.1%}", "holds" if spread <= tolerance else "does not hold", " fewer")

    return read


def waiting_rows(names: Sequence[str], least: int = 0, most: float = float("inf")) -> Read:
    """In each of these at most, or at least, so many rows waited at a time."""

    def read(histories: Histories) -> Reading:
        waited = [histories[name].most_buffered_rows * histories[name].stands_for for name in names]
        holds = least <= min(waited) and max(waited) <= most
        return Reading(min(waited), max(waited), "{:,.0f}", "holds" if holds else "does not hold", " rows")

    return read


def early_share(name: str, least: float, most: float = 1.0) -> Read:
    """The share of all results that is out when the clean-up begins."""

    def read(histories: Histories) -> Reading:
        share = histories[name].early_share
        return Reading(share, share, "{:.1%}", "holds" if least <= share <= most else "does not hold")

    return read


def close(name: str, other: str, tolerance: float) -> Read:
    """Early results differ by less than this share."""

    def read(histories: Histories) -> Reading:
        difference = histories[name].early_results / histories[other].early_results - 1
        return Reading(difference, difference, "{:+.2%}", "holds" if abs(difference) <= tolerance else "does not hold")

    return read


def cheaper(leader: str, other: str, after: float = 0.0, before: float = 1.0) -> Read:
    """The leader costs less per result than the other, at each tenth of the arrivals from `after` to `before`."""

    def read(histories: Histories) -> Reading:
        costs = [_costs(histories, name, after, before) for name in (leader, other)]
        ratios = [mine / theirs for mine, theirs in zip(*costs, strict=True)]
        return Reading(min(ratios), max(ratios), "{:.2f}", _verdict([1 / ratio for ratio in ratios]), " times the cost")

    return read


def similar_clean_up(*names: str, at_most: float = 2.0) -> Read:
    """The slowest clean-up takes at most so many times as long as the fastest."""

    def read(histories: Histories) -> Reading:
        seconds = [histories[name].clean_up_seconds for name in names]
        ratio = max(seconds) / min(seconds) if min(seconds) else float("inf")
        verdict: Verdict = "holds" if ratio <= at_most else "does not hold"
        return Reading(ratio, ratio, "{:.1f}", verdict, " times as long as the fastest")

    return read


def share_before_clean_up(name: str) -> Measurement:
    return Measurement(f"{name}: share before the clean-up", lambda histories: histories[name].early_share, "{:.1%}")


def most_waiting(name: str) -> Measurement:
    def measure(histories: Histories) -> float:
        return histories[name].most_buffered_rows * histories[name].stands_for

    return Measurement(f"{name}: rows that waited at most", measure, "{:,.0f}")


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


def _early_ratios(histories: Histories, pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [histories[leader].early_results / histories[other].early_results for leader, other in pairs]


def _compared(ratios: Sequence[float]) -> Reading:
    return Reading(min(ratios), max(ratios), "{:.3f}", _verdict(ratios), " times as many")


def _verdict(ratios: Sequence[float]) -> Verdict:
    if min(ratios) < 1 - TIE:
        return "does not hold"
    return "holds" if max(ratios) > 1 + TIE else "tie"


def _results_by_tenth(histories: Histories, name: str, after: float) -> list[float]:
    history = histories[name]
    return [history.results_at(tenth * history.last_arrival_seconds) for tenth in TENTHS if tenth >= after]


def _costs(histories: Histories, name: str, after: float, before: float) -> list[float]:
    history = histories[name]
    tenths = [tenth for tenth in TENTHS if after <= tenth <= before]
    return [history.cost_per_result_at(tenth * history.last_arrival_seconds) for tenth in tenths]
