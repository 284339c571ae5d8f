"""RPJ figure 10: progress on an unreliable network, through the clean-up (sec. 6.2)."""

from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end, early_share
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, competition

CLAIMS: Final = (
    Claim("RPJ has at every tenth of the arrivals at least as many results as XJoin", "ahead", ahead("rpj", "xjoin")),
    Claim("RPJ has at every tenth of the arrivals at least as many results as HMJ", "ahead", ahead("rpj", "hmj")),
    Claim("RPJ has reported most of the output before the clean-up", "most", early_share("rpj", least=0.5)),
    Claim("HMJ has reported about 20% before the clean-up", "about 20%", early_share("hmj", 0.1, 0.3)),
    Claim("XJoin has reported about 20% before the clean-up", "about 20%", early_share("xjoin", 0.1, 0.3)),
    Claim("HMJ is ahead of XJoin when the clean-up begins", "ahead", ahead_in_the_end("hmj", "xjoin")),
    Claim(
        "RPJ has at every tenth at least as many results as an XJoin that knows what has met",
        "not in the paper",
        ahead("rpj", "xjoin_that_knows"),
    ),
)


def _experiment(panel: Panel) -> Experiment:
    return Experiment(
        name=f"rpj-10{panel.letter}",
        title=f"progress, unreliable network: {panel.title}",
        default_scale=100,
        figure=Figure("results", "the end", "results"),
        claims=CLAIMS,
        run_all=competition(panel, "unreliable", ("rpj", "hmj", "xjoin", "xjoin_that_knows")),
        setting=SETTING,
    )


EXPERIMENTS: Final = tuple(_experiment(panel) for panel in PANELS)
