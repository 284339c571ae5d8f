"""A join of many inputs keeps the whole contract of operators, whatever hangs together with what."""

import pytest

from multiway import SHAPES, multi_subject
from sooner.testing.checks import CHECKS

LIGHT = ("two", "chain of three", "one attribute of three")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("shape", LIGHT)
def test_all_promises(shape: str, colliding: bool, seed: int) -> None:
    subject = multi_subject(shape, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)


@pytest.mark.parametrize("check", ["answer", "budget", "quanta"])
@pytest.mark.parametrize("shape", ["chain of four", "two in the middle"])
def test_some_promises_of_four_inputs(shape: str, check: str) -> None:
    CHECKS[check](multi_subject(shape), 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_promises_of_all_shapes(shape: str, colliding: bool, seed: int) -> None:
    subject = multi_subject(shape, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)
