"""What the experiments of RPJ (sec. 6) measure, and how they are put down."""

from collections.abc import Mapping, Sequence
from typing import Final

from sooner.lab.claims import cost_per_result, share_before_clean_up, share_of_bound
from sooner.lab.experiment import Claim, Experiment, Figure, Measurement, Race
from sooner.lab.races.rpj import SETTING

PROGRESS: Final = Figure("results", "the end", "results")
PROGRESS_OF_ARRIVALS: Final = Figure("results", "the last arrival", "results")
COST: Final = Figure("cost_per_result_microseconds", "the last arrival", "microseconds per result")


def experiment(
    name: str,
    title: str,
    figure: Figure,
    races: Mapping[str, Race],
    claims: Sequence[Claim],
    measurements: Sequence[Measurement],
    mutants: Sequence[str],
    module: str,
) -> Experiment:
    return Experiment(name, "RPJ", title, figure, races, claims, measurements, SETTING, module, mutants)


def shares(*names: str) -> tuple[Measurement, ...]:
    """What is out before the clean-up."""
    return tuple(map(share_before_clean_up, names))


def costs(*names: str) -> tuple[Measurement, ...]:
    return tuple(map(cost_per_result, names))


def bounds(*names: str) -> tuple[Measurement, ...]:
    """How near each of these comes to a flush policy that knows the future."""
    return tuple(share_of_bound(name, "clairvoyant") for name in names)
