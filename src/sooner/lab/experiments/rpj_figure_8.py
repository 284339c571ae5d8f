"""RPJ figure 8: progress on a reliable network, where flushing is all that differs (sec. 6.1).

The clean-up is priced in both ways: as `sooner` does it, run after run with a seek for each, and by the paper's
formula, page after page at random. The paper's claim is of the latter; the other is measured.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead, as_many, clean_up_seconds, similar_clean_up
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.rpj import PROGRESS, PROGRESS_OF_ARRIVALS, bounds, costs, experiment, shares
from sooner.lab.races.rpj import PANELS, SLOW_DISK, Panel, races

BY_PAGES: Final = ", clean-up by pages"
SECTION: Final = "sec. 6.1, fig. 8"
NAMES: Final = ("rpj", "hmj", "xjoin")
CLAIMS: Final = (
    Claim(SECTION, "RPJ has more results than XJoin at every tenth of the arrivals", "ahead", ahead("rpj", "xjoin")),
    Claim(SECTION, "RPJ has more results than HMJ at every tenth of the arrivals", "ahead", ahead("rpj", "hmj")),
    Claim(
        "ours",
        "sooner's rpj, which rounds chances to steps of 5%, has about as many early results as RPJ",
        "as many",
        as_many("rpj_rounded", "rpj"),
    ),
)
CLEAN_UP: Final = Claim(
    SECTION,
    "The clean-ups take about as long",
    "similar",
    similar_clean_up(*(name + BY_PAGES for name in NAMES)),
)
MUTANTS: Final = (
    "rpj: flush order reversed",
    "rpj: everything is flushed",
    "rpj_rounded: chances rounded to steps of 400%",
    f"rpj: {SLOW_DISK}",
)


def _experiment(panel: Panel) -> Experiment:
    with_clean_up = panel.letter == "a"  # the paper leaves it out of the other pictures
    contestants = races(panel, "reliable", *NAMES, "rpj_rounded", "clairvoyant")
    by_pages = {name + BY_PAGES: replace(contestants[name], clean_up="page by page") for name in NAMES}
    return experiment(
        f"rpj-8{panel.letter}",
        f"progress, reliable network: {panel.title}",
        PROGRESS if with_clean_up else PROGRESS_OF_ARRIVALS,
        {**contestants, **by_pages} if with_clean_up else contestants,
        (*CLAIMS, CLEAN_UP) if with_clean_up else CLAIMS,
        (*shares(*NAMES), *costs(*NAMES), *bounds(*NAMES), *map(clean_up_seconds, NAMES)),
        MUTANTS,
        __name__,
    )


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
