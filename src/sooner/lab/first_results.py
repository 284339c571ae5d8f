"""What a paper claims of how long the first so many results take (AGF sec. 7), read off histories.

Where there are several set-ups, the number that is told is that of the one which speaks most against the claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from sooner.lab.claims import Pairs, over, within
from sooner.lab.experiment import Histories, Measurement, Quantity
from sooner.lab.history import History
from sooner.lab.tolerances import tolerance

NEVER: Final = float("inf")


def seconds_to_first(history: History, results: int) -> float:
    """When so many of the paper's results were there; never, if they did not come."""
    reached, seconds = history.columns["results"], history.columns["seconds"]
    wanted = results // history.stands_for
    if wanted > reached[-1]:
        return NEVER
    after = int(np.searchsorted(reached, wanted))
    return float(np.interp(wanted, reached[max(after - 1, 0) : after + 1], seconds[max(after - 1, 0) : after + 1]))


@dataclass(frozen=True)
class FirstResults:
    """Claims of the time to the first so many results."""

    results: int

    def sooner_by(self, pairs: Pairs, share: float) -> Quantity:
        """In each set-up the leader takes less than the other by at least such a share of the other's time."""
        return self._ratio(pairs, 1 - share, "none")

    def sooner(self, pairs: Pairs) -> Quantity:
        """In each set-up the leader has them sooner than the other."""
        return self._ratio(pairs, tolerance("sooner"), "sooner")

    def similar(self, name: str, other: str) -> Quantity:
        off = tolerance("relatively similar")
        value = lambda histories: self._times_as_long(histories, name, other)  # noqa: E731
        what = f"{self._what}, as a share of the other's time"
        return within(what, value, "{:.2f}", " times as long", 1 - off, 1 + off, "relatively similar")

    def steady(self, names: Sequence[str]) -> Quantity:
        """The slowest takes hardly longer than the fastest."""

        def value(histories: Histories) -> float:
            seconds = [self._seconds(histories, name) for name in names]
            return over(max(seconds), min(seconds))

        what = f"{self._what}, the slowest over the fastest"
        return within(what, value, "{:.2f}", " times as long as the fastest", 1.0, 1 + tolerance("steady"), "steady")

    def lead_shrinks(self, pairs: Pairs) -> Quantity:
        """From each set-up to the next the leader is less far ahead, or hardly farther."""

        def value(histories: Histories) -> float:
            leads = [self._times_as_long(histories, other, leader) for leader, other in pairs]
            return max(over(after, before) for before, after in pairwise(leads))

        what = f"{self._what} of the other over the leader's: by how much that changes to the next set-up, at most"
        return within(
            what, value, "{:.2f}", " times the ratio before it", 0.0, 1 + tolerance("a step back"), "a step back"
        )

    def lead_grows(self, pairs: Pairs) -> Quantity:
        """With each set-up but the first the leader is farther ahead than with that."""

        def value(histories: Histories) -> float:
            first, *leads = (self._times_as_long(histories, other, leader) for leader, other in pairs)
            return min(over(lead, first) for lead in leads)

        what = f"{self._what} of the other over the leader's, as a multiple of that in the first set-up"
        return within(what, value, "{:.2f}", " times the ratio in the first", 1 / tolerance("sooner"), NEVER, "sooner")

    def more_before_clean_up(self, pairs: Pairs) -> Quantity:
        """In each set-up the leader has more of them when the last row has arrived."""

        def value(histories: Histories) -> float:
            return min(over(*(self._before_clean_up(histories[name]) for name in pair)) for pair in pairs)

        what = f"how many of the first {self.results:,} results are out with the last row, as a multiple of the other's"
        return within(what, value, "{:.2f}", " times as many", 1 / tolerance("sooner"), NEVER, "sooner")

    # Measurements

    def time_beside(self, name: str, other: str) -> Measurement:
        what = f"{name}: {self._what}, as a share of the time of {other}"
        return Measurement(what, lambda histories: self._times_as_long(histories, name, other), "{:.2f}")

    def seconds_of(self, name: str) -> Measurement:
        return Measurement(f"{name}: {self._what}", lambda histories: self._seconds(histories, name), "{:.1f} s")

    def share_of_bound(self, name: str, bound: str) -> Measurement:
        """How much of its time a plan would have needed that has memory for everything."""
        what = f"{name}: {self._what} without limits, as a share of its own"
        return Measurement(what, lambda histories: self._times_as_long(histories, bound, name), "{:.1%}")

    # How they are read

    @property
    def _what(self) -> str:
        return f"seconds to the first {self.results:,} results"

    def _before_clean_up(self, history: History) -> float:
        return min(history.results_at(history.last_arrival_seconds), self.results / history.stands_for)

    def _seconds(self, histories: Histories, name: str) -> float:
        return seconds_to_first(histories[name], self.results)

    def _times_as_long(self, histories: Histories, name: str, other: str) -> float:
        return over(self._seconds(histories, name), self._seconds(histories, other))

    def _ratio(self, pairs: Pairs, most: float, named: str) -> Quantity:
        def value(histories: Histories) -> float:
            return max(self._times_as_long(histories, leader, other) for leader, other in pairs)

        what = f"{self._what}, as a share of the other's time, in the set-up where that is most"
        return within(what, value, "{:.2f}", " times as long", 0.0, most, named)
