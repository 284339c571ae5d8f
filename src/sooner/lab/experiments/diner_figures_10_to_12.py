"""DINER figures 10 to 12: skew, and normal distributions that drift apart (sec. 5.1)."""

from collections.abc import Sequence
from typing import Final

from sooner.lab.claims import ahead_each_time, best_ratio, growing
from sooner.lab.experiment import Claim
from sooner.lab.experiments.diner import DinerRace, SetUps, figure, pairs
from sooner.lab.experiments.diner_workloads import Normal, Zipf

NAMES: Final = ("diner", "rpj", "hmj")
OTHERS: Final = (("rpj", "RPJ"), ("hmj", "HMJ"))
SKEWS: Final[SetUps] = {f"skew {skew}": DinerRace(Zipf(skew), "diner") for skew in (1, 2, 3, 4, 5)}
MEANS: Final[SetUps] = {f"mean +{x}": DinerRace(Normal(mean_apart=x), "diner") for x in (0, 5, 10, 15, 20)}
VARIANCES: Final[SetUps] = {
    f"variance +{x}": DinerRace(Normal(variance_apart=x), "diner") for x in (0, 50, 100, 200, 400)
}
WHOLE_VALUES: Final = (
    "code: a value leaves memory whole, and from a skew of 2 on one has most rows; the paper splits it"
)


def _ahead(set_ups: SetUps, why_not: str = "") -> list[Claim]:
    return [
        Claim(
            f"DINER has more early results than {shown} each time",
            "ahead",
            ahead_each_time(pairs(set_ups, other)),
            why_not,
        )
        for other, shown in OTHERS
    ]


def _growing(set_ups: SetUps) -> list[Claim]:
    return [
        Claim(f"The further apart, the larger DINER's advantage over {shown}", "larger", growing(pairs(set_ups, other)))
        for other, shown in OTHERS
    ]


def _skew_claims() -> Sequence[Claim]:
    every_pair = [pair for other, _ in OTHERS for pair in pairs(SKEWS, other)]
    larger = Claim(
        "The benefit is even larger than with the real data (2.5 times)", "above 2.5 times", best_ratio(every_pair, 2.5)
    )
    return (*_ahead(SKEWS, WHOLE_VALUES), larger)


EXPERIMENTS: Final = (
    figure(
        "10",
        "values of a Zipf distribution, more and more skewed",
        SKEWS,
        NAMES,
        _skew_claims(),
        __name__,
    ),
    figure(
        "11",
        "normal distributions whose means drift apart",
        MEANS,
        NAMES,
        (*_ahead(MEANS), *_growing(MEANS)),
        __name__,
    ),
    figure(
        "12",
        "normal distributions whose variances drift apart",
        VARIANCES,
        NAMES,
        (*_ahead(VARIANCES), *_growing(VARIANCES)),
        __name__,
    ),
)
