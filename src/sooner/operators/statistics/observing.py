"""Counts that are observed over and over, for so many seconds each time (AGF sec. 4.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from sooner.operators.statistics.arrivals import Numbers

MOST_SILENT_TIMES: Final = 64  # after so many in which nothing came, nothing is left of what did


class Maintenance(Protocol):
    def after(self, kept: Sequence[Numbers], observed: Numbers) -> list[Numbers]:
        """What is kept of all observations, with one more."""


@dataclass(frozen=True)
class Recent:
    """The last observation alone."""

    def after(self, kept: Sequence[Numbers], observed: Numbers) -> list[Numbers]:  # noqa: ARG002
        return [observed]


@dataclass(frozen=True)
class Average:
    """Of the last so many."""

    of: int = 3

    def after(self, kept: Sequence[Numbers], observed: Numbers) -> list[Numbers]:
        return [*kept, observed][-self.of :]


@dataclass(frozen=True)
class Ewma:
    """An exponentially weighted moving average: the past counts `alpha`, and what is new the rest."""

    alpha: float = 0.5

    def after(self, kept: Sequence[Numbers], observed: Numbers) -> list[Numbers]:
        return [self.alpha * kept[0] + (1 - self.alpha) * observed] if kept else [observed]


class Observed:
    """Of counts that only grow: how much they grow in so many seconds, as the maintenance has it."""

    def __init__(self, shape: tuple[int, ...], maintenance: Maintenance, every_seconds: float) -> None:
        self._maintenance = maintenance
        self._every_seconds = every_seconds
        self._before: Numbers = np.zeros(shape)
        self._kept: list[Numbers] = []
        self._time = 0

    def look(self, total: Numbers, now: float) -> None:
        """The counts are so high, and it is so late."""
        time = int(now / self._every_seconds)
        if time <= self._time:
            return
        self._kept = self._maintenance.after(self._kept, total - self._before)
        for _ in range(min(time - self._time - 1, MOST_SILENT_TIMES)):
            self._kept = self._maintenance.after(self._kept, np.zeros_like(self._before))
        self._before, self._time = total.astype(np.float64), time

    def value(self, total: Numbers) -> Numbers:
        """Until the first observation is over, what has come of it is all there is."""
        if not self._kept:
            return total - self._before
        mean: Numbers = np.mean(self._kept, axis=0)
        return mean

    def to_plain(self) -> list[Any]:
        return [self._time, self._before.tolist(), [kept.tolist() for kept in self._kept]]

    def load_plain(self, data: list[Any]) -> None:
        self._time, before, kept = data
        self._before = np.array(before, np.float64)
        self._kept = [np.array(one, np.float64) for one in kept]
