"""What a simulated run gives: how its results, its cost, its memory and its buffer grew in simulated time.

A history is a table with a row for each moment that something began or ended; between two of them everything grows
evenly. Its columns have names: `seconds`, `results`, `buffered_rows`, `memory_bytes`, `cost_seconds`, the seconds of
each resource such as `disk_seconds`, and whatever else the operator measures, such as an `estimate`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from sooner.operators.events import Event
from sooner.phases import Phase
from sooner.policies.view import Numbers
from sooner.sources.arrival_patterns import Seconds

SAMPLES: Final = 200
GRID: Final = 1000


class Recorder:
    """Takes moments and events as they come. There are hundred thousands of moments, so they are only put down here;
    what follows from them is worked out for all of them at once, in the end.
    """

    def __init__(self, arrivals: Seconds) -> None:
        self._arrivals = arrivals  # of all rows
        self._names: tuple[str, ...] = ()
        self._rows: list[tuple[float, ...]] = []
        self._phases: list[Phase] = []
        self._events: Counter[str] = Counter()

    def note(
        self, phase: Phase, seconds: float, measured: Mapping[str, float], taken_rows: int, cost: Mapping[str, float]
    ) -> None:
        """A moment, with what the operator measures, always the same, and what each resource has cost."""
        if not self._rows:
            of_resources = (f"{resource}_seconds" for resource in cost)
            self._names = ("seconds", *measured, "buffered_rows", "cost_seconds", *of_resources)
        self._rows.append((seconds, *measured.values(), taken_rows, sum(cost.values()), *cost.values()))
        self._phases.append(phase)

    def listen(self, event: Event) -> None:
        self._events[type(event).__name__] += 1

    def history(self, last_arrival_seconds: float, buffer_rows: int | None) -> "History":
        table, phases = np.array(self._rows, np.float64), np.array(self._phases)
        arrived, buffered = self._arrivals.searchsorted(table[:, 0], "right"), self._names.index("buffered_rows")
        table[:, buffered] = np.maximum(0, arrived - table[:, buffered])
        is_new = np.append(True, (table[1:] != table[:-1]).any(axis=1) | (phases[1:] != phases[:-1]))
        table, phases = table[is_new], phases[is_new]
        columns = {name: table[:, place] for place, name in enumerate(self._names)}
        arriving = np.isin(phases, ("arriving", "reactive"))
        return History(
            columns,
            tuple(phases.tolist()),
            last_arrival_seconds,
            self._events,
            early_results=int(columns["results"][arriving].max()),
            most_buffered_rows=int(columns["buffered_rows"].max()),
            most_buffered_in_reaction=int(columns["buffered_rows"][phases == "reactive"].max(initial=0)),
            overflowed_at_seconds=_first_above(columns, buffer_rows),
        )


def _first_above(columns: Mapping[str, Numbers], buffer_rows: int | None) -> float | None:
    above = columns["buffered_rows"] > (np.inf if buffer_rows is None else buffer_rows)
    return float(columns["seconds"][above][0]) if above.any() else None


@dataclass(frozen=True, eq=False)
class History:
    columns: Mapping[str, Numbers]
    phases: Sequence[Phase]
    last_arrival_seconds: float
    events: Counter[str]  # how many of each kind
    early_results: int  # that were out when the clean-up began
    most_buffered_rows: int
    most_buffered_in_reaction: int  # the same of the reactive phase alone
    overflowed_at_seconds: float | None  # when more rows waited than there was room for; None if they never did
    stands_for: int = 1  # so many rows or results of the paper, each of the simulated ones

    def at(self, seconds: float, column: str) -> float:
        return float(self._at(np.array(seconds), column))

    def results_at(self, seconds: float) -> float:
        return self.at(seconds, "results")

    def cost_per_result_at(self, seconds: float) -> float:
        """RPJ's amortised cost (sec. 6), in seconds; none before there is a result."""
        results = self.results_at(seconds) * self.stands_for
        return self.at(seconds, "cost_seconds") / results if results else 0.0

    @property
    def total_results(self) -> int:
        return int(self.columns["results"][-1])

    @property
    def early_share(self) -> float:
        return self.early_results / self.total_results

    @property
    def end_seconds(self) -> float:
        return float(self.columns["seconds"][-1])

    @property
    def clean_up_seconds(self) -> float:
        """What was left to do when everything had arrived."""
        return self.end_seconds - self.last_arrival_seconds

    def thinned(self) -> "History":
        """The history at each thousandth of the arrivals and of the clean-up: small enough to keep."""
        clean_up = np.linspace(self.last_arrival_seconds, self.end_seconds, GRID + 1)[1:]
        grid = np.concatenate((np.linspace(0, self.last_arrival_seconds, GRID + 1), clean_up))
        latest = np.maximum(0, np.searchsorted(self.columns["seconds"], grid, side="right") - 1)
        columns = {name: grid if name == "seconds" else self._at(grid, name) for name in self.columns}
        columns["buffered_rows"] = self.columns["buffered_rows"][latest]
        return replace(self, columns=columns, phases=tuple(self.phases[moment] for moment in latest))

    def sampled(self, until_seconds: float, samples: int = SAMPLES) -> dict[str, Any]:
        """Columns on an even grid of times, as plain data."""
        grid = np.linspace(0, until_seconds, samples)
        latest = np.maximum(0, np.searchsorted(self.columns["seconds"], grid, side="right") - 1)
        sampled: dict[str, Any] = {"seconds": grid.round(3).tolist()}
        for name in self.columns:
            if name == "buffered_rows":
                sampled[name] = self.columns[name][latest].astype(np.int64).tolist()
            elif name != "seconds":
                values = self._at(grid, name)
                whole = name in ("results", "memory_bytes")
                sampled[name] = values.astype(np.int64).tolist() if whole else values.round(6).tolist()
        return sampled | {"phase": [self.phases[moment] for moment in latest]}

    def _at(self, seconds: Numbers, column: str) -> Numbers:
        values: Numbers = np.interp(seconds, self.columns["seconds"], self.columns[column])
        return values
