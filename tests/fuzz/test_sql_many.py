"""Queries over many tables of fixed seeds give DuckDB's rows."""

import pytest

from fuzz.blocks import blocks, require_right


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seeds", blocks(300), ids=str)
def test_sql_many_of_fixed_seeds(seeds: range) -> None:
    require_right("sql_many", seeds)


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(2_000)[15:], ids=str)
def test_sql_many_of_more_seeds(seeds: range) -> None:
    require_right("sql_many", seeds)
