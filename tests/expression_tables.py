"""A table of every kind of column with nulls in it, and expressions evaluated by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

ROWS = 300
WORDS = ["PROMO BRASS", "promo tin", "MAIL", "SHIP", "AIR", "50%", "a_b", "back\\slash", "Ähre", "", "two\nlines"]


def table(seed: int = 1) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)

    def column(values: list[Any], type_: pa.DataType) -> pa.Array:
        missing = rng.random(ROWS) < 0.15
        return pa.array([None if gone else value for value, gone in zip(values, missing, strict=True)], type_)

    def decimals(scale: int, most: int) -> list[Decimal]:
        return [Decimal(int(value)).scaleb(-scale) for value in rng.integers(-most, most, ROWS)]

    days = [date(1995, 1, 1) + timedelta(days=int(day)) for day in rng.integers(-400, 400, ROWS)]
    times = [datetime(1995, 1, 1) + timedelta(seconds=int(s)) for s in rng.integers(-(10**6), 10**6, ROWS)]
    words = [WORDS[place] for place in rng.integers(0, len(WORDS), ROWS)]
    return pa.record_batch(
        {
            "i": column(rng.integers(-20, 20, ROWS).tolist(), pa.int32()),
            "j": column(rng.integers(-5, 5, ROWS).tolist(), pa.int64()),
            "u": column(rng.integers(0, 200, ROWS).tolist(), pa.uint8()),
            "p": column(decimals(2, 10**6), pa.decimal128(15, 2)),
            "q": column(decimals(3, 10**4), pa.decimal128(9, 3)),
            "w": column(decimals(1, 10**9), pa.decimal128(30, 1)),
            "f": column(rng.normal(size=ROWS).tolist(), pa.float64()),
            "h": column(rng.normal(size=ROWS).astype(np.float32).tolist(), pa.float32()),
            "b": column((rng.random(ROWS) < 0.5).tolist(), pa.bool_()),
            "c": column((rng.random(ROWS) < 0.5).tolist(), pa.bool_()),
            "s": column(words, pa.string()),
            "t": column([WORDS[place] for place in rng.integers(0, len(WORDS), ROWS)], pa.string()),
            "d": column(days, pa.date32()),
            "e": column([days[-1 - place] for place in range(ROWS)], pa.date32()),
            "m": column(times, pa.timestamp("us")),
            "k": pa.array(np.arange(ROWS)),
        }
    )


def by_duckdb(expressions: Sequence[str], batch: pa.RecordBatch) -> list[list[Any]]:
    """The values of each, all by one query: that is quick, and the compiler of a query is not."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("given", pa.Table.from_batches([batch]))
        texts = ", ".join(f"({text})" for text in expressions)
        rows = connection.execute(f"SELECT {texts} FROM given ORDER BY k").fetchall()
    return [list(values) for values in zip(*rows, strict=True)]


def as_python(array: pa.Array, scale: int) -> list[Any]:
    values = array.to_pylist()
    return [None if v is None else Decimal(v).scaleb(-scale) if scale else v for v in values]
