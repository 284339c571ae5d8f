"""The conformance suite: what every operator and every policy must pass, also one of your own.

>>> from sooner.named_algorithms import Algorithm
>>> from sooner.policies.flush.largest import Largest
>>> from sooner.policies.react.merge import Merge
>>> from sooner.testing import check_algorithm
>>> check_algorithm(Algorithm("mine", flush=Largest(), react=Merge(fan_in=2)), seeds=[1])

`check_operator` does the same for any operator that keeps the contract of `sooner.operators.operator`. A failure is an
AssertionError that names the check and the seed with which it happens again. `docs/operators.md` is the page about it.
"""

from sooner.testing.checks import CHECKS, SEEDS, check_algorithm, check_operator
from sooner.testing.dice import KINDS, Dice, Kind
from sooner.testing.folding import folding_subject
from sooner.testing.schedules import Arrive, End, Schedule, Work, draw_schedule
from sooner.testing.subject import Row, Subject
from sooner.testing.trial import Trial
from sooner.testing.two_way import two_way_subject

__all__ = [
    "CHECKS",
    "KINDS",
    "SEEDS",
    "Arrive",
    "Dice",
    "End",
    "Kind",
    "Row",
    "Schedule",
    "Subject",
    "Trial",
    "Work",
    "check_algorithm",
    "check_operator",
    "draw_schedule",
    "folding_subject",
    "two_way_subject",
]
