"""RPJ figure 9: cost per result on a reliable network (sec. 6.1).

Contrary to the paper, RPJ costs more per result than the others, if a flush appends to each partition (figure 4). In
time its memory holds the likeliest partitions only, so that each flush takes a little of some 30 others and pays a seek
for each; XJoin and HMJ take two or three. The code does what the paper says, and n_flush is not to blame: from a
fiftieth to a fifth of the memory RPJ stays the dearest, the smaller the more so. The paper says that RPJ is cheapest
because it has the most results, which supposes that flushes of equal size cost the same. So they do if they go to one
file a side, as `sooner` writes them: RPJ is then cheaper than HMJ or within 2%, and between 6% below XJoin and 17%
above it.
"""

from typing import Final

from sooner.lab.claims import cheaper
from sooner.lab.experiment import Claim, Experiment, Figure, Histories
from sooner.lab.experiments.rpj import COMPETITORS, PANELS, SETTING, Panel, draw_trace, laboratory
from sooner.lab.simulator import simulate

NAMES: Final = ("rpj", "hmj", "xjoin")
ONE_FILE: Final = ", one file a side"  # how sooner writes


def _claims() -> tuple[Claim, ...]:
    lowest = [
        Claim(f"RPJ costs at no tenth of the arrivals more per result than {other}", "lowest", cheaper("rpj", other))
        for other in ("hmj", "xjoin")
    ]
    lowest_in_one_file = [
        Claim(
            f"The same with {other}, when a flush is written to one file a side as sooner does",
            "lowest (the paper appends to each partition)",
            cheaper("rpj" + ONE_FILE, other + ONE_FILE),
        )
        for other in ("hmj", "xjoin")
    ]
    return *lowest, *lowest_in_one_file


def _experiment(panel: Panel) -> Experiment:
    def run_all(scale: int, seed: int) -> Histories:
        trace = draw_trace(panel, "reliable", scale, seed)
        by_partition, by_side = laboratory(scale), laboratory(scale, "a file for each side")
        return {
            **{name: simulate(trace, COMPETITORS[name], by_partition) for name in NAMES},
            **{name + ONE_FILE: simulate(trace, COMPETITORS[name], by_side) for name in NAMES},
        }

    return Experiment(
        name=f"rpj-9{panel.letter}",
        title=f"cost per result, reliable network: {panel.title}",
        default_scale=10,
        figure=Figure("cost_per_result_microseconds", "the last arrival", "microseconds per result"),
        claims=_claims(),
        run_all=run_all,
        setting=SETTING,
    )


EXPERIMENTS: Final = tuple(_experiment(panel) for panel in PANELS)
