"""A join of many inputs keeps the whole contract of operators, whatever hangs together with what."""

import pytest

from multiway import SHAPES, multi_subject
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.testing.checks import CHECKS


@pytest.mark.parametrize(
    ("shape", "algorithm", "colliding"),
    [("one attribute of three", "mjoin", True), ("range at the end", "miner", False)],
)
def test_all_promises(shape: str, algorithm: str, colliding: bool) -> None:
    """A small graph for each algorithm, with keys and with a range, and one seed; the long set has all of them."""
    subject = multi_subject(shape, algorithm=algorithm, colliding=colliding)
    for check in CHECKS.values():
        check(subject, 0)


def test_of_one_attribute_any_of_those_on_disk_may_ask_for_what_is_in_memory() -> None:
    """Two of three are on disk and are joined there; which of them asks for the third is a matter of the route."""
    CHECKS["answer"](multi_subject("one attribute of three", algorithm="miner"), 3)


def test_nothing_is_looked_for_where_an_input_between_others_has_no_rows() -> None:
    """All that it had was let go, since it matches nothing."""
    CHECKS["answer"](multi_subject("range at the end", algorithm="mjoin"), 1030)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("algorithm", MULTI_ALGORITHMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_promises_of_all_shapes(shape: str, algorithm: str, colliding: bool, seed: int) -> None:
    subject = multi_subject(shape, algorithm=algorithm, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)
