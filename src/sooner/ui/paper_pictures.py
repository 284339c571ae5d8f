"""Which pictures the results page has: for each paper its algorithm and the rivals, and the curves that are drawn.

A *picture* shows how results came over time. A *sweep* has a point for each set-up: how fast stream rows were taken.

Captions are made of what was found, so that they never say more than the lines do. Drawing is left to
`sooner.ui.plots`, since a page can be read and compared without matplotlib.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

from sooner.ui.result_files import Document

FOLDER: Final = "pictures"  # beside the page


@dataclass(frozen=True)
class PanelPlan:
    """One of a picture's panels, and which contestant of an experiment is which of the picture's lines."""

    experiment: str
    title: str
    contestants: Mapping[str, str]  # by line


@dataclass(frozen=True)
class PicturePlan:
    paper: str
    file_name: str
    lines: tuple[str, ...]  # the paper's own algorithm first
    paper_says: str
    panels: tuple[PanelPlan, ...]
    moment_of: str  # the line whose last arrival is the moment that the caption speaks of
    moment: str
    goes_on: bool = False  # after that moment, until the paper's own algorithm has ended


PLANS: Final = (
    PicturePlan(
        paper="RPJ",
        file_name="rpj.svg",
        lines=("RPJ", "HMJ", "XJoin"),
        paper_says="has RPJ on top, since it keeps the rows in memory that are likely to find partners",
        panels=(
            PanelPlan("rpj-8a", "reliable network", {"RPJ": "rpj", "HMJ": "hmj", "XJoin": "xjoin"}),
            PanelPlan("rpj-10a", "network with silences", {"RPJ": "rpj", "HMJ": "hmj", "XJoin": "xjoin"}),
        ),
        moment_of="RPJ",
        moment="the last row has come",
    ),
    PicturePlan(
        paper="DINER",
        file_name="diner.svg",
        lines=("DINER", "RPJ", "HMJ", "XJoin", "PMJ"),
        paper_says="has DINER on top, since it flushes the values that bring few results",
        panels=(
            PanelPlan(
                "diner-8",
                "temperatures",
                {name: f"{name.lower()}, weather" for name in ("DINER", "RPJ", "HMJ", "XJoin", "PMJ")},
            ),
            PanelPlan(
                "diner-15", "means that shift", {name: f"{name.lower()}, shift 20" for name in ("DINER", "RPJ", "HMJ")}
            ),
        ),
        moment_of="DINER",
        moment="the last row has come",
    ),
    PicturePlan(
        paper="PR-Join",
        file_name="pr-join.svg",
        lines=("PR-Join", "GRACE", "Ripple", "PR-Join without stop"),
        paper_says="has PR-Join with results from the first second on, unlike GRACE, and done long before Ripple",
        panels=(
            PanelPlan("pr-join-9", "temporary disk", {"PR-Join": "pr_join", "GRACE": "grace", "Ripple": "ripple"}),
            PanelPlan(
                "pr-join-10",
                "SSD",
                {
                    "PR-Join": "pr_join, 64 KB",
                    "GRACE": "grace",
                    "Ripple": "ripple",
                    "PR-Join without stop": "pr_join, no stop",
                },
            ),
        ),
        moment_of="GRACE",
        moment="GRACE has read all rows",
        goes_on=True,
    ),
)


@dataclass(frozen=True)
class SweepPanelPlan:
    """One of a sweep's panels: the set-ups of an experiment, by what is varied in them."""

    experiment: str
    title: str
    x_label: str
    set_ups: Mapping[float, str]


@dataclass(frozen=True)
class SweepPlan:
    paper: str
    file_name: str
    contestants: Mapping[str, str]  # of every set-up, by line; the paper's own algorithm first
    paper_says: str
    panels: tuple[SweepPanelPlan, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.contestants)


SWEEPS: Final = (
    SweepPlan(
        paper="SSBJ",
        file_name="ssbj.svg",
        contestants={"SSBJ": "ssbj", "MESHJOIN": "meshjoin", "SSBJ to the letter": "ssbj to the letter"},
        paper_says="has SSBJ 7 to 8 times as fast as MESHJOIN with a skew of 1, and as fast without skew",
        panels=(
            SweepPanelPlan(
                "ssbj-5a", "skew 1", "memory, as % of the master rows", {share: f"{share}%" for share in (1, 2, 5, 10)}
            ),
            SweepPanelPlan(
                "ssbj-5c",
                "memory for 10% of the master rows",
                "skew of the stream",
                {skew: f"skew {skew:g}" for skew in (0.0, 0.25, 0.5, 0.75, 1.0)},
            ),
        ),
    ),
)
WARM: Final = 0.5  # of the time: what comes before it is not drawn in a sweep


class Curve(NamedTuple):
    seconds: list[float]
    shares: list[float]  # of all results
    last_arrival: float

    def until(self, seconds: float) -> "Curve":
        known = bisect_right(self.seconds, seconds)
        return self._replace(seconds=self.seconds[:known], shares=self.shares[:known])


class Panel(NamedTuple):
    title: str
    curves: dict[str, Curve]  # by line, as far as they are drawn
    moment: float
    ends: float

    def in_words(self) -> str:
        """How much each line has at the moment that the caption speaks of."""
        then = {line: curve.until(self.moment).shares for line, curve in self.curves.items()}
        own, *others = [f"{line} {shares[-1] if shares else 0:.0%}" for line, shares in then.items()]
        return f"{own} of all results, {', '.join(others)} in {self.title}"


@dataclass(frozen=True)
class PaperPicture:
    plan: PicturePlan
    panels: list[Panel]

    @property
    def paper(self) -> str:
        return self.plan.paper

    @property
    def file_name(self) -> str:
        return self.plan.file_name

    @property
    def shows(self) -> str:
        return "share of all results over time"

    @property
    def caption(self) -> str:
        found = "; ".join(panel.in_words() for panel in self.panels)
        return f"The paper {self.plan.paper_says}; here there are out, when {self.plan.moment}: {found}."


class SweepPanel(NamedTuple):
    title: str
    x_label: str
    xs: list[float]
    rates: dict[str, list[float]]  # by line, in stream rows a second

    def in_words(self) -> str:
        """By how much the paper's own algorithm is faster, at both ends."""
        own, other, *_ = self.rates
        first, last = (self.rates[own][end] / self.rates[other][end] for end in (0, -1))
        return f"{own} is {first:.2f} to {last:.2f} times as fast as {other} in {self.title}"


@dataclass(frozen=True)
class SweepPicture:
    plan: SweepPlan
    panels: list[SweepPanel]

    @property
    def paper(self) -> str:
        return self.plan.paper

    @property
    def file_name(self) -> str:
        return self.plan.file_name

    @property
    def shows(self) -> str:
        return "stream rows a second"

    @property
    def caption(self) -> str:
        found = "; ".join(panel.in_words() for panel in self.panels)
        return f"The paper {self.plan.paper_says}; here, from the left to the right, {found}."


def pictures_of(documents: Sequence[Document]) -> list[PaperPicture | SweepPicture]:
    """The pictures that can be drawn of these reports: those with at least one panel all of whose curves are there."""
    by_name = {document["name"]: document for document in documents}
    pictures: list[PaperPicture | SweepPicture] = []
    for plan in PLANS:
        found = [_panel(plan, panel, by_name[panel.experiment]) for panel in plan.panels if panel.experiment in by_name]
        panels = [panel for panel in found if panel is not None]
        if panels:
            pictures.append(PaperPicture(plan, panels))
    for sweep in SWEEPS:
        swept = [_swept(sweep, one, by_name[one.experiment]) for one in sweep.panels if one.experiment in by_name]
        complete = [one for one in swept if one is not None]
        if complete:
            pictures.append(SweepPicture(sweep, complete))
    return pictures


def _swept(sweep: SweepPlan, panel: SweepPanelPlan, document: Document) -> SweepPanel | None:
    series = document.get("series")
    if not isinstance(series, dict):
        return None
    rates = {
        line: [_rate(series.get(f"{name}, {set_up}")) for set_up in panel.set_ups.values()]
        for line, name in sweep.contestants.items()
    }
    known = {line: [rate for rate in some if rate is not None] for line, some in rates.items()}
    if known != rates:
        return None
    return SweepPanel(f"{panel.experiment} ({panel.title})", panel.x_label, [*panel.set_ups], known)


def _rate(series: object) -> float | None:
    """Stream rows a second, when warm."""
    match series:
        case {"seconds": [_, _, *_] as seconds, "stream_rows": [_, _, *_] as rows} if len(seconds) == len(rows) and all(
            map(_is_number, (*seconds, *rows))
        ):
            first = int(WARM * len(rows))
            took = seconds[-1] - seconds[first]
            rate = (rows[-1] - rows[first]) / took if took > 0 else 0.0
            return rate if rate > 0 else None
    return None


def _panel(plan: PicturePlan, panel: PanelPlan, document: Document) -> Panel | None:
    series = document.get("series")
    if not isinstance(series, dict):
        return None
    curves = {
        line: curve for line, name in panel.contestants.items() if (curve := _curve(series.get(name))) is not None
    }
    if len(curves) < len(panel.contestants):
        return None
    moment = curves[plan.moment_of].last_arrival
    ends = 1.15 * curves[plan.lines[0]].seconds[-1] if plan.goes_on else moment
    shown = {line: curve.until(ends) for line, curve in curves.items()}
    return Panel(f"{panel.experiment} ({panel.title})", shown, moment, ends)


def _curve(series: object) -> Curve | None:
    match series:
        case {
            "seconds": [_, *_] as seconds,
            "results": [_, *_] as results,
            "total_results": int(total),
            "last_arrival_seconds": int() | float() as last_arrival,
        } if total > 0 and len(seconds) == len(results) and all(map(_is_number, (*seconds, *results, last_arrival))):
            return Curve(seconds, [count / total for count in results], last_arrival)
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)
