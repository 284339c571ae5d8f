"""DINER figure 18: relations of different sizes, equally fast (sec. 5.4); the smaller one has ended long before."""

from typing import Final

from sooner.lab.claims import ahead_each_time
from sooner.lab.experiment import Claim
from sooner.lab.experiments.diner import DinerRace, SetUps, figure, pairs
from sooner.lab.experiments.diner_workloads import RELATION_ROWS, Zipf

SIZES: Final[SetUps] = {
    f"{rows:,} rows": DinerRace(Zipf(rows=(RELATION_ROWS, rows)), "diner", memory_rows=10_000)
    for rows in (10_000, 25_000, 50_000, 75_000, 100_000)
}
CLAIMS: Final = tuple(
    Claim(f"DINER has more early results than {shown} with each size", "superior", ahead_each_time(pairs(SIZES, other)))
    for other, shown in (("rpj", "RPJ"), ("hmj", "HMJ"))
)

EXPERIMENTS: Final = (
    figure("18", "one relation smaller than the other: Zipf", SIZES, ("diner", "rpj", "hmj"), CLAIMS, __name__),
)
