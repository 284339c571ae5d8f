"""The demo as a picture: how rows arrived, and results over time beside a join that waits for the last row."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sooner.sources.arrival_patterns import Seconds
from sooner.ui.milestones import Milestones

OWN: Final = "#0e7c86"
ARRIVALS: Final[tuple[dict[str, Any], ...]] = ({"color": "#c4552d"}, {"color": "#6b4fa0", "linestyle": "-."})
WAITING: Final = "#888888"


@dataclass(frozen=True)
class Drawn:
    """Seconds are since the sources started."""

    milestones: Milestones
    label: str
    arrivals: Mapping[str, Seconds]  # of each row of an input
    batch_end: float  # when a join that waits has its answer
    percent_after: float  # when a sum over the join was known to a percent


def draw_demo(drawn: Drawn, picture: Path) -> None:
    """A PNG, or whatever the name of the file ends with."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2.4))
    _draw_arrivals(above, drawn)
    _draw_results(below, drawn)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Results while the rows are still arriving", x=0.01, ha="left", weight="bold")
    above.legend(frameon=False, loc="center right")
    below.legend(facecolor="white", edgecolor="none", framealpha=1, loc="upper left")  # over the dotted line
    figure.savefig(picture, dpi=130)


def _draw_arrivals(axes: Axes, drawn: Drawn) -> None:
    for style, (name, seconds) in zip(ARRIVALS, drawn.arrivals.items(), strict=False):
        axes.plot(seconds, np.arange(1, len(seconds) + 1) / len(seconds) * 100, label=name, **style)
    axes.set(ylabel="rows here, %", ylim=(0, 105))


def _draw_results(axes: Axes, drawn: Drawn) -> None:
    end = max([drawn.batch_end, *drawn.milestones.seconds[-1:]]) * 1.04
    seconds = [0.0, *drawn.milestones.seconds, end]
    results = np.array([0, *drawn.milestones.results, drawn.milestones.total]) / 1000
    axes.fill_between(seconds, results, step="post", color=OWN, alpha=0.15)
    axes.step(seconds, results, where="post", color=OWN, label=drawn.label)
    waiting = [0, drawn.batch_end, drawn.batch_end, end]
    whole = [0, 0, results[-1], results[-1]]
    axes.plot(waiting, whole, "--", color=WAITING, label="Spark's batch join, after the last row")
    axes.axvline(
        drawn.percent_after, color=OWN, linewidth=0.9, linestyle=":", label="a sum over the join is known to 1%"
    )
    axes.set(xlabel="seconds since the sources started", ylabel="results, thousands", xlim=(0, end), ylim=(0, None))
