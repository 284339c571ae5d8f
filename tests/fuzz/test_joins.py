"""Joins of fixed seeds are what plain Python says."""

import pytest

from fuzz.blocks import blocks, require_right


@pytest.mark.parametrize("seeds", blocks(200), ids=str)
def test_joins_of_fixed_seeds(seeds: range) -> None:
    require_right("joins", seeds)
