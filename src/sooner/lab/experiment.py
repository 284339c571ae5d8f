"""An experiment repeats one figure of a paper: algorithms over the same arrivals, and what the paper says of them.

Claims are data: a sentence, the paper's figure, and how to measure ours. An experiment reports those that do not hold
like those that do.
"""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sooner.lab.history import History

Histories = Mapping[str, History]


@dataclass(frozen=True)
class Claim:
    what: str
    expected: str
    measure: Callable[[Histories], "Measured"]

    def judge(self, histories: Histories) -> "Verdict":
        measured = self.measure(histories)
        return Verdict(self.what, self.expected, measured.ours, measured.holds)


@dataclass(frozen=True)
class Measured:
    ours: str
    holds: bool


@dataclass(frozen=True)
class Verdict:
    what: str
    expected: str
    ours: str
    holds: bool


@dataclass(frozen=True)
class Figure:
    """How the paper draws it."""

    column: Literal["results", "cost_per_result_microseconds"]
    until: Literal["the last arrival", "the end"]
    y_label: str
    x_label: str = "simulated seconds"


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    default_scale: int
    figure: Figure
    claims: Sequence[Claim]
    run_all: Callable[[int, int], Histories]  # (scale, seed) -> the history of each algorithm
    setting: str  # the simulated machine, in words

    def run(self, scale: int, seed: int) -> "Report":
        histories = self.run_all(scale, seed)
        return Report(
            name=self.name,
            machine=f"simulated: {self.setting}; scale 1/{scale}, seed {seed}; {this_machine()}",
            claims=tuple(claim.judge(histories) for claim in self.claims),
            series={name: self._series(history, scale) for name, history in histories.items()},
        )

    def _series(self, history: History, scale: int) -> dict[str, Any]:
        until = history.last_arrival_seconds if self.figure.until == "the last arrival" else history.end_seconds
        columns = history.sampled(until)
        # One simulated result stands for `scale` of the paper's.
        columns["cost_per_result_microseconds"] = [
            round(1e6 * cost / (results * scale), 6) if results else 0.0
            for cost, results in zip(columns["cost_seconds"], columns["results"], strict=True)
        ]
        totals = {
            "early_results": history.early_results,
            "total_results": history.total_results,
            "last_arrival_seconds": round(history.last_arrival_seconds, 3),
            "end_seconds": round(history.end_seconds, 3),
            "most_buffered_rows": history.most_buffered_rows,
            "events": dict(history.events),
        }
        return columns | totals


@dataclass(frozen=True)
class Report:
    name: str
    machine: str
    claims: tuple[Verdict, ...]
    series: dict[str, Any]

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


def this_machine() -> str:
    return f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
