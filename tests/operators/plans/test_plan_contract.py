"""A plan of joins keeps the whole contract of operators, whatever its shape, its kinds of joins and its algorithm."""

import itertools

import pytest

from plans import SHAPES, plan_subject
from sooner.testing.checks import CHECKS


@pytest.mark.parametrize(("shape", "algorithm"), [("chain of three", "agf"), ("left, then semi", "rpj")])
def test_all_promises(shape: str, algorithm: str) -> None:
    """A small plan, with one seed; the long set has all of them."""
    subject = plan_subject(shape, algorithm)
    for check in CHECKS.values():
        check(subject, 0)


@pytest.mark.parametrize(("shape", "algorithm"), [*zip(SHAPES, itertools.cycle(["agf", "state_spill", "hmj"]))])
def test_the_answer_of_all_shapes(shape: str, algorithm: str) -> None:
    CHECKS["answer"](plan_subject(shape, algorithm), 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("algorithm", ["agf", "state_spill", "rpj", "hmj"])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_promises_of_all_shapes(shape: str, algorithm: str, seed: int) -> None:
    subject = plan_subject(shape, algorithm)
    for check in CHECKS.values():
        check(subject, seed)
