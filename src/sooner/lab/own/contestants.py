"""A user's own algorithms among those of a figure: over the same arrivals, on the same machine, in each set-up.

They race in experiments of two-way joins whose rows are counted (RPJ's, DINER's, and those of flush policies). What a
set-up says of an algorithm's own way, such as how much it flushes, is as the algorithm itself has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from sooner.errors import InvalidCall
from sooner.lab.claims import TENTHS, cost_per_result, over, share_before_clean_up
from sooner.lab.experiment import Experiment, Histories, Measurement, Race
from sooner.lab.history import History
from sooner.lab.own.algorithms import own_algorithm
from sooner.lab.races.diner import DinerRace
from sooner.lab.races.rpj import COMPETITORS, RpjRace
from sooner.named_algorithms import ALGORITHMS, Algorithm

SetUp = RpjRace | DinerRace
WHERE: Final = "--algorithm takes part in rpj-*, flush-* and diner-*"


@dataclass(frozen=True)
class OwnRace:
    """One of a user's own algorithms, in the set-up of a race that is there."""

    set_up: SetUp  # in which the algorithm is this one, by name
    algorithm: str

    @property
    def seconds(self) -> float:
        return self.set_up.seconds

    def run(self, scale: int, seed: int) -> History:
        with _entered(self.set_up, self.algorithm, own_algorithm(self.algorithm)):
            return self.set_up.run(scale, seed)

    def mutated(self, mutant: str) -> "OwnRace":  # noqa: ARG002 - the contract
        """Mutants are of the papers' algorithms."""
        return self


def with_own(experiment: Experiment, algorithms: Sequence[str]) -> Experiment:
    """The experiment with these as well, first in its picture; what they have is measured, beside all their rivals."""
    own = {name: race for one in algorithms for name, race in _own_races(experiment, one).items()}
    measured = [
        measurement
        for name, race in own.items()
        for measurement in (
            share_before_clean_up(name),
            cost_per_result(name),
            *(least_of_tenths(name, rival) for rival in _rivals(experiment, race)),
        )
    ]
    return replace(experiment, races={**own, **experiment.races}, measurements=(*measured, *experiment.measurements))


def least_of_tenths(name: str, other: str) -> Measurement:
    """How many results there are at each tenth of the arrivals, beside the other's, where that is least."""

    def measure(histories: Histories) -> float:
        mine, theirs = histories[name], histories[other]
        return min(over(_at_tenth(mine, tenth), _at_tenth(theirs, tenth)) for tenth in TENTHS)

    return Measurement(
        f"{name}: results at each tenth of the arrivals, over those of {other}, at least", measure, "{:.2f}"
    )


def _at_tenth(history: History, tenth: float) -> float:
    return history.results_at(tenth * history.last_arrival_seconds)


def _own_races(experiment: Experiment, algorithm: str) -> Mapping[str, OwnRace]:
    """The algorithm in each set-up of the experiment, by what that is called there."""
    own = _countable(algorithm)
    races: dict[OwnRace, str] = {}
    for name, race in experiment.races.items():
        if not isinstance(race, RpjRace | DinerRace):
            raise InvalidCall(f"{experiment.name} races other operators, or reads tables; {WHERE}.")
        _, comma, label = name.partition(", ")  # after the name of the algorithm
        races.setdefault(OwnRace(_set_up(race, algorithm, own), algorithm), comma + label)
    return {algorithm + label: race for race, label in races.items()}


def _countable(name: str) -> Algorithm:
    algorithm = own_algorithm(name)
    if algorithm.waits != "never":
        raise InvalidCall(
            f"algorithm {name!r} lets rows wait ({algorithm.waits}), and these experiments count rows as they meet; "
            "see it with `sooner lab compare`."
        )
    return algorithm


def _rivals(experiment: Experiment, own: OwnRace) -> Iterator[str]:
    """Those who race in the same set-up."""
    algorithm = own_algorithm(own.algorithm)
    for name, race in experiment.races.items():
        if isinstance(race, RpjRace | DinerRace) and _set_up(race, own.algorithm, algorithm) == own.set_up:
            yield name


def _set_up(race: SetUp, name: str, own: Algorithm) -> SetUp:
    if isinstance(race, RpjRace):
        return replace(race, algorithm=name)
    # What keeps rows in the order of their values has one partition; to the letter is DINER alone.
    partitions = 1 if own.order == "values" else race.partitions
    return replace(race, algorithm=name, partitions=partitions, to_the_letter=True)


@contextmanager
def _entered(race: Race, name: str, algorithm: Algorithm) -> Iterator[None]:
    """While it races it stands in the table that the race looks in; no other name has a colon."""
    table: dict[str, Algorithm] = COMPETITORS if isinstance(race, RpjRace) else ALGORITHMS
    table[name] = algorithm
    try:
        yield
    finally:
        del table[name]
