"""Of an order by an aggregate with a limit no other groups are read off than may be shown."""

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from sooner.estimation import reading_off

GROUPS, ROWS = 3_000, 12_000
JOINED = "FROM l JOIN r ON l.k = r.k JOIN d ON r.h = d.h GROUP BY g"


def tables(seed: int = 0) -> dict[str, pa.Table]:
    """Sums are small whole numbers, so that many are the same; some are negative, and some null."""
    dice = np.random.default_rng(seed)
    keys = ROWS // 2
    values = dice.integers(-3, 4, ROWS)
    left = {
        "k": dice.integers(0, keys, ROWS),
        "g": dice.integers(0, GROUPS, ROWS),
        "v": values,
        "u": values / 4,
        "w": pa.array(values, mask=dice.random(ROWS) < 0.8),
    }
    right = {"k": np.arange(keys), "h": dice.integers(0, 3, keys)}
    return {"l": pa.table(left), "r": pa.table(right), "d": pa.table({"h": np.arange(3)})}


def by_duckdb(query: str, inputs: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, table in inputs.items():
            connection.register(name, table)
        return connection.sql(query).fetchall()


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many groups each estimate looked at."""
    found: list[int] = []
    really = reading_off._by

    def noted(workings: Any, groups: Any, places: Any) -> Any:
        found.append(len(places))
        return really(workings, groups, places)

    monkeypatch.setattr(reading_off, "_by", noted)
    return found


@pytest.mark.parametrize("aggregate", ["SUM(v)", "SUM(u)", "COUNT(*)", "SUM(v * 2 + 1)"])
@pytest.mark.parametrize("end", ["s DESC, g LIMIT 5", "s, g DESC LIMIT 4 OFFSET 3", "s DESC, g LIMIT 1"])
def test_ties_are_broken_as_if_all_groups_were_there(aggregate: str, end: str, looked_at: list[int]) -> None:
    query = f"SELECT g, {aggregate} AS s {JOINED} ORDER BY {end}"
    found = sooner.sql(query, tables())
    assert isinstance(found, sooner.Estimates)
    assert [tuple(row.values()) for row in found.to_table().to_pylist()] == by_duckdb(query, tables())
    assert looked_at[-1] < GROUPS / 3


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT g, SUM(w) AS s {JOINED} ORDER BY s DESC NULLS FIRST, g LIMIT 5",
        f"SELECT g, SUM(v) AS s {JOINED} HAVING SUM(v) < 2 ORDER BY s DESC, g LIMIT 5",
        f"SELECT g, SUM(v) AS s {JOINED} ORDER BY ROUND(SUM(v) / 10), g LIMIT 5",
        f"SELECT g, AVG(v) AS s {JOINED} ORDER BY s, g LIMIT 5",
        f"SELECT g, SUM(v) AS s {JOINED} ORDER BY g LIMIT 5",
        f"SELECT g, SUM(v) AS s {JOINED} ORDER BY s DESC, g LIMIT 5000",
    ],
)
def test_where_more_may_be_shown_all_are_looked_at(query: str, looked_at: list[int]) -> None:
    answer = sooner.sql(query, tables())
    assert isinstance(answer, sooner.Estimates)
    assert [tuple(row.values()) for row in answer.to_table().to_pylist()] == by_duckdb(query, tables())
    n_groups = by_duckdb(f"SELECT COUNT(*) FROM (SELECT g {JOINED})", tables())[0][0]
    assert looked_at[-1] == n_groups


def test_infinity_and_nan_have_their_places(looked_at: list[int]) -> None:
    inputs = tables()
    values = inputs["l"]["u"].to_numpy().copy()
    values[:3] = np.inf, -np.inf, np.nan
    inputs["l"] = inputs["l"].set_column(3, "u", pa.array(values))
    query = f"SELECT g, SUM(u) AS s {JOINED} ORDER BY s DESC, g LIMIT 5"
    found = sooner.sql(query, inputs)
    assert isinstance(found, sooner.Estimates)
    assert found.to_table()["g"].to_pylist() == [row[0] for row in by_duckdb(query, inputs)]
    assert looked_at
