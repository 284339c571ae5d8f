"""Joins of many inputs in memory so small that rows leave it all the time: shapes, algorithms and schedules by chance.

The answer is that of the conformance suite; `tests/multiway.py` draws the rows.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fuzz.family import dice_of
from multiway import SHAPES, multi_subject
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.testing.checks import CHECKS


class MultiCase(NamedTuple):
    shape: str
    algorithm: str
    colliding: bool
    seed: int


class MultiJoins:
    name = "multijoins"

    def case(self, seed: int) -> MultiCase:
        dice = dice_of(self.name, seed)
        return MultiCase(dice.choice(list(SHAPES)), dice.choice(list(MULTI_ALGORITHMS)), dice.random() < 0.3, seed)

    def check(self, case: MultiCase) -> None:
        CHECKS["answer"](multi_subject(case.shape, algorithm=case.algorithm, colliding=case.colliding), case.seed)

    def shown(self, case: MultiCase) -> str:
        return str(case)

    def smaller(self, case: MultiCase) -> Iterator[MultiCase]:
        """Fewer inputs; what arrives follows from the seed."""
        fewer = sorted(SHAPES, key=lambda shape: len(SHAPES[shape]))
        for shape in fewer[: fewer.index(case.shape)]:
            yield case._replace(shape=shape)
