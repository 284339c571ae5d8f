"""DINER figure 13: range joins, prices less than five cents apart and temperatures less than five degrees (sec. 5.1).

The paper has DINER and PMJ alone, since hashes know no ranges; its figures are not in the text.
"""

from typing import Final

from sooner.lab.claims import far_better
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import contestant, figure, races
from sooner.lab.races.diner import JOINS_WHEN_FULL, DinerRace
from sooner.lab.races.diner_workloads import REAL_DATA

WITHIN: Final = {"CSCO": 4, "IPIX": 4, "weather": 499}  # whole cents, and hundredths of a degree, below five
NAMES: Final = ("diner", "pmj")


def _experiment(data: str) -> Experiment:
    set_up = {data: DinerRace(REAL_DATA[data], "diner", within=WITHIN[data])}
    diner, pmj = (contestant(name, data) for name in NAMES)
    claim = Claim(
        "sec. 5.1, fig. 13",
        "DINER has far more results than PMJ before the clean-up",
        "PMJ is a generally poor choice",
        far_better(diner, pmj),
    )
    mutants = (f"diner: {JOINS_WHEN_FULL}",)
    return figure(f"13-{data.lower()}", f"range join: {data}", races(set_up, *NAMES), [claim], mutants, __name__)


EXPERIMENTS: Final = tuple(map(_experiment, WITHIN))
