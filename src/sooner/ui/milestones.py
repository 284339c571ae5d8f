"""When how many results were there."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sooner.operators.events import Reached
from sooner.trace import Entry


@dataclass
class Milestones:
    """Counts of results, each at the time when it was first known; neither ever falls."""

    seconds: list[float] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    @staticmethod
    def of(trace: Iterable[Entry], started: float) -> "Milestones":
        """What a trace tells; `started` is when, by its clock, counting is to begin."""
        milestones, results = Milestones(), dict[int, int]()
        for entry in trace:
            if isinstance(entry.event, Reached):
                results[entry.place] = entry.event.results
                milestones.add(entry.seconds - started, sum(results.values()))
        return milestones

    def add(self, seconds: float, results: int) -> None:
        """So many results were there by now."""
        self.seconds.append(seconds)
        self.results.append(results)

    @property
    def total(self) -> int:
        return self.results[-1] if self.results else 0

    def first(self) -> float | None:
        """When there was any result; None if there never was."""
        return self._when(1)

    def reached(self, fraction: float) -> float | None:
        """When so much of what came in the end was there; None if nothing ever came."""
        return self._when(max(fraction * self.total, 1))

    def _when(self, results: float) -> float | None:
        position = int(np.searchsorted(self.results, results))
        return self.seconds[position] if position < len(self.seconds) else None
