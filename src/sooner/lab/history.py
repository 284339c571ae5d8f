"""What a simulated run gives: how its results, its cost and its buffer grew in simulated time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from sooner.operators.events import Reached
from sooner.phases import Phase
from sooner.trace import Entry

Numbers = npt.NDArray[np.float64]

SAMPLES: Final = 200


@dataclass(frozen=True)
class Moment:
    """Between two moments everything grows evenly."""

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

    @staticmethod
    def of(trace: Sequence[Entry | Moment], last_arrival_seconds: float) -> "History":
        """What a trace with its moments tells."""
        moments = tuple(one for one in trace if isinstance(one, Moment))
        events = (one.event for one in trace if isinstance(one, Entry))
        counts = Counter(type(event).__name__ for event in events if not isinstance(event, Reached))
        return History(moments, last_arrival_seconds, counts)

    def results_at(self, seconds: float) -> float:
        return float(self._at(np.array(seconds), "results"))

    def cost_per_result_at(self, seconds: float) -> float:
        """RPJ's amortised cost (sec. 6), in seconds; none before there is a result."""
        results = self.results_at(seconds)
        return float(self._at(np.array(seconds), "cost_seconds")) / results if results else 0.0

    @property
    def total_results(self) -> int:
        return self.moments[-1].results

    @property
    def early_results(self) -> int:
        """What was out when the clean-up began."""
        return max(moment.results for moment in self.moments if moment.phase in ("arriving", "reactive"))

    @property
    def early_share(self) -> float:
        return self.early_results / self.total_results

    @property
    def end_seconds(self) -> float:
        return self.moments[-1].seconds

    @property
    def most_buffered_rows(self) -> int:
        return max(moment.buffered_rows for moment in self.moments)

    def sampled(self, until_seconds: float, samples: int = SAMPLES) -> dict[str, Any]:
        """Columns on an even grid of times, as plain data."""
        grid = np.linspace(0, until_seconds, samples)
        results, cost_seconds = self._at(grid, "results"), self._at(grid, "cost_seconds")
        latest = [self.moments[max(0, i - 1)] for i in np.searchsorted(self._seconds, grid, side="right")]
        return {
            "seconds": grid.round(3).tolist(),
            "results": results.astype(np.int64).tolist(),
            "cost_seconds": cost_seconds.round(6).tolist(),
            "buffered_rows": [moment.buffered_rows for moment in latest],
            "phase": [moment.phase for moment in latest],
        }

    @cached_property
    def _seconds(self) -> Numbers:
        return np.array([moment.seconds for moment in self.moments])

    def _at(self, seconds: Numbers, column: Literal["results", "cost_seconds"]) -> Numbers:
        values: Numbers = np.interp(seconds, self._seconds, [getattr(moment, column) for moment in self.moments])
        return values
