"""RPJ figure 9: cost per result on a reliable network (sec. 6.1).

The paper says that RPJ is cheapest because it has the most results, which supposes that rows cost the same to flush
wherever they come from: they are written page by page. The claim is of that, and two other ways to write are measured.
If a flush appends to each partition (figure 4) and pages in sequence are 500 times cheaper, RPJ is the dearest: in time
its memory holds the likeliest partitions only, so that each flush takes a little of some 30 others and pays a seek for
each; XJoin and HMJ take one or two. n_flush is not to blame: from a fiftieth to a fifth of the memory RPJ stays the
dearest, the smaller the more so. With one file a side, as `sooner` writes, seeks are few for all of them.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import cheaper
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.rpj import COST, costs, experiment
from sooner.lab.races.rpj import PANELS, Panel, RpjRace, races

NAMES: Final = ("rpj", "hmj", "xjoin")
CLAIMS: Final = tuple(
    Claim(
        "sec. 6.1, fig. 9",
        f"RPJ costs less per result than {shown} at every tenth of the arrivals",
        "lowest at all times",
        cheaper("rpj", other),
        "settings: at the first tenth both have about as many results, and RPJ has flushed a tenth of the memory ahead",
    )
    for other, shown in (("hmj", "HMJ"), ("xjoin", "XJoin"))
)


def _experiment(panel: Panel) -> Experiment:
    contestants: dict[str, RpjRace] = races(panel, "reliable", *NAMES)
    if panel.letter == "a":
        for name, race in list(contestants.items()):
            contestants[f"{name}, appending to partitions"] = replace(race, flushed_to="a file for each partition")
            contestants[f"{name}, one file a side"] = replace(race, flushed_to="a file for each side")
    title = f"cost per result, reliable network: {panel.title}"
    mutants = ("rpj: flush order reversed", "rpj: everything is flushed")
    measured = costs(*contestants)
    return experiment(f"rpj-9{panel.letter}", title, COST, contestants, CLAIMS, measured, mutants, __name__)


EXPERIMENTS: Final = tuple(map(_experiment, PANELS))
