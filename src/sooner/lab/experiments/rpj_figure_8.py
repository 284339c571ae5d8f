"""RPJ figure 8: progress on a reliable network, where flushing is all that differs (sec. 6.1).

The clean-up is counted in both ways: as `sooner` does it, run after run with a seek for each, and by the paper's
formula, page after page at random.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead, close, similar_clean_up
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, bounds, measurements, races

BY_PAGES: Final = ", clean-up by pages"
NAMES: Final = ("rpj", "hmj", "xjoin")
PROGRESS: Final = (
    Claim("RPJ has more results than XJoin at every tenth of the arrivals", "ahead", ahead("rpj", "xjoin")),
    Claim("RPJ has more results than HMJ at every tenth of the arrivals", "ahead", ahead("rpj", "hmj")),
)
ROUNDED: Final = Claim(
    "sooner's rpj, which rounds chances to steps of 5%, has about as many early results as RPJ",
    "ours: within 2%",
    close("rpj_rounded", "rpj", tolerance=0.02),
)
CLEAN_UPS: Final = (
    Claim(
        "The clean-ups take about as long",
        "similar (within a factor of 2)",
        similar_clean_up(*NAMES),
        "RPJ leaves many small runs, and read run after run each costs a seek; the paper reads page by page",
    ),
    Claim(
        "The clean-ups take about as long, by the paper's formula",
        "similar (within a factor of 2)",
        similar_clean_up(*(name + BY_PAGES for name in NAMES)),
    ),
)


def _experiment(panel: Panel) -> Experiment:
    with_clean_up = panel.letter == "a"  # the paper leaves it out of the other pictures
    contestants = races(panel, "reliable", *NAMES, "rpj_rounded", "clairvoyant")
    if with_clean_up:
        by_pages = {name + BY_PAGES: replace(contestants[name], clean_up="page by page") for name in NAMES}
        contestants |= by_pages
    return Experiment(
        name=f"rpj-8{panel.letter}",
        paper="RPJ",
        title=f"progress, reliable network: {panel.title}",
        figure=Figure("results", "the end" if with_clean_up else "the last arrival", "results"),
        races=contestants,
        claims=(*PROGRESS, ROUNDED, *(CLEAN_UPS if with_clean_up else ())),
        measurements=(*measurements(*NAMES), *bounds(*NAMES)),
        setting=SETTING,
        module=__name__,
    )


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
