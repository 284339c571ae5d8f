"""DINER figure 13: range joins, prices within five cents and temperatures within five degrees (sec. 5.1).

The paper has DINER and PMJ alone, since hashes know no ranges; its figures are not in the text. Our RPJ and HMJ keep
rows in the order of their values as well, in one partition, and are measured beside them.
"""

from typing import Final

from sooner.lab.claims import ahead_in_the_end
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import DinerRace, contestant, figure
from sooner.lab.experiments.diner_workloads import REAL_DATA

WITHIN: Final = {"CSCO": 5, "IPIX": 5, "weather": 500}  # cents, and hundredths of a degree
NAMES: Final = ("diner", "pmj", "rpj", "hmj")


def _experiment(data: str) -> Experiment:
    set_up = {data: DinerRace(REAL_DATA[data], "diner", within=WITHIN[data], partitions=1)}
    diner, pmj = (contestant(name, data) for name in ("diner", "pmj"))
    claim = Claim("DINER has more results than PMJ before the clean-up", "more", ahead_in_the_end(diner, pmj))
    title = f"range join: {data}"
    return figure(f"13-{data.lower()}", title, set_up, NAMES, (claim,), __name__)


EXPERIMENTS: Final = tuple(map(_experiment, WITHIN))
