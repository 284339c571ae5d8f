"""Three hundred statements as people write them: the same values as DuckDB's, or a refusal that names the part."""

import math
from collections import Counter
from typing import Any

import pytest

import sooner
from sql_as_written import FIGURES, N_STATEMENTS, ORDERED, ROWS
from sql_chain import TABLES, duckdb_rows

Row = tuple[Any, ...]


def answer(query: str) -> list[Row]:
    found: Any = sooner.sql(query, TABLES)
    return list(zip(*found.to_table().to_pydict().values(), strict=True))


def same(mine: Row, other: Row) -> bool:
    return len(mine) == len(other) and all(
        math.isclose(one, two, rel_tol=1e-9) if isinstance(one, float) and two is not None else one == two
        for one, two in zip(mine, other, strict=True)
    )


def in_order(rows: list[Row]) -> list[Row]:
    """By what is exact first: doubles may differ in their last bits."""
    return sorted(rows, key=lambda row: (repr([one for one in row if not isinstance(one, float)]), repr(row)))


def test_there_are_three_hundred() -> None:
    assert N_STATEMENTS >= 300


@pytest.mark.one_in(2)
@pytest.mark.parametrize("query", ROWS)
def test_rows(query: str) -> None:
    assert Counter(answer(query)) == Counter(duckdb_rows(query))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("query", FIGURES)
def test_figures(query: str) -> None:
    mine, others = in_order(answer(query)), in_order(duckdb_rows(query))
    assert len(mine) == len(others)
    assert [one for one in zip(mine, others, strict=True) if not same(*one)] == []


@pytest.mark.parametrize("query", ORDERED)
def test_in_order(query: str) -> None:
    mine, others = answer(query), duckdb_rows(query)
    assert len(mine) == len(others)
    assert [one for one in zip(mine, others, strict=True) if not same(*one)] == []
