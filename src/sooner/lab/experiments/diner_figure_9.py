"""DINER figure 9 and table 4: less and more memory, on what stands in for the paper's real data (sec. 5.1 and 5.4).

Of table 4 the text has the last two columns, 49% and 58%, 72% and 82%, 24% and 29% for memory of 15% and 20% of the
input, and not which row is which. Our data is other: of stocks, shares differ more from seed to seed than they could be
said to be near the paper's, so they are measured, and no claim. "Up to 2.5 times" is of three data sets and two rivals
together; it is a claim of each rival on the data set where it is said to be most.
"""

from typing import Final

from sooner.lab.claims import best_ratio, growing
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import FLUSHED, REVERSED, RIVALS, ahead_of_rivals, figure, pairs, races
from sooner.lab.races.diner import DinerRace
from sooner.lab.races.diner_workloads import REAL_DATA

SECTION: Final = "sec. 5.1, fig. 9"
MEMORIES: Final = (0.20, 0.15, 0.10, 0.05)
NAMES: Final = ("diner", "rpj", "hmj")
OTHER_DATA: Final = "data: ours is another stock or another town, and how often values come back decides"


def _experiment(data: str) -> Experiment:
    set_ups = {f"{share:.0%}": DinerRace(REAL_DATA[data], "diner", share) for share in MEMORIES}
    claims = ahead_of_rivals(SECTION, set_ups, "significantly outperforms", OTHER_DATA)
    for other, shown in RIVALS:
        both = pairs(set_ups, other)
        more = f"DINER's advantage over {shown} grows as memory shrinks"
        claims.append(Claim(SECTION, more, "more significant", growing(both), OTHER_DATA))
        if data == "CSCO":
            most = f"DINER has up to 2.5 times the results of {shown}"
            claims.append(Claim(SECTION, most, "up to 2.5 times", best_ratio(both, 2.5), OTHER_DATA))
    title = f"less and more memory: {data}"
    mutants = (REVERSED, FLUSHED)
    return figure(f"9-{data.lower()}", title, races(set_ups, *NAMES), claims, mutants, __name__)


EXPERIMENTS: Final = tuple(map(_experiment, REAL_DATA))
