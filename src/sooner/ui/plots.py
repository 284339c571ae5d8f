"""Pictures of experiments, drawn like the figures of the papers, and of what all of a paper's come to."""

from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, PercentFormatter

from sooner.lab.experiment import Experiment, Report
from sooner.plain_text import plain_text
from sooner.ui.paper_pictures import Panel, PaperPicture, PicturePlan, SweepPanel, SweepPicture

# The paper's protagonist first, in the strongest colour; dashes for what the paper does not have.
STYLES: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#0e7c86", "linewidth": 2.2},
    {"color": "#c4552d"},
    {"color": "#6b4fa0"},
    {"color": "#888888", "linestyle": "--"},
    {"color": "#111111", "linestyle": ":"},
    {"color": "#b08d00", "linestyle": "-."},
    {"color": "#2d6bc4"},
    {"color": "#c42d7d"},
    {"color": "#5a8f29"},
    {"color": "#0e7c86", "linestyle": "--"},
    {"color": "#c4552d", "linestyle": "--"},
    {"color": "#6b4fa0", "linestyle": "--"},
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


def draw_paper(paper: PaperPicture | SweepPicture, file: Path) -> None:
    """A paper's algorithm and its rivals, a panel an experiment; equal curves make equal files, byte by byte."""
    picture = Picture(figsize=(9.6, 3.9), layout="constrained")
    drawn: dict[str, Line2D] = {}  # a line has the same style in all panels, and one place in the legend
    styles = dict(zip(paper.plan.lines, STYLES, strict=False))
    all_axes = picture.subplots(1, len(paper.panels), squeeze=False)[0]
    match paper:
        case PaperPicture():
            for axes, panel in zip(all_axes, paper.panels, strict=True):
                drawn |= _draw_progress(axes, panel, paper.plan, styles)
        case SweepPicture():
            for axes, swept in zip(all_axes, paper.panels, strict=True):
                drawn |= _draw_sweep(axes, swept, styles)
    for axes, title in zip(all_axes, [panel.title for panel in paper.panels], strict=True):
        axes.set_title(title, loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
    lines = [drawn[line] for line in paper.plan.lines if line in drawn]
    picture.legend(handles=lines, loc="outside upper left", ncols=len(lines), frameon=False, fontsize=11)
    with rc_context({"svg.hashsalt": paper.file_name}):
        picture.savefig(file, metadata={"Date": None, "Creator": None})


def _draw_progress(axes: Axes, panel: Panel, plan: PicturePlan, styles: dict[str, dict[str, Any]]) -> dict[str, Line2D]:
    drawn = {}
    for line, style in styles.items():
        if line in panel.curves:
            [drawn[line]] = axes.plot(panel.curves[line].seconds, panel.curves[line].shares, label=line, **style)
    if plan.goes_on:
        axes.axvline(panel.moment, color="#bbbbbb", linewidth=0.8, zorder=0)
        beside: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "xytext": (-3, 0),
            "textcoords": "offset points",
        }
        upwards: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "top", "color": "#666666", "fontsize": 8}
        axes.annotate(plan.moment, (panel.moment, 0.99), **beside, **upwards)
    axes.set(xlabel="simulated seconds", ylabel="share of all results", xlim=(0, panel.ends), ylim=(0, None))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    return drawn


def _draw_sweep(axes: Axes, panel: SweepPanel, styles: dict[str, dict[str, Any]]) -> dict[str, Line2D]:
    drawn = {}
    for line, style in styles.items():
        [drawn[line]] = axes.plot(panel.xs, panel.rates[line], marker="o", markersize=4, label=line, **style)
    axes.set(xlabel=panel.x_label, ylabel="stream rows a second", ylim=(0, None))
    axes.yaxis.set_major_formatter(EngFormatter())
    return drawn
