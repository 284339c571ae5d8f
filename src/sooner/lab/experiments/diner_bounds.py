"""How near each algorithm comes to a flush policy that knows the future, on DINER's data; and why a gap is 1 ms.

No paper says so; they are measurements. The bound is of results from memory alone, without silences.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import share_of_bound
from sooner.lab.experiment import Experiment
from sooner.lab.experiments.diner import SetUps, contestant, figure, races
from sooner.lab.races.diner import DinerRace
from sooner.lab.races.diner_workloads import REAL_DATA, Normal, PartlySorted, Shifting, Zipf

NAMES: Final = ("diner", "rpj", "hmj", "xjoin", "pmj")
SET_UPS: Final[SetUps] = {
    **{data: DinerRace(workload, "diner") for data, workload in REAL_DATA.items()},
    **{f"skew {skew}": DinerRace(Zipf(skew), "diner") for skew in (1, 3, 5)},
    "mean +10": DinerRace(Normal(mean_apart=10), "diner"),
    "variance +100": DinerRace(Normal(variance_apart=100), "diner"),
    "100 intervals": DinerRace(PartlySorted(100), "diner"),
    "shift 10": DinerRace(Shifting(10), "diner"),
}
SLOW: Final[SetUps] = {
    f"{milliseconds} ms": DinerRace(Zipf(), "diner", gap_seconds=milliseconds / 1000) for milliseconds in (1, 10)
}


def _bounds() -> Experiment:
    experiment = figure(
        "bounds", "flush policies and their bound", races(SET_UPS, *NAMES, "clairvoyant"), (), (), __name__
    )
    shares = [share_of_bound(contestant(name, at), contestant("clairvoyant", at)) for at in SET_UPS for name in NAMES]
    return replace(experiment, measurements=shares)


def _gaps() -> Experiment:
    """What is out before the clean-up if lambda = 0.1 means 10 ms: far more than the paper has."""
    title = "what a gap of 10 ms would mean: Zipf, skew 1"
    return figure("gaps", title, races(SLOW, "diner", "rpj"), (), (), __name__)


EXPERIMENTS: Final = (_bounds(), _gaps())
