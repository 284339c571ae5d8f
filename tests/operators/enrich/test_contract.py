"""Each way to enrich keeps the whole contract of operators."""

import pytest

from enriching import enrich_subject
from sooner.operators.enrich.plan import MannerName
from sooner.testing.checks import CHECKS


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("algorithm", ["probe", "ssbj", "meshjoin"])
def test_all_promises(algorithm: MannerName, how: str, colliding: bool, seed: int) -> None:
    subject = enrich_subject(algorithm, how, colliding=colliding)
    for check in CHECKS.values():
        check(subject, seed)
