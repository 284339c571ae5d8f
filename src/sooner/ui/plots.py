"""Pictures of experiments, drawn like the figures of the papers."""

from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure as Picture
from matplotlib.ticker import EngFormatter

from sooner.lab.experiment import Experiment, Report
from sooner.plain_text import plain_text

# The paper's protagonist first, in the strongest colour; dashes for what the paper does not have.
STYLES: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#0e7c86", "linewidth": 2.2},
    {"color": "#c4552d"},
    {"color": "#6b4fa0"},
    {"color": "#888888", "linestyle": "--"},
    {"color": "#111111", "linestyle": ":"},
    {"color": "#b08d00", "linestyle": "-."},
)


def draw(experiment: Experiment, report: Report, file: Path) -> None:
    """The curves of an experiment, as a PNG or whatever the name of the file ends with."""
    picture = Picture(figsize=(7.2, 4.2), layout="constrained")
    axes = picture.add_subplot()
    last_arrival = 0.0
    for style, (name, series) in zip(STYLES, report.series.items(), strict=False):
        axes.plot(series["seconds"], series[experiment.figure.column], label=plain_text(name), **style)
        last_arrival = series["last_arrival_seconds"]
    if experiment.figure.until == "the end":
        axes.axvline(last_arrival, color="#bbbbbb", linewidth=0.8)
        axes.annotate(
            "last arrival ", (last_arrival, 0.02), xycoords=("data", "axes fraction"), ha="right", color="#888888"
        )
    axes.set(xlabel=experiment.figure.x_label, ylabel=experiment.figure.y_label, xlim=(0, None), ylim=(0, None))
    axes.set_title(f"{experiment.name}: {experiment.title}", loc="left", fontsize=10, parse_math=False)
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    for label in axes.legend(frameon=False).get_texts():
        label.set_parse_math(False)
    picture.savefig(file, dpi=130)
