"""RPJ figures 11 and 12: progress and cost per result of RPJ and of its halves (sec. 6.2).

RPJ is ahead of both, as in the paper. RPJ-dd is ahead of RPJ-md when both sides are equally fast; with a fast side
memory holds most of the slow one, and scans with that find most of what is open. What differs is the cost at first: the
paper has RPJ-dd dear and RPJ-md cheap then. Here RPJ-md scans in every silence, however little it finds, and RPJ-dd has
nothing to merge yet, since rows that leave memory early have met all there is. So it is on the other disk too, where
every page takes 10 ms. A rule that lets a scan pass that finds too little would explain the paper; it has none.
"""

from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end, cheaper
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.rpj import COST, PROGRESS_OF_ARRIVALS, costs, experiment, shares
from sooner.lab.races.rpj import PANELS, SLOW_DISK, Panel, races

VARIANTS: Final = ("rpj", "rpj_dd", "rpj_md")
FIGURE_11: Final = "sec. 6.2, fig. 11"
FIGURE_12: Final = "sec. 6.2, fig. 12"
AT_FIRST: Final = (
    "unexplained: at first nothing is open between runs on disk, so RPJ-dd rests; scans go on however little they find"
)
IDLE: Final = "nothing is done in silence"
PROGRESS: Final = (
    Claim(FIGURE_11, "RPJ has more results than RPJ-dd at every tenth of the arrivals", "most", ahead("rpj", "rpj_dd")),
    Claim(FIGURE_11, "RPJ has more results than RPJ-md at every tenth of the arrivals", "most", ahead("rpj", "rpj_md")),
    Claim(
        FIGURE_11,
        "RPJ-dd is ahead of RPJ-md when the clean-up begins",
        "ahead",
        ahead_in_the_end("rpj_dd", "rpj_md"),
        "unexplained: memory holds most of the slow side, and scans with it find most of what is open",
    ),
)
CHEAPEST: Final = (
    Claim(
        FIGURE_12,
        "RPJ costs less per result than RPJ-dd at every tenth of the arrivals",
        "the smallest",
        cheaper("rpj", "rpj_dd"),
        AT_FIRST,
    ),
    Claim(
        FIGURE_12,
        "RPJ costs less per result than RPJ-md at every tenth of the arrivals",
        "the smallest",
        cheaper("rpj", "rpj_md"),
        "the paper: at first both do the same scans, as it says itself (md-tasks are better at the beginning)",
    ),
    Claim(
        FIGURE_12,
        "RPJ-md is cheaper than RPJ-dd at first",
        "cheaper",
        cheaper("rpj_md", "rpj_dd", before=0.1),
        AT_FIRST,
    ),
    Claim(
        FIGURE_12,
        "RPJ-dd is cheaper than RPJ-md in the end",
        "cheaper",
        cheaper("rpj_dd", "rpj_md", after=1.0),
        "unexplained: a merge pays a random access for each page, twice, and a scan one for each run",
    ),
)


def _progress(panel: Panel) -> Experiment:
    return experiment(
        f"rpj-11{panel.letter}",
        f"progress of RPJ's variants, unreliable network: {panel.title}",
        PROGRESS_OF_ARRIVALS,
        races(panel, "unreliable", *VARIANTS),
        PROGRESS,
        shares(*VARIANTS),
        (f"rpj: {IDLE}", f"rpj_dd: {IDLE}"),
        __name__,
    )


def _cost(panel: Panel) -> Experiment:
    return experiment(
        f"rpj-12{panel.letter}",
        f"cost per result of RPJ's variants, unreliable network: {panel.title}",
        COST,
        races(panel, "unreliable", *VARIANTS),
        CHEAPEST,
        costs(*VARIANTS),
        (f"rpj: {SLOW_DISK}", f"rpj_dd: {SLOW_DISK}"),
        __name__,
    )


EXPERIMENTS: Final = (*map(_progress, PANELS), *map(_cost, PANELS))
