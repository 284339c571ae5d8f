"""`within=` in process: DuckDB's answer with little memory, for every join and algorithm; and the user's lines."""

import datetime as dt
from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from sooner.errors import InvalidJoin
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.policies.flush.never import Never

ROWS = 1_200
LITTLE = "2MB"
PADDING = "x" * 2_000  # so that it is little
WITHIN = [(-3, 3), (0, 0), (2, 9), (-9, -2), (-100_000, 100_000)]
SPILLING = [name for name, algorithm in ALGORITHMS.items() if not isinstance(algorithm.flush, Never)]


def rows(seed: int, domain: int, groups: int) -> pa.Table:
    dice = np.random.default_rng(seed)
    return pa.table(
        {
            "v": pa.array(dice.integers(-domain, domain, ROWS), mask=dice.random(ROWS) < 0.02),
            "g": dice.integers(0, groups, ROWS),
            "id": np.arange(ROWS),
            "padding": [PADDING] * ROWS,
        }
    )


def by_duckdb(left: pa.Table, right: pa.Table, how: str, condition: str) -> Counter[Any]:
    names = "l.id" if how in ("semi", "anti") else "l.id, r.id"
    connection = duckdb.connect()
    connection.register("l", left.drop(["padding"]))
    connection.register("r", right.drop(["padding"]))
    return Counter(connection.sql(f"SELECT {names} FROM l {how} JOIN r ON {condition}").fetchall())


def answer(query: sooner.Query) -> Counter[Any]:
    table = query.to_table()
    ids = [table[name].to_pylist() for name in table.column_names if name.startswith("id")]
    return Counter(zip(*ids, strict=True))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("groups", [0, 3, 10**5])
def test_every_join_gives_the_answer_of_duckdb(how: str, groups: int) -> None:
    number = [*KINDS].index(how) + groups
    for low, high in WITHIN if groups > 3 else WITHIN[:-1]:  # all pairs that there are would be too many
        left, right = (rows(number + side, domain=300, groups=max(groups, 1)) for side in (0, 1))
        condition = f"r.v - l.v BETWEEN {low} AND {high}" + (" AND l.g = r.g" if groups else "")
        algorithm = SPILLING[(number + high) % len(SPILLING)]
        with sooner.join(
            left, right, on="v", within=(low, high), by="g" if groups else None, how=how, memory=LITTLE,
            algorithm=algorithm,
        ) as query:  # fmt: skip
            assert answer(query) == by_duckdb(left, right, how, condition), f"{algorithm}, {low} to {high}"
            assert query.progress.spilled_rows == 0, "in the end"


def test_little_memory_is_little() -> None:
    left, right = rows(1, 300, 1), rows(2, 300, 1)
    with sooner.join(left, right, on="v", within=3, memory=LITTLE) as query:
        assert max(query.progress.spilled_rows for _ in query) > ROWS // 2


TRADES = pa.table({"symbol": ["A", "A", "B"], "price": [10.0, 10.25, 10.0], "trade": [1, 2, 3]})
QUOTES = pa.table({"symbol": ["A", "B", "B"], "price": [10.05, 10.04, 11.0], "quote": [7, 8, 9]})
NOON = dt.datetime(2026, 1, 1, 12)
CLICKS = pa.table({"ad": [1, 1, 2], "clicked": [NOON + dt.timedelta(minutes=m) for m in (5, 25, 9)]})
VIEWS = pa.table({"ad": [1, 2], "seen": [NOON, NOON + dt.timedelta(minutes=10)]})


def test_prices_within_five_cents_of_each_other_as_doubles_subtract() -> None:
    near = sooner.join(TRADES, QUOTES, on="price", within=0.05).to_table()
    assert sorted(zip(near["trade"].to_pylist(), near["quote"].to_pylist(), strict=True)) == [(1, 8), (3, 8)]
    assert 10.05 - 10.0 > 0.05


def test_decimals_are_exactly_so_far_apart() -> None:
    left, right = (one.set_column(1, "price", one["price"].cast(pa.decimal128(6, 2))) for one in (TRADES, QUOTES))
    near = sooner.join(left, right, on="price", within=0.05).to_table()
    assert sorted(zip(near["trade"].to_pylist(), near["quote"].to_pylist(), strict=True)) == [
        (1, 7),
        (1, 8),
        (3, 7),
        (3, 8),
    ]


def test_the_same_by_symbol_has_the_symbol_once_and_both_prices() -> None:
    near = sooner.join(TRADES, QUOTES, on="price", within=0.2, by="symbol").to_table()
    assert near.column_names == ["symbol", "price_left", "trade", "price_right", "quote"]
    assert Counter(near["trade"].to_pylist()) == {1: 1, 2: 1, 3: 1}


def test_clicks_within_ten_minutes_after_an_ad_was_seen() -> None:
    minutes = dt.timedelta(minutes=10)
    near = sooner.join(VIEWS, CLICKS, left_on="seen", right_on="clicked", within=(0 * minutes, minutes), by="ad")
    assert near.to_table().select(["ad", "clicked"]).to_pylist() == [{"ad": 1, "clicked": NOON + minutes / 2}]


@pytest.mark.parametrize("lateness", [None, dt.timedelta(0)])
@pytest.mark.parametrize(
    ("fine", "coarse"), [(pa.timestamp("ms"), pa.timestamp("s")), (pa.duration("ms"), pa.duration("s"))]
)
def test_a_moment_beyond_the_finer_of_both_types_is_refused_and_not_taken_for_null(
    fine: pa.DataType, coarse: pa.DataType, lateness: Any
) -> None:
    """It is surely before all others, yet in milliseconds it cannot be told."""
    left = pa.table({"at": pa.array([0], fine)})
    right = pa.table({"at": pa.array([-(2**63)], pa.int64()).view(coarse)})
    query = sooner.join(left, right, on="at", within=(None, dt.timedelta(0)), lateness=lateness)
    with pytest.raises(InvalidJoin, match=r"'at' holds .*, of which there is no \w+\[ms\]"):
        query.to_table()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"on": "price", "by": "symbol"}, "by='symbol' was given without within="),
        ({"on": ["price", "symbol"], "within": 1}, "within=1 is for one column of each side"),
        ({"on": "price", "within": 1, "left_by": "symbol"}, "Give by=, or both left_by= and right_by="),
        ({"on": "symbol", "within": 1}, "column 'symbol' on the left is string, of which no two are a number apart"),
        ({"on": "price", "within": -1}, "within=-1 is no distance"),
        ({"on": "price", "within": 1, "by": "colour"}, "the left has no column 'colour'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidJoin) as refusal:
        sooner.join(TRADES, QUOTES, **arguments)
    assert sentence in str(refusal.value)
