"""Queries of fixed seeds give DuckDB's rows."""

import pytest

from fuzz.blocks import blocks, require_right


@pytest.mark.parametrize("seeds", blocks(140), ids=str)
def test_sql_of_fixed_seeds(seeds: range) -> None:
    require_right("sql", seeds)
