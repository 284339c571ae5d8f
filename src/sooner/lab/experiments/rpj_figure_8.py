"""RPJ figure 8: progress on a reliable network, where flushing is all that differs (sec. 6.1).

As in the paper, but for the clean-up: RPJ's takes ten times as long as the others', since its many small runs cost a
seek each. The paper reads page by page, at random, whatever the run (sec. 5.3); then all cost the same.
"""

from typing import Final

from sooner.lab.claims import ahead, close, similar_clean_up
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, bound_claims, competition

PROGRESS: Final = (
    Claim("RPJ has at every tenth of the arrivals at least as many results as XJoin", "ahead", ahead("rpj", "xjoin")),
    Claim("RPJ has at every tenth of the arrivals at least as many results as HMJ", "ahead", ahead("rpj", "hmj")),
)
BOUND: Final = bound_claims("rpj", "hmj", "xjoin")
ROUNDED: Final = Claim(
    "sooner's rpj, which takes chances within 5% as equal, has about as many early results as RPJ",
    "not in the paper; within 2%",
    close("rpj_rounded", "rpj", tolerance=0.02),
)
CLEAN_UP: Final = Claim("The clean-ups take about as long", "similar", similar_clean_up("rpj", "hmj", "xjoin"))


def _experiment(panel: Panel) -> Experiment:
    with_clean_up = panel.letter == "a"  # the paper leaves it out of the other pictures
    return Experiment(
        name=f"rpj-8{panel.letter}",
        title=f"progress, reliable network: {panel.title}",
        default_scale=10,
        figure=Figure("results", "the end" if with_clean_up else "the last arrival", "results"),
        claims=(*PROGRESS, *BOUND, ROUNDED, *([CLEAN_UP] if with_clean_up else [])),
        run_all=competition(panel, "reliable", ("rpj", "hmj", "xjoin", "rpj_rounded", "clairvoyant")),
        setting=SETTING,
    )


EXPERIMENTS: Final = tuple(_experiment(panel) for panel in PANELS)
