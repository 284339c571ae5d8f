"""DINER figures 14 and 15: values whose distribution changes over time (sec. 5.2)."""

from typing import Final

from sooner.lab.claims import ahead_each_time, best_ratio, growing
from sooner.lab.experiment import Claim
from sooner.lab.experiments.diner import DinerRace, SetUps, figure, pairs
from sooner.lab.experiments.diner_workloads import PartlySorted, Shifting

NAMES: Final = ("diner", "rpj", "hmj")
OTHERS: Final = (("rpj", "RPJ"), ("hmj", "HMJ"))
INTERVALS: Final[SetUps] = {f"{n} intervals": DinerRace(PartlySorted(n), "diner") for n in (10, 50, 100, 500)}
SHIFTS: Final[SetUps] = {f"shift {x}": DinerRace(Shifting(x), "diner") for x in (0, 5, 10, 20, 40)}

OLD_AND_NEW: Final = (
    "settings: of HMJ's partitions nothing is said; with 20 of them it keeps more new rows than RPJ does"
)

_SORTED: Final = tuple(
    Claim(
        f"DINER has more early results than {shown} each time", "significant", ahead_each_time(pairs(INTERVALS, other))
    )
    for other, shown in OTHERS
)
_SHIFTED: Final = tuple(
    claim
    for other, shown in OTHERS
    for claim in (
        Claim(f"DINER has more early results than {shown} each time", "ahead", ahead_each_time(pairs(SHIFTS, other))),
        Claim(f"DINER's advantage over {shown} grows with the shift", "grows", growing(pairs(SHIFTS, other))),
        Claim(
            f"DINER has up to 3 times the results of {shown}",
            "up to 3 times",
            best_ratio(pairs(SHIFTS, other), 2.4),
            OLD_AND_NEW if other == "hmj" else "",
        ),
    )
)

EXPERIMENTS: Final = (
    figure("14", "values that come partly sorted", INTERVALS, NAMES, _SORTED, __name__),
    figure(
        "15",
        "normal distributions whose means shift from period to period",
        SHIFTS,
        NAMES,
        _SHIFTED,
        __name__,
    ),
)
