"""An experiment repeats one figure of a paper: algorithms race over the same arrivals, and the paper says who wins.

Claims are data: where the paper says it, a sentence, the quantity it is about with the tolerance that was fixed before
the run, and, once it is known that one does not hold, why. A claim is read for each seed. Experiments are built with
seeds 0 to 4 and shown with 5 to 14 as well; a claim holds if it does with 14 of the 15. What is nearly the same
throughout is a tie, not a victory. What the paper says nothing of is a measurement, and has no verdict.

A claim that cannot fail says nothing. So each experiment names *mutants*, ways in which its algorithms or its machine
may be wrong, and a report tells with which of them each claim fails.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal, Protocol, Self

from sooner.lab.history import SAMPLES, History
from sooner.lab.tolerances import tolerances

SEEDS: Final = 15  # that verdicts are given for
EXCUSED: Final = 1  # of so many seeds, with which a claim need not hold

Histories = Mapping[str, History]  # by contestant
Verdict = Literal["holds", "does not hold", "tie"]


class Race(Hashable, Protocol):
    """One algorithm in one set-up. Equal races are run once, whoever looks at them."""

    @property
    def seconds(self) -> float:
        """About how long it takes at full size, on a processor that is busy with nothing else."""

    def run(self, scale: int, seed: int) -> History: ...

    def mutated(self, mutant: str) -> Self:
        """The race with this mutant in the place of what it changes; itself if that is nothing to it."""


@dataclass(frozen=True)
class Reading:
    """What was read off the histories of one seed: from the lowest number to the highest, and what that means."""

    lowest: float
    highest: float
    shown: str  # how to show a number, as str.format has it
    verdict: Verdict
    unit: str = ""


@dataclass(frozen=True)
class Quantity:
    """What a claim is about, as the paper defines it, and how it is read off the histories of one seed."""

    what: str
    read: Callable[[Histories], Reading]
    tolerance: str  # the name of one of `tolerances`

    def __post_init__(self) -> None:
        assert self.tolerance in tolerances(), f"there is no tolerance {self.tolerance!r}"


@dataclass(frozen=True)
class Claim:
    section: str  # of the paper, and its figure
    what: str
    expected: str  # the paper's words, or its number
    quantity: Quantity
    why_not: str = "unexplained"  # the reason, if it does not hold

    def judge(self, by_seed: Sequence[Histories], mutated: Mapping[str, Histories]) -> dict[str, Any]:
        """The verdict over all seeds, and the mutants with which it is another, as plain data."""
        readings = [self.quantity.read(histories) for histories in by_seed]
        verdicts = Counter(reading.verdict for reading in readings)
        excused = len(readings) * EXCUSED // SEEDS
        verdict = next((one for one, seeds in verdicts.items() if seeds >= len(readings) - excused), "does not hold")
        lowest, highest = min(one.lowest for one in readings), max(one.highest for one in readings)
        judged = {
            "section": self.section,
            "what": self.what,
            "quantity": self.quantity.what,
            "expected": self.expected,
            "tolerance": self.quantity.tolerance,
            "ours": _range(readings[0].shown, lowest, highest) + readings[0].unit,
            "seeds": f"{verdicts['holds']} of {len(readings)}",
            "holds": verdict == "holds",
            "verdict": verdict,
        }
        if verdict != "holds":
            return judged | {"why": self.why_not}
        return judged | {"fails_on": "; ".join(mutant for mutant in mutated if self._fails(mutated[mutant]))}

    def _fails(self, histories: Histories) -> bool:
        return self.quantity.read(histories).verdict != "holds"


@dataclass(frozen=True)
class Measurement:
    """A number that no paper makes a claim of."""

    what: str
    measure: Callable[[Histories], float]
    shown: str

    def take(self, by_seed: Sequence[Histories]) -> dict[str, Any]:
        values = [self.measure(histories) for histories in by_seed]
        ours = self.shown.format(median(values))
        if len(values) > 1:
            ours += f" ({_range(self.shown, min(values), max(values))})"
        return {"what": self.what, "ours": ours}


@dataclass(frozen=True)
class Figure:
    """How the paper draws it."""

    column: Literal["results", "cost_per_result_microseconds"]
    until: Literal["the last arrival", "the end"]
    y_label: str
    x_label: str = "simulated seconds"
    samples: int = SAMPLES  # of each curve


@dataclass(frozen=True)
class Experiment:
    name: str
    paper: str
    title: str
    figure: Figure
    races: Mapping[str, Race]  # by contestant
    claims: Sequence[Claim]
    measurements: Sequence[Measurement]
    setting: str  # the simulated machine, in words
    module: str  # that it stands in: what a result depends on is found from its imports
    mutants: Sequence[str]
    full_scale: int = 1  # where the paper's size is too much, all is divided by this, and then by the scale

    @property
    def seconds(self) -> float:
        """About how long the first seed takes at full size, on one processor, with the mutants."""
        mutants = (self.mutated(mutant).values() for mutant in self.mutants)
        return sum(race.seconds for race in {*self.races.values()}.union(*mutants))

    def mutated(self, mutant: str) -> Mapping[str, Race]:
        """Its races with a mutant among them."""
        return {name: race.mutated(mutant) for name, race in self.races.items()}

    def report(
        self, scale: int, by_seed: Mapping[int, Histories], mutated: Mapping[str, Histories], code: str
    ) -> "Report":
        """What was found, at this scale and with these seeds; with mutants, of the first of them."""
        histories = list(by_seed.values())
        seeds = ", ".join(map(str, by_seed))
        divided_by = scale * self.full_scale
        size = "the paper's size" if divided_by == 1 else f"1/{divided_by:,} of the paper's size"
        return Report(
            name=self.name,
            paper=self.paper,
            title=self.title,
            machine=f"simulated: {self.setting}; {size}; seed{'s' * (len(by_seed) > 1)} {seeds}",
            code=code,
            seeds=tuple(by_seed),
            claims=tuple(claim.judge(histories, mutated) for claim in self.claims),
            measurements=tuple(measurement.take(histories) for measurement in self.measurements),
            series={name: self._series(history) for name, history in histories[0].items()},
        )

    def _series(self, history: History) -> dict[str, Any]:
        """The curves of the first seed, to draw."""
        until = history.last_arrival_seconds if self.figure.until == "the last arrival" else history.end_seconds
        columns = history.sampled(until, self.figure.samples)
        columns["cost_per_result_microseconds"] = [
            round(1e6 * history.cost_per_result_at(seconds), 6) for seconds in columns["seconds"]
        ]
        totals = {
            "early_results": history.early_results,
            "total_results": history.total_results,
            "last_arrival_seconds": round(history.last_arrival_seconds, 3),
            "end_seconds": round(history.end_seconds, 3),
            "most_buffered_rows": history.most_buffered_rows,
            "most_buffered_in_reaction": history.most_buffered_in_reaction,
            "events": dict(history.events),
        }
        return columns | totals


@dataclass(frozen=True)
class Report:
    name: str
    paper: str
    title: str
    machine: str
    code: str
    seeds: tuple[int, ...]
    claims: tuple[dict[str, Any], ...]
    measurements: tuple[dict[str, Any], ...]
    series: dict[str, Any]

    def to_plain(self) -> dict[str, Any]:
        return vars(self)


def _range(shown: str, lowest: float, highest: float) -> str:
    ends = [shown.format(end) for end in (lowest, highest)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
