"""How near each flush policy comes to one that knows the future, in RPJ's four reliable settings (RPJ sec. 4.3, 6.1).

RPJ's authors argue about these policies (sec. 4.3) and measure two of them; here all stand beside the bound.
"""

from typing import Final

from sooner.lab.experiment import Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, bound_claims, competition

POLICIES: Final = ("rpj", "xjoin", "hmj", "hmj_all", "hmj_smallest", "hmj_largest", "random")


def _experiment(panel: Panel) -> Experiment:
    return Experiment(
        name=f"flush-{panel.letter}",
        title=f"flush policies and their bound, reliable network: {panel.title}",
        default_scale=25,
        figure=Figure("results", "the last arrival", "results"),
        claims=bound_claims(*POLICIES),
        run_all=competition(panel, "reliable", (*POLICIES, "clairvoyant")),
        setting=SETTING,
    )


EXPERIMENTS: Final = tuple(_experiment(panel) for panel in PANELS)
