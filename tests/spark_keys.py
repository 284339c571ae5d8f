"""Tables to join on Spark, one pair for each kind of key; the numbers of rows are the same in all."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

N_LEFT, N_RIGHT = 3300, 2800
FIRST_DAY, FIRST_MOMENT = date(2020, 2, 28), datetime(1969, 12, 31, 23, 59, 59, 999_000)
Case = tuple[pa.Table, pa.Table, dict[str, Any]]


def draws(rows: int, seed: int, keys: int = 1700) -> list[int]:
    """Skewed: the smallest numbers come often; not so often that most of a test is to write and compare results."""
    return [int(x) for x in keys * np.random.default_rng(seed).random(rows) ** 2]


def both(left_of: Callable[[int], Any], right_of: Callable[[int], Any], types: tuple[pa.DataType, pa.DataType]) -> Case:
    """Tables with one key `k`."""
    left, right = draws(N_LEFT, 1), draws(N_RIGHT, 2)
    return (
        pa.table({"k": pa.array([left_of(n) for n in left], types[0]), "a": np.arange(N_LEFT)}),
        pa.table({"k": pa.array([right_of(n) for n in right], types[1]), "b": np.arange(N_RIGHT)}),
        {},
    )


def of_floats(n: int) -> float | None:
    special = (None, float("nan"), 0.0, -0.0, float("inf"))
    return special[n % 5] if n < 20 else n / 8


def composite() -> Case:
    """Integers of two widths and texts, with a null in either; other names on each side; values that are nested."""
    left, right = draws(N_LEFT, 3), draws(N_RIGHT, 4)
    values = {
        "list": pa.array([None if n % 7 == 0 else [n, None] for n in left], pa.list_(pa.int32())),
        "struct": pa.array([{"x": n, "y.z": str(n)} if n % 5 else None for n in left]),
    }
    return (
        pa.table({"number": pa.array([n % 9 or None for n in left], pa.int32()), "text": texts(left), **values}),
        pa.table({"n": pa.array([n % 9 for n in right], pa.int64()), "t": texts(right), "b": np.arange(N_RIGHT)}),
        {"left_on": ["number", "text"], "right_on": ["n", "t"]},
    )


def texts(numbers: list[int]) -> pa.Array:
    return pa.array([None if n == 3 else "Ü" * (n % 40) + str(n // 3) for n in numbers], pa.string())


def odd_names() -> Case:
    """Dots, backticks and spaces in names; and names that both sides have."""
    left, right = draws(N_LEFT, 5), draws(N_RIGHT, 6)
    return (
        pa.table({"the key.`x`": left, "a b": np.arange(N_LEFT), "v.w": left, "kind": np.arange(N_LEFT)}),
        pa.table({"kind": np.arange(N_RIGHT), "the key.`x`": right, "v.w": texts(right), "place": right}),
        {"on": ["the key.`x`"], "suffixes": (".l", " r")},
    )


KEYS: dict[str, Callable[[], Case]] = {
    "integers": lambda: both(int, int, (pa.int64(), pa.int64())),
    "int and long": lambda: both(lambda n: n - 5, lambda n: n - 5, (pa.int32(), pa.int64())),
    "int and double": lambda: both(int, lambda n: n / 2, (pa.int32(), pa.float64())),
    "floats": lambda: both(of_floats, of_floats, (pa.float64(), pa.float32())),
    "decimals": lambda: both(
        lambda n: Decimal(n) / 4, lambda n: Decimal(n) / 8, (pa.decimal128(12, 2), pa.decimal128(30, 5))
    ),
    "decimal and int": lambda: both(lambda n: Decimal(n) / 2, int, (pa.decimal128(12, 2), pa.int32())),
    "texts": lambda: both(lambda n: None if n == 3 else f"{n}" * 3, lambda n: f"{n}" * 3, (pa.string(), pa.string())),
    "bytes": lambda: both(lambda n: b"\0" * (n % 200), lambda n: b"\0" * (n % 500), (pa.binary(), pa.binary())),
    # Few rows have the value that most of the other side have: all with all would be millions of results.
    "booleans": lambda: both(
        lambda n: {7: False, 8: None}.get(n % 311, True), lambda n: n > 1690, (pa.bool_(), pa.bool_())
    ),
    "dates": lambda: both(*[lambda n: FIRST_DAY + timedelta(n)] * 2, (pa.date32(), pa.date32())),
    "instants": lambda: both(
        *[lambda n: FIRST_MOMENT.replace(tzinfo=UTC) + timedelta(milliseconds=n)] * 2,
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
    ),
    "dates and local times": lambda: both(
        lambda n: FIRST_DAY + timedelta(n),
        lambda n: datetime(2020, 2, 28) + timedelta(hours=12 * n),
        (pa.date32(), pa.timestamp("us")),
    ),
    "composite": composite,
    "odd names": odd_names,
}
