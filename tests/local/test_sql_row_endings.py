"""DISTINCT, ORDER BY and LIMIT of rows: what is kept for them, and when nothing more is read."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import refused
from sooner.errors import BudgetTooSmall

ROWS = 200_000
MANY: dict[str, Any] = {"t": pa.table({"x": np.random.default_rng(3).permutation(ROWS), "even": np.arange(ROWS) % 2})}


def answer(query: str, **options: Any) -> pa.Table:
    found: Any = sooner.sql(query, MANY, **options)
    return found.to_table()


@pytest.mark.parametrize(("offset", "limit"), [(0, 5), (70_000, 5), (3, 100_000), (ROWS, 5)])
def test_the_first_of_many_rows(offset: int, limit: int) -> None:
    found = answer(f"SELECT x FROM t ORDER BY x LIMIT {limit} OFFSET {offset}")
    assert found["x"].to_pylist() == list(range(ROWS))[offset : offset + limit]


def test_only_the_first_rows_are_kept() -> None:
    assert answer("SELECT x FROM t ORDER BY x DESC LIMIT 2", memory="1MB")["x"].to_pylist() == [ROWS - 1, ROWS - 2]
    wide: dict[str, Any] = {"t": pa.table({"x": [f"{at:060}" for at in range(ROWS)]})}
    with refused(BudgetTooSmall, "ORDER BY must keep", "give memory='"):
        sooner.sql("SELECT x FROM t ORDER BY x", wide, memory="1MB").to_table()


def test_distinct_rows_take_memory() -> None:
    with refused(BudgetTooSmall, "SELECT DISTINCT must keep", "give memory='"):
        answer("SELECT DISTINCT x, even FROM t", memory="1MB")
    assert sorted(answer("SELECT DISTINCT even FROM t", memory="1MB")["even"].to_pylist()) == [0, 1]


def test_distinct_rows_come_when_they_are_first_seen() -> None:
    first: Any = sooner.sql("SELECT DISTINCT even FROM t", MANY)
    assert next(iter(first)).num_rows == 2
    first.stop()


def test_a_limit_stops_the_query() -> None:
    read = []

    class Source:
        name, schema = "t", pa.schema([("x", pa.int64())])

        def batches(self) -> Any:
            for at in range(10_000):
                read.append(at)
                yield pa.record_batch([pa.array([at])], schema=self.schema)

    found: Any = sooner.sql("SELECT x FROM t LIMIT 3 OFFSET 1", {"t": Source()})
    assert found.to_table()["x"].to_pylist() == [1, 2, 3]
    assert len(read) < 10_000
