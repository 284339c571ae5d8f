"""How near each flush policy comes to one that knows the future, in RPJ's four reliable settings (RPJ sec. 4.3, 6.1).

RPJ's authors argue about these policies (sec. 4.3); here what they argue is measured, and all stand beside the bound.
Of flush smallest and flush largest they speak for equally fast sides only: with a fast one, the smallest partitions are
those of the slow side, which are worth most.
"""

from typing import Final

from sooner.lab.claims import ahead_in_the_end
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.rpj import PROGRESS_OF_ARRIVALS, bounds, experiment
from sooner.lab.races.rpj import PANELS, Panel, races

POLICIES: Final = ("rpj", "xjoin", "smallest", "hmj", "hmj_all", "hmj_smallest", "hmj_largest", "random")
OTHERS: Final = tuple(name for name in POLICIES if name != "hmj_all")
SMALLEST: Final = (
    "the paper: in reverse flush smallest keeps what the other side sends least of, and flush all starts anew"
)


def _claims(panel: Panel) -> tuple[Claim, ...]:
    worst = tuple(
        Claim("sec. 4.3", f"Flush all is behind {name}", "the worst", ahead_in_the_end(name, "hmj_all"), SMALLEST)
        for name in OTHERS
    )
    if panel.speed_ratio != 1:
        return worst
    harmony = panel.distribution == "harmony"
    good, bad = ("smallest", "xjoin") if harmony else ("xjoin", "smallest")
    better = Claim(
        "sec. 4.3",
        f"Flush {'smallest' if harmony else 'largest'} is ahead of the opposite, one partition of one side",
        f"good for {panel.distribution}",
        ahead_in_the_end(good, bad),
    )
    return better, *worst


def _experiment(panel: Panel) -> Experiment:
    return experiment(
        f"flush-{panel.letter}",
        f"flush policies and their bound, reliable network: {panel.title}",
        PROGRESS_OF_ARRIVALS,
        races(panel, "reliable", *POLICIES, "clairvoyant"),
        _claims(panel),
        bounds(*POLICIES),
        (
            *(f"{name}: everything is flushed" for name in OTHERS),
            *(f"{name}: flush order reversed" for name in ("smallest", "xjoin")),
        ),
        __name__,
    )


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
