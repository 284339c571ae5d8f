"""The demo as a picture: results over time, beside a join that waits for the last row."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sooner.ui.milestones import Milestones


def draw_milestones(milestones: Milestones, batch_end: float, label: str, picture: Path) -> None:
    """A PNG, or whatever the name of the file ends with; `batch_end` is when a join that waits has its answer."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.add_subplot()
    seconds = [0.0, *milestones.seconds]
    results = np.array([0, *milestones.results]) / 1000
    axes.fill_between(seconds, results, step="post", color="#0e7c86", alpha=0.15)
    axes.step(seconds, results, where="post", color="#0e7c86", label=label)
    waiting = [0, batch_end, batch_end, max(seconds[-1], batch_end)]
    axes.plot(
        waiting, [0, 0, results[-1], results[-1]], "--", color="#888888", label="Spark's batch join, after the last row"
    )
    axes.set(xlabel="seconds since the sources started", ylabel="results, thousands", xlim=(0, None), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(picture, dpi=130)
