"""How DINER's experiments (sec. 5) are put down: algorithms in several set-ups, by what is swept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sooner.lab.claims import ahead_each_time, share_before_clean_up
from sooner.lab.experiment import Claim, Experiment, Figure, Measurement, Race
from sooner.lab.races.diner import SETTING, DinerRace

SAMPLES: Final = 50  # of each of many curves
RIVALS: Final = (("rpj", "RPJ"), ("hmj", "HMJ"))
REVERSED: Final = "diner: flush order reversed"
LOST_REGION: Final = "diner: the middle region is lost"
FLUSHED: Final = "diner: everything is flushed"
IDLE: Final = "diner: nothing is done in silence"

SetUps = Mapping[str, DinerRace]  # what is swept, by what it is called


def races(set_ups: SetUps, *names: str) -> dict[str, DinerRace]:
    """These algorithms in each set-up."""
    return {contestant(name, at): replace(race, algorithm=name) for at, race in set_ups.items() for name in names}


def contestant(name: str, set_up: str) -> str:
    return f"{name}, {set_up}"


def pairs(set_ups: SetUps, other: str) -> tuple[tuple[str, str], ...]:
    """DINER and another, in each set-up."""
    return tuple((contestant("diner", at), contestant(other, at)) for at in set_ups)


def each_with(set_ups: SetUps, called: str, change: Callable[[DinerRace], DinerRace]) -> dict[str, DinerRace]:
    """The same set-ups with something else."""
    return {f"{at}, {called}": change(race) for at, race in set_ups.items()}


def ahead_of_rivals(section: str, set_ups: SetUps, expected: str, why_not: str = "unexplained") -> list[Claim]:
    """DINER has more early results than each rival, in every set-up."""
    return [
        Claim(
            section,
            f"DINER has more early results than {shown} each time",
            expected,
            ahead_each_time(pairs(set_ups, other)),
            why_not,
        )
        for other, shown in RIVALS
    ]


def figure(
    number: str,
    title: str,
    contestants: Mapping[str, Race],
    claims: Sequence[Claim],
    mutants: Sequence[str],
    module: str,
    measurements: Sequence[Measurement] = (),
) -> Experiment:
    """One of the paper's, in which something is swept; what each has before the clean-up is measured."""
    return Experiment(
        name=f"diner-{number}",
        paper="DINER",
        title=title,
        figure=Figure("results", "the last arrival", "results", samples=SAMPLES),
        races=contestants,
        claims=claims,
        measurements=(*map(share_before_clean_up, contestants), *measurements),
        setting=SETTING,
        module=module,
        mutants=mutants,
    )
