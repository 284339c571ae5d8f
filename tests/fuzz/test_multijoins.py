"""Joins of many inputs of fixed seeds find their answers."""

import pytest

from fuzz.blocks import blocks, require_right


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seeds", blocks(40), ids=str)
def test_multijoins_of_fixed_seeds(seeds: range) -> None:
    require_right("multijoins", seeds)
