"""What papers claim of algorithms over time, as measures to make claims of."""

from collections.abc import Callable
from typing import Final

from sooner.lab.experiment import Histories, Measured

TENTHS: Final = tuple(tenth / 10 for tenth in range(1, 11))

Measure = Callable[[Histories], Measured]


def ahead(leader: str, other: str) -> Measure:
    """At every tenth of the time in which rows arrive, the leader has reported at least as many results."""

    def measure(histories: Histories) -> Measured:
        mine, theirs = (_results_by_tenth(histories, name) for name in (leader, other))
        ratios = [a / b if b else float("inf") for a, b in zip(mine, theirs, strict=True)]
        ours = f"{min(ratios):.3f} to {max(ratios):.3f} times as many, {ratios[-1]:.3f} times in the end"
        return Measured(ours, min(ratios) >= 1)

    return measure


def ahead_in_the_end(leader: str, other: str) -> Measure:
    """When the clean-up begins, the leader has reported at least as many results."""

    def measure(histories: Histories) -> Measured:
        ratio = histories[leader].early_results / histories[other].early_results
        return Measured(f"{ratio:.3f} times as many", ratio >= 1)

    return measure


def early_share(name: str, least: float = 0.0, most: float = 1.0) -> Measure:
    """The share of all results that is out when the clean-up begins."""

    def measure(histories: Histories) -> Measured:
        share = histories[name].early_share
        return Measured(f"{share:.1%}", least <= share <= most)

    return measure


def share_of_bound(name: str, bound: str) -> Measure:
    """Early results as a share of those of the policy that knows the future."""

    def measure(histories: Histories) -> Measured:
        share = histories[name].early_results / histories[bound].early_results
        return Measured(f"{share:.1%}", share <= 1)

    return measure


def close(name: str, other: str, tolerance: float) -> Measure:
    """Early results differ by less than this share."""

    def measure(histories: Histories) -> Measured:
        difference = histories[name].early_results / histories[other].early_results - 1
        return Measured(f"{difference:+.2%}", abs(difference) <= tolerance)

    return measure


def cheaper(leader: str, other: str, after: float = 0.0, before: float = 1.0) -> Measure:
    """The leader's cost per result is at most the other's, at each tenth of the arrivals from `after` to `before`."""

    def measure(histories: Histories) -> Measured:
        ratios = []
        for tenth in TENTHS:
            if after <= tenth <= before:
                mine, theirs = (
                    history.cost_per_result_at(tenth * history.last_arrival_seconds)
                    for history in (histories[leader], histories[other])
                )
                ratios.append(mine / theirs)
        return Measured(f"{min(ratios):.2f} to {max(ratios):.2f} times the cost", max(ratios) <= 1)

    return measure


def similar_clean_up(*names: str, at_most: float = 2.0) -> Measure:
    """The slowest clean-up takes at most so many times as long as the fastest."""

    def measure(histories: Histories) -> Measured:
        seconds = [histories[name].end_seconds - histories[name].last_arrival_seconds for name in names]
        listed = ", ".join(f"{name} {taken:.0f} s" for name, taken in zip(names, seconds, strict=True))
        return Measured(listed, max(seconds) <= at_most * min(seconds))

    return measure


def _results_by_tenth(histories: Histories, name: str) -> list[float]:
    history = histories[name]
    return [history.results_at(tenth * history.last_arrival_seconds) for tenth in TENTHS]
