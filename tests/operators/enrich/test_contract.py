"""Each way to enrich keeps the whole contract of operators."""

import pytest

from enriching import as_of_subject, enrich_subject
from sooner.operators.enrich.plan import MannerName
from sooner.testing.checks import CHECKS

HOWS = ("inner", "left", "semi", "anti")


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("algorithm", ["probe", "ssbj", "meshjoin"])
def test_all_promises(algorithm: MannerName, how: str, colliding: bool, seed: int) -> None:
    subject = enrich_subject(algorithm, how, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", HOWS)
def test_all_promises_as_of(how: str, colliding: bool, seed: int) -> None:
    subject = as_of_subject(how, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)
