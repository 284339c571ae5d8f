"""DINER figure 9 and table 4: less and more memory, on what stands in for the paper's real data (sec. 5.1 and 5.4).

Of table 4 the text has the last two columns, 49% and 58%, 72% and 82%, 24% and 29% for memory of 15% and 20% of the
input, and not which row is which. Those of the stock and of the weather can be told apart by what is above and below.
"""

from typing import Final

from sooner.lab.claims import ahead_each_time, best_ratio, early_share, growing
from sooner.lab.experiment import Claim, Experiment
from sooner.lab.experiments.diner import DinerRace, contestant, figure, pairs
from sooner.lab.experiments.diner_workloads import REAL_DATA

MEMORIES: Final = (0.20, 0.15, 0.10, 0.05)
NAMES: Final = ("diner", "rpj", "hmj")
TABLE_4: Final = {"CSCO": (0.72, 0.82), "IPIX": (0.49, 0.58), "weather": (0.24, 0.29)}  # memory of 15% and 20%
WITHIN: Final = 0.1
OTHER_DATA: Final = "data: ours is another stock or another town, and how often values come back decides"


def _experiment(data: str) -> Experiment:
    set_ups = {f"{share:.0%}": DinerRace(REAL_DATA[data], "diner", share) for share in MEMORIES}
    claims = []
    for other, shown in (("rpj", "RPJ"), ("hmj", "HMJ")):
        both = pairs(set_ups, other)
        claims += [
            Claim(f"DINER has more early results than {shown} with each memory", "ahead", ahead_each_time(both)),
            Claim(f"DINER's advantage over {shown} grows as memory shrinks", "grows", growing(both), OTHER_DATA),
        ]
    if data == "CSCO":
        every_pair = [pair for other in ("rpj", "hmj") for pair in pairs(set_ups, other)]
        what = "DINER has up to 2.5 times the results of RPJ or HMJ (this is the data set where it is furthest ahead)"
        claims.append(Claim(what, "up to 2.5 times", best_ratio(every_pair, least=2.0), OTHER_DATA))
    for share, expected in zip((0.15, 0.20), TABLE_4[data], strict=True):
        read = early_share(contestant("diner", f"{share:.0%}"), expected - WITHIN, expected + WITHIN)
        what = f"Table 4: DINER's share before the clean-up, with {share:.0%} of memory"
        claims.append(Claim(what, f"{expected:.0%} (ours: within 10 points)", read, OTHER_DATA))
    title = f"less and more memory: {data}"
    return figure(f"9-{data.lower()}", title, set_ups, NAMES, claims, __name__)


EXPERIMENTS: Final = tuple(map(_experiment, REAL_DATA))
