"""Tables that hang together in chains, stars and circles, for queries in SQL over many of them."""

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

LINES, ORDERS, CUSTOMERS, NATIONS, REGIONS, SUPPLIERS = 4_000, 1_000, 200, 12, 4, 40
_random = np.random.default_rng(11)


def _with_nulls(numbers: Any, share: float = 0.05) -> pa.Array:
    return pa.array(numbers, mask=_random.random(len(numbers)) < share)


def _money(rows: int) -> pa.Array:
    return pa.array([Decimal(int(one)) / 100 for one in _random.integers(1, 10**6, rows)], pa.decimal128(12, 2))


TABLES: dict[str, Any] = {
    "lines": pa.table(
        {
            "id": np.arange(LINES),
            "order": _with_nulls(_random.integers(0, ORDERS + 50, LINES)),
            "supplier": _random.integers(0, SUPPLIERS + 3, LINES),
            "price": _money(LINES),
            "discount": _random.random(LINES),
            "flag": pa.array(_random.choice(["A", "N", "R", None], LINES)),
        }
    ),
    "orders": pa.table(
        {
            "id": np.arange(ORDERS),
            "customer": _with_nulls(_random.integers(0, CUSTOMERS + 20, ORDERS)),
            "day": pa.array([dt.date(1995, 1, 1) + dt.timedelta(int(one)) for one in _random.integers(0, 700, ORDERS)]),
            "status": _with_nulls(_random.integers(0, 3, ORDERS), 0.2),
        }
    ),
    "customers": pa.table(
        {
            "id": np.arange(CUSTOMERS, dtype=np.int32),
            "nation": _random.integers(0, NATIONS, CUSTOMERS),
            "name": [f"customer {at % 17}" for at in range(CUSTOMERS)],
        }
    ),
    "suppliers": pa.table({"id": np.arange(SUPPLIERS), "nation": _with_nulls(_random.integers(0, NATIONS, SUPPLIERS))}),
    "nations": pa.table(
        {
            "nation": np.arange(NATIONS),
            "region": np.arange(NATIONS) % (REGIONS + 1),
            "name": [f"nation {at}" for at in range(NATIONS)],
        }
    ),
    "regions": pa.table({"region": np.arange(REGIONS), "name": ["Asia", "Africa", "Europe", "America"]}),
}


def duckdb_rows(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        return connection.execute(query).fetchall()
