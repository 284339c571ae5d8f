"""What DINER's authors chose and say why (sec. 3.1 and 3.3): three regions, join bits; and how much a flush takes.

That two regions do not suffice is said of values near the median that join nothing: normal distributions whose means
are apart (figure 11). That a counter for each row shows no significant benefit over a bit is said of no data in
particular, so it is looked at on all kinds. How much a flush takes decides `sooner`'s own default.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead_each_time, early_ratio, marginal
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import REVERSED, SetUps, contestant, each_with, figure, races
from sooner.lab.races.diner import WITH_COUNTERS, DinerRace
from sooner.lab.races.diner_workloads import REAL_DATA, Normal, PartlySorted, Shifting, Zipf

DATA: Final[SetUps] = {
    **{data: DinerRace(workload, "diner") for data, workload in REAL_DATA.items()},
    **{f"skew {skew}": DinerRace(Zipf(skew), "diner") for skew in (1, 3)},
    "100 intervals": DinerRace(PartlySorted(100), "diner"),
    "shift 10": DinerRace(Shifting(10), "diner"),
}
APART: Final[SetUps] = {f"mean +{x}": DinerRace(Normal(mean_apart=x), "diner") for x in (5, 10, 20)}
TWO_REGIONS: Final = "two regions"


def _regions() -> Experiment:
    two = each_with(APART, TWO_REGIONS, lambda race: race.mutated("diner: the middle region is lost"))
    both = [(contestant("diner", at), contestant("diner", f"{at}, {TWO_REGIONS}")) for at in APART]
    claim = Claim(
        "sec. 3.3",
        "With three regions DINER has more early results than with two, where values near the median join nothing",
        "two do not always suffice",
        ahead_each_time(both),
    )
    title = "three regions and two: normal distributions whose means are apart"
    return figure("regions", title, races({**APART, **two}, "diner"), [claim], (REVERSED,), __name__)


def _counters() -> Experiment:
    claims = [
        Claim(
            "sec. 3.1",
            f"Counters instead of join bits make no significant difference ({at})",
            "no significant benefit",
            marginal([contestant("diner", at), contestant(WITH_COUNTERS, at)]),
        )
        for at in DATA
    ]
    title = "join bits and counters"
    mutants = (f"{WITH_COUNTERS}: flush order reversed",)
    return figure("counters", title, races(DATA, "diner", WITH_COUNTERS), claims, mutants, __name__)


def _flush_sizes() -> Experiment:
    """No paper compares them; `sooner`'s diner flushes a tenth of the memory."""
    a_tenth = each_with(DATA, "flushing a tenth", lambda race: replace(race, flush="a tenth"))
    ratios = [early_ratio(contestant("diner", at), contestant("diner", f"{at}, flushing a tenth")) for at in DATA]
    title = "a flush of one block, and of a tenth of the memory"
    return figure("flush-sizes", title, races({**DATA, **a_tenth}, "diner"), (), (), __name__, ratios)


EXPERIMENTS: Final = (_regions(), _counters(), _flush_sizes())
