"""Two small tables for queries in SQL, and DuckDB, which knows the answers."""

from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

ROWS, CUSTOMERS = 6_000, 120
_random = np.random.default_rng(7)

ORDERS = pa.table(
    {
        "id": np.arange(ROWS),
        "customer": pa.array([None if one == 0 else int(one) for one in _random.integers(0, 160, ROWS)]),
        "price": pa.array([Decimal(int(one)) / 100 for one in _random.integers(1, 10**6, ROWS)], pa.decimal128(12, 2)),
        "discount": _random.random(ROWS),
        "flag": _random.choice(["a", "b", None], ROWS),
    }
)
PEOPLE = pa.table(
    {
        "id": np.arange(CUSTOMERS),
        "customer": np.arange(CUSTOMERS),
        "name": [f"name {at % 4}" for at in range(CUSTOMERS)],
        "region": [["EU", "US", "ASIA"][at % 3] for at in range(CUSTOMERS)],
    }
)
TABLES: dict[str, object] = {"orders": ORDERS, "customers": PEOPLE}


def duckdb_rows(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("orders", ORDERS)
        connection.register("customers", PEOPLE)
        return connection.execute(query).fetchall()
