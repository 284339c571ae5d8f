"""DINER figures 14 and 15: values whose distribution changes over time (sec. 5.2).

Figure 15 with a block for each flush, which is what the verdict is of, and with a tenth of the memory.
"""

from dataclasses import replace
from typing import Final

from sooner.lab.claims import best_ratio, early_ratio, growing
from sooner.lab.experiment import Claim, Measurement
from sooner.lab.experiments.diner import (
    FLUSHED,
    RIVALS,
    SetUps,
    ahead_of_rivals,
    contestant,
    each_with,
    figure,
    pairs,
    races,
)
from sooner.lab.races.diner import DinerRace
from sooner.lab.races.diner_workloads import PartlySorted, Shifting

NAMES: Final = ("diner", "rpj", "hmj")
INTERVALS: Final[SetUps] = {f"{n} intervals": DinerRace(PartlySorted(n), "diner") for n in (10, 100, 500)}
SHIFTS: Final[SetUps] = {f"shift {x}": DinerRace(Shifting(x), "diner") for x in (0, 5, 10, 20, 40)}
SOME: Final[SetUps] = {at: SHIFTS[at] for at in ("shift 0", "shift 20")}
A_TENTH: Final = each_with(SOME, "flushing a tenth", lambda race: replace(race, flush="a tenth"))
FIGURE_15: Final = "sec. 5.2, fig. 15"
STANDING_STILL: Final = (
    "settings: how much RPJ flushes is not said; "
    "with a shift of 0 nothing changes over time, which is what RPJ supposes"
)
OLD_AND_NEW: Final = (
    "settings: of HMJ's partitions nothing is said; with 20 of them it keeps more new rows than RPJ does"
)
MUTANTS: Final = (FLUSHED,)


def _shift_claims() -> list[Claim]:
    claims = ahead_of_rivals(FIGURE_15, SHIFTS, "ahead", STANDING_STILL)
    for other, shown in RIVALS:
        both, why_not = pairs(SHIFTS, other), OLD_AND_NEW if other == "hmj" else STANDING_STILL
        faster = f"DINER's advantage over {shown} grows with the shift"
        claims.append(Claim(FIGURE_15, faster, "increasing", growing(both), why_not))
        most = f"DINER has up to 3 times the results of {shown}"
        claims.append(Claim(FIGURE_15, most, "up to 3 times", best_ratio(both, 3.0), why_not))
    return claims


def _ratios() -> list[Measurement]:
    alike = [early_ratio(contestant("diner", at), contestant("rpj", at)) for at in (*SHIFTS, *A_TENTH)]
    unlike = [early_ratio(contestant("diner", at), contestant("rpj", f"{at}, flushing a tenth")) for at in SOME]
    return [*alike, *unlike]


EXPERIMENTS: Final = (
    figure(
        "14",
        "values that come partly sorted",
        races(INTERVALS, *NAMES),
        ahead_of_rivals("sec. 5.2, fig. 14", INTERVALS, "significant in all cases"),
        MUTANTS,
        __name__,
    ),
    figure(
        "15",
        "normal distributions whose means shift from period to period",
        {**races(SHIFTS, *NAMES), **races(A_TENTH, "diner", "rpj")},
        _shift_claims(),
        MUTANTS,
        __name__,
        _ratios(),
    ),
)
