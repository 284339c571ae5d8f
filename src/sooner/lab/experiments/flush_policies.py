"""How near each flush policy comes to one that knows the future, in RPJ's four reliable settings (RPJ sec. 4.3, 6.1).

RPJ's authors argue about these policies (sec. 4.3); here what they argue is measured, and all stand beside the bound.
Of flush smallest and flush largest they speak for equally fast sides only: with a fast one, the smallest partitions are
those of the slow side, which are worth most.
"""

from typing import Final

from sooner.lab.claims import ahead_in_the_end
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, bounds, races

POLICIES: Final = ("rpj", "xjoin", "smallest", "hmj", "hmj_all", "hmj_smallest", "hmj_largest", "random")


def _claims(panel: Panel) -> tuple[Claim, ...]:
    worst = tuple(
        Claim(
            f"Flush all is behind {name} (sec. 4.3)",
            "the worst",
            ahead_in_the_end(name, "hmj_all"),
            "flush smallest is worse in reverse: it keeps what the other side sends least of, flush all starts anew",
        )
        for name in POLICIES
        if name != "hmj_all"
    )
    if panel.speed_ratio != 1:
        return worst
    harmony = panel.distribution == "harmony"
    good, bad = ("smallest", "xjoin") if harmony else ("xjoin", "smallest")
    better = Claim(
        f"Flush {'smallest' if harmony else 'largest'} is ahead of the opposite, one partition of one side (sec. 4.3)",
        f"good for {panel.distribution}",
        ahead_in_the_end(good, bad),
    )
    return better, *worst


def _experiment(panel: Panel) -> Experiment:
    return Experiment(
        name=f"flush-{panel.letter}",
        paper="RPJ",
        title=f"flush policies and their bound, reliable network: {panel.title}",
        figure=Figure("results", "the last arrival", "results"),
        races=races(panel, "reliable", *POLICIES, "clairvoyant"),
        claims=_claims(panel),
        measurements=bounds(*POLICIES),
        setting=SETTING,
        module=__name__,
    )


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
