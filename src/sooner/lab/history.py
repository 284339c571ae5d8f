"""What a simulated run gives: how its results, its cost and its buffer grew in simulated time."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sooner.operators.phases import Phase

Points = npt.NDArray[np.float64]

SAMPLES: Final = 200


@dataclass(frozen=True)
class Moment:
    """The state at a moment; between two moments everything grows evenly."""

    seconds: float
    results: int
    cost_seconds: float  # work of disk and processor so far
    buffered_rows: int  # arrived, and not taken in
    phase: Phase


@dataclass(frozen=True, eq=False)
class History:
    moments: tuple[Moment, ...]
    last_arrival_seconds: float
    events: Counter[str]  # how many of each kind

    def results_at(self, seconds: float) -> float:
        return float(self._at(np.array([seconds]), "results")[0])

    def cost_at(self, seconds: float) -> float:
        return float(self._at(np.array([seconds]), "cost_seconds")[0])

    def cost_per_result_at(self, seconds: float) -> float:
        """RPJ's amortised cost, in seconds; none before there is a result."""
        results = self.results_at(seconds)
        return self.cost_at(seconds) / results if results else 0.0

    @property
    def total_results(self) -> int:
        return self.moments[-1].results

    @property
    def early_results(self) -> int:
        """What was out when the clean-up began."""
        return max(moment.results for moment in self.moments if moment.phase not in ("clean-up", "done"))

    @property
    def end_seconds(self) -> float:
        return self.moments[-1].seconds

    @property
    def most_buffered_rows(self) -> int:
        return max(moment.buffered_rows for moment in self.moments)

    def sampled(self, until_seconds: float, samples: int = SAMPLES) -> dict[str, Any]:
        """Columns on an even grid, as plain data."""
        grid = np.linspace(0, until_seconds, samples)
        last = np.searchsorted([moment.seconds for moment in self.moments], grid, side="right") - 1
        return {
            "seconds": [round(float(t), 3) for t in grid],
            "results": np.floor(self._at(grid, "results")).astype(int).tolist(),
            "cost_seconds": [round(float(c), 6) for c in self._at(grid, "cost_seconds")],
            "buffered_rows": [self.moments[i].buffered_rows for i in last],
            "phase": [self.moments[i].phase for i in last],
        }

    def _at(self, grid: Points, name: str) -> Points:
        seconds = [moment.seconds for moment in self.moments]
        values: Points = np.interp(grid, seconds, [getattr(moment, name) for moment in self.moments])
        return values
