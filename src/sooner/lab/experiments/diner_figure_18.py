"""DINER figure 18: relations of different sizes, equally fast (sec. 5.4); the smaller one has ended long before."""

from typing import Final

from sooner.lab.claims import growing
from sooner.lab.experiment import Claim
from sooner.lab.experiments.diner import (
    FLUSHED,
    RIVALS,
    SetUps,
    ahead_of_rivals,
    figure,
    pairs,
    races,
)
from sooner.lab.races.diner import DinerRace
from sooner.lab.races.diner_workloads import RELATION_ROWS, Zipf

SECTION: Final = "sec. 5.4, fig. 18"
SIZES: Final[SetUps] = {
    f"{rows:,} rows": DinerRace(Zipf(rows=(RELATION_ROWS, rows)), "diner", memory_rows=10_000)
    for rows in (100_000, 50_000, 25_000, 10_000)
}
ALL_OF_IT: Final = "the paper: where memory has room for most of the smaller relation, every policy keeps it"
TREND: Final = tuple(
    Claim(
        SECTION,
        f"The smaller the one relation, the larger DINER's advantage over {shown}",
        "superior performance as one relation gets smaller",
        growing(pairs(SIZES, other)),
        ALL_OF_IT,
    )
    for other, shown in RIVALS
)

EXPERIMENTS: Final = (
    figure(
        "18",
        "one relation smaller than the other: Zipf",
        races(SIZES, "diner", "rpj", "hmj"),
        [*ahead_of_rivals(SECTION, SIZES, "superior"), *TREND],
        (FLUSHED,),
        __name__,
    ),
)
