"""RPJ figures 11 and 12: progress and cost per result of RPJ and of its halves (sec. 6.2).

RPJ is ahead of both halves at the scales that run here by default. With finer rows (scale 10) RPJ-dd ends 2% ahead of
RPJ in harmony at the same speed: there is time for nearly all disk work (see figure 10), and RPJ spends some of it
on scans that pay at the moment but spare no later work. The paper has RPJ-dd ahead of RPJ-md, and in the end cheaper;
so it is ahead only in harmony at the same speed, and it is never cheaper. Here scans are cheap beside
merges, whatever the disk of the paper was: a merge pays a random access for each page, twice.
"""

from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end, cheaper
from sooner.lab.experiment import Claim, Experiment, Figure
from sooner.lab.experiments.rpj import PANELS, SETTING, Panel, competition

VARIANTS: Final = ("rpj", "rpj_dd", "rpj_md")
PROGRESS: Final = (
    Claim("RPJ has at every tenth of the arrivals at least as many results as RPJ-dd", "ahead", ahead("rpj", "rpj_dd")),
    Claim("RPJ has at every tenth of the arrivals at least as many results as RPJ-md", "ahead", ahead("rpj", "rpj_md")),
    Claim("RPJ-dd is ahead of RPJ-md when the clean-up begins", "ahead", ahead_in_the_end("rpj_dd", "rpj_md")),
)
COST: Final = (
    Claim("RPJ costs at no tenth of the arrivals more per result than RPJ-dd", "lowest", cheaper("rpj", "rpj_dd")),
    Claim("RPJ costs at no tenth of the arrivals more per result than RPJ-md", "lowest", cheaper("rpj", "rpj_md")),
    Claim("RPJ-md is cheaper than RPJ-dd at first", "cheaper", cheaper("rpj_md", "rpj_dd", before=0.1)),
    Claim("RPJ-dd is cheaper than RPJ-md in the end", "cheaper", cheaper("rpj_dd", "rpj_md", after=1.0)),
)


def _progress(panel: Panel) -> Experiment:
    return Experiment(
        name=f"rpj-11{panel.letter}",
        title=f"progress of RPJ's variants, unreliable network: {panel.title}",
        default_scale=100,
        figure=Figure("results", "the last arrival", "results"),
        claims=PROGRESS,
        run_all=competition(panel, "unreliable", VARIANTS),
        setting=SETTING,
    )


def _cost(panel: Panel) -> Experiment:
    return Experiment(
        name=f"rpj-12{panel.letter}",
        title=f"cost per result of RPJ's variants, unreliable network: {panel.title}",
        default_scale=100,
        figure=Figure("cost_per_result_microseconds", "the last arrival", "microseconds per result"),
        claims=COST,
        run_all=competition(panel, "unreliable", VARIANTS),
        setting=SETTING,
    )


EXPERIMENTS: Final = (*map(_progress, PANELS), *map(_cost, PANELS))
