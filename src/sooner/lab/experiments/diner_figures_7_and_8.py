"""DINER figures 7 and 8: progress on the data that stands in for the paper's real data (sec. 5.1)."""

from typing import Final

from sooner.lab.claims import ahead, ahead_in_the_end
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import DinerRace, contestant, figure
from sooner.lab.experiments.diner_workloads import REAL_DATA

NAMES: Final = ("diner", "rpj", "hmj", "xjoin", "pmj")


def _experiment(number: str, data: str) -> Experiment:
    diner, *others = (contestant(name, data) for name in NAMES)
    rates = tuple(
        Claim(
            f"{diner} has more results than {other} at every tenth of the arrivals",
            "much higher",
            ahead(diner, other),
            "data: while prices have hardly walked, another may be ahead by a few percent; in the end none is",
        )
        for other in others
    )
    title = f"progress on {'stock trades like CSCO (synthetic)' if data == 'CSCO' else 'temperatures of two stations'}"
    catches_up = Claim(
        "RPJ has caught up with XJoin in the end",
        "has caught up",
        ahead_in_the_end(contestant("rpj", data), contestant("xjoin", data)),
        "data: prices that walk at random are spread evenly over RPJ's partitions, so its chances say nothing",
    )
    claims = (*rates, *((catches_up,) if data == "CSCO" else ()))
    return figure(number, title, {data: DinerRace(REAL_DATA[data], "diner")}, NAMES, claims, __name__)


EXPERIMENTS: Final = (_experiment("7", "CSCO"), _experiment("8", "weather"))
