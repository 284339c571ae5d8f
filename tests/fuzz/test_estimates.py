"""Estimates of fixed seeds end as DuckDB's rows say."""

import pytest

from fuzz.blocks import blocks, require_right


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seeds", blocks(140), ids=str)
def test_estimates_of_fixed_seeds(seeds: range) -> None:
    require_right("estimates", seeds)
