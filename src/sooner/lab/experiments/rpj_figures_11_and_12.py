"""RPJ figures 11 and 12: progress and cost per result of RPJ and of its halves (sec. 6.2).

RPJ is ahead of both, as in the paper. RPJ-dd is ahead of RPJ-md when both sides are equally fast; with a fast side
memory holds most of the slow one, and scans with that find most of what is open. What differs is the cost at first: the
paper has RPJ-dd dear and RPJ-md cheap then. Here RPJ-md scans in every silence, however little it finds, and RPJ-dd has
nothing to merge yet, since rows that leave memory early have met all there is. So it is on the other disk too, where
every page takes 10 ms. A rule that lets a scan pass that finds too little would explain the paper; it has none.
"""

from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end, cheaper
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, measurements, races

VARIANTS: Final = ("rpj", "rpj_dd", "rpj_md")
AT_FIRST: Final = "at first nothing is open between runs on disk, so RPJ-dd rests; scans go on however little they find"
CHEAP_SCANS: Final = "a merge pays a random access for each page, twice, and a scan one for each run"
PROGRESS: Final = (
    Claim("RPJ has more results than RPJ-dd at every tenth of the arrivals", "ahead", ahead("rpj", "rpj_dd")),
    Claim("RPJ has more results than RPJ-md at every tenth of the arrivals", "ahead", ahead("rpj", "rpj_md")),
    Claim(
        "RPJ-dd is ahead of RPJ-md when the clean-up begins",
        "ahead",
        ahead_in_the_end("rpj_dd", "rpj_md"),
        "memory holds most of the slow side, and scans with it find most of what is open",
    ),
)
COST: Final = (
    Claim(
        "RPJ costs less per result than RPJ-dd at every tenth of the arrivals",
        "lowest",
        cheaper("rpj", "rpj_dd"),
        AT_FIRST,
    ),
    Claim(
        "RPJ costs less per result than RPJ-md at every tenth of the arrivals",
        "lowest",
        cheaper("rpj", "rpj_md"),
        "at first both do the same scans",
    ),
    Claim(
        "RPJ-md is cheaper than RPJ-dd at first",
        "cheaper",
        cheaper("rpj_md", "rpj_dd", before=0.1),
        AT_FIRST,
    ),
    Claim("RPJ-dd is cheaper than RPJ-md in the end", "cheaper", cheaper("rpj_dd", "rpj_md", after=1.0), CHEAP_SCANS),
)


def _progress(panel: Panel) -> Experiment:
    return Experiment(
        name=f"rpj-11{panel.letter}",
        paper="RPJ",
        title=f"progress of RPJ's variants, unreliable network: {panel.title}",
        figure=Figure("results", "the last arrival", "results"),
        races=races(panel, "unreliable", *VARIANTS),
        claims=PROGRESS,
        measurements=measurements(*VARIANTS)[: len(VARIANTS)],
        setting=SETTING,
        module=__name__,
    )


def _cost(panel: Panel) -> Experiment:
    return Experiment(
        name=f"rpj-12{panel.letter}",
        paper="RPJ",
        title=f"cost per result of RPJ's variants, unreliable network: {panel.title}",
        figure=Figure("cost_per_result_microseconds", "the last arrival", "microseconds per result"),
        races=races(panel, "unreliable", *VARIANTS),
        claims=COST,
        measurements=measurements(*VARIANTS)[len(VARIANTS) :],
        setting=SETTING,
        module=__name__,
    )


EXPERIMENTS: Final = (*map(_progress, PANELS), *map(_cost, PANELS))
