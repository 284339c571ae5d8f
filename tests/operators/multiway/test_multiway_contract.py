"""A join of many inputs keeps the whole contract of operators, whatever hangs together with what."""

import pytest

from multiway import SHAPES, multi_subject
from sooner.testing.checks import CHECKS


@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("shape", ["two", "chain of three", "one attribute of three"])
def test_all_promises(shape: str, colliding: bool) -> None:
    """Of small graphs, with one seed; the long set has all of them."""
    subject = multi_subject(shape, colliding=colliding)
    for check in CHECKS.values():
        check(subject, 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_promises_of_all_shapes(shape: str, colliding: bool, seed: int) -> None:
    subject = multi_subject(shape, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)
