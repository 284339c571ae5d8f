"""Bins of values: what can match a row lies in the bins that it goes to, and Spark and a reader find the same."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from test_packing import COLUMNS, found_together, in_arrow

from sooner.kernels.keys import keys_in_common_type
from sooner.kernels.ranges import only_near, plan_range
from sooner.sides import LEFT, RIGHT, SIDES, opposite
from sooner.spark.shuffle.grid import grids_of
from sooner.spark.shuffle.placing import Placement, placed_type

LEAST, MOST = -(2**63), 2**63 - 1
OF_INTEGERS = [
    (-3, 3),
    (0, 0),
    (2, 9),
    (-9, -2),
    (-(2**60), 2**60),
    (2**62 + 5, 2**62 + 2**60),
    (-MOST, 4 - MOST),
    (MOST - 4, MOST),
]


def require_all_matches_in_reach(left: pa.Array, right: pa.Array, within: Any) -> float:
    """Whichever side is copied; how large a part of the left goes to two bins."""
    batches = [pa.record_batch({"v": one}) for one in (left, right)]
    plan = plan_range(batches[LEFT].schema, batches[RIGHT].schema, "v", "v", within)
    type_ = placed_type(plan.type)
    values = [keys_in_common_type(batch, ["v"], [type_])[0] for batch in batches]
    pairs = np.repeat(np.arange(len(left)), len(right)), np.tile(np.arange(len(right)), len(left))
    at = only_near(*batches, plan, *pairs)
    shares = []
    for copied in SIDES:
        grids = grids_of(plan, type_, copied)
        assert grids[copied].width is not None
        [own] = grids[opposite(copied)].of_values(values[opposite(copied)])
        first, last = grids[copied].of_values(values[copied])
        met = own.to_numpy()[at[opposite(copied)]]
        reached = (met == first.to_numpy()[at[copied]]) | (met == last.to_numpy()[at[copied]])
        assert reached.all(), within
        shares.append(float((first.to_numpy() != last.to_numpy()).mean()))
    return shares[LEFT]


@pytest.mark.parametrize("within", OF_INTEGERS)
def test_what_matches_an_integer_is_in_its_bins_at_the_ends_of_the_type_too(within: tuple[int, int]) -> None:
    dice = np.random.default_rng(1)
    for middle in (0, LEAST, MOST, 2**62):
        drawn = dice.integers(-60, 60, (2, 60)).tolist()
        left, right = ([max(LEAST, min(middle + n, MOST)) for n in some] for some in drawn)
        require_all_matches_in_reach(pa.array([*left, LEAST, MOST]), pa.array([*right, LEAST, MOST]), within)


def test_what_matches_a_double_is_in_its_bins_whatever_its_size() -> None:
    dice = np.random.default_rng(2)
    special = [math.inf, -math.inf, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324]
    for size in 10.0 ** np.arange(-300, 300, 29):
        for width in 10.0 ** np.arange(-300, 300, 37):
            low, high = sorted(dice.normal(0, width, 2).tolist())
            low = high if dice.random() < 0.3 else low
            left = dice.normal(0, size, 30)
            ends = [left + low, left + high, np.nextafter(left + low, -np.inf), np.nextafter(left + high, np.inf)]
            right = np.concatenate([left + dice.uniform(low, high, 30), *ends, special])
            require_all_matches_in_reach(pa.array(np.append(left, special)), pa.array(right), (low, high))


def test_what_matches_a_decimal_is_in_its_bins() -> None:
    digits = [Decimal(n) for n in range(-40, 40)]
    for large in (Decimal(0), Decimal(10**35), Decimal(-(10**35))):
        values = pa.array([large + n / 100 for n in digits], pa.decimal128(38, 2))
        require_all_matches_in_reach(values, values, (Decimal("-0.03"), Decimal("0.05")))


def test_a_quarter_of_the_rows_at_most_goes_to_two_bins_and_bins_are_not_much_wider() -> None:
    for values in (np.arange(-4000, 4000), np.arange(-4000, 4000) / 4):
        share = require_all_matches_in_reach(pa.array(values[::7]), pa.array(values[::7]), (0, 20))
        assert 0.1 < share < 0.3


WITHIN: dict[str, Any] = {
    "byte": 3,
    "int": (2, 5),
    "long": 3,
    "float": 0.25,
    "double": (-0.5, 0.0),
    "decimal": Decimal("0.5"),
    "small decimal": (Decimal("0.01"), Decimal("0.02")),
    "day": dt.timedelta(3),
    "moment": dt.timedelta(microseconds=5),
    "local": (dt.timedelta(0), dt.timedelta(hours=1)),
    "span": dt.timedelta(seconds=1),
}
MIXED = [("int", "long"), ("long", "double"), ("int", "decimal"), ("small decimal", "decimal"), ("local", "day")]


COLUMNS_AND_MORE: dict[str, tuple[str, list[Any]]] = {
    **COLUMNS,
    "long": ("bigint", [*COLUMNS["long"][1], -7]),
    "local": ("timestamp_ntz", [*COLUMNS["local"][1], dt.datetime(2024, 3, 10, 2, 30)]),
    "span": ("interval day to second", [dt.timedelta(-5, 3), dt.timedelta(0), dt.timedelta(106_751_991, 14_400)]),
}


def test_spark_and_a_reader_place_values_in_the_same_bins(spark: SparkSession) -> None:
    """Under ANSI's rules, by which an overflow is an error; in a zone that leaves out an hour, in which values are."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frames = {
            name: spark.createDataFrame([(value,) for value in [*values, None]], f"v {type_}")
            for name, (type_, values) in COLUMNS_AND_MORE.items()
            if name in WITHIN
        }
        batches = {name: in_arrow(frame) for name, frame in frames.items()}
        by_spark, by_reader = [], {}
        for name, other in [(name, name) for name in WITHIN] + MIXED:
            plan = plan_range(batches[name].schema, batches[other].schema, "v", "v", WITHIN[other])
            grids = [grids_of(plan, placed_type(plan.type), copied)[LEFT] for copied in SIDES]
            columns, read = [], []
            for placement in (Placement((), (), 1000, grid) for grid in grids):
                rows, places = placement.of_rows(frames[name])
                columns += places
                complete = placement.complete(batches[name])
                read += [some[complete].tolist() for some in placement.places(batches[name])]
            assert len(read) == 3, "one of a side that is not copied, two of one that is"
            by_reader[name, other] = [*zip(*read, strict=True)]
            by_spark.append(rows.select(*(place.alias(f"place {at}") for at, place in enumerate(columns))))
        assert by_reader == {
            pair: [(first, second, third) for first, second, third, _ in rows]
            for pair, rows in zip(by_reader, found_together(by_spark), strict=True)
        }
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


ABSURD: list[tuple[pa.Array, list[Any]]] = [
    (pa.array([LEAST, -1, 0, MOST]), [2**61, 2**62, 2**63, 2**64, 2**148, 10**400, (-(2**200), 0), (2**63, 2**150)]),
    (pa.array([-1.7e308, 0.0, 5e-324, 1.7e308]), [1.7976931348623157e308, 1e300, 5e-324, (-1e308, 1.7e308)]),
    (pa.array([Decimal(1 - 10**38), Decimal(0), Decimal(10**38 - 1)]), [2**100, 2**148, 10**400, (10**39, 10**60)]),
    (pa.array([LEAST, 0, MOST], pa.timestamp("us")), [dt.timedelta.max, (dt.timedelta.min, dt.timedelta(0))]),
]


@pytest.mark.parametrize(("values", "within"), [(values, one) for values, some in ABSURD for one in some], ids=str)
def test_where_a_range_is_as_wide_as_all_values_rows_still_meet(values: pa.Array, within: Any) -> None:
    schema = pa.schema([("v", values.type)])
    plan = plan_range(schema, schema, "v", "v", within)
    if grids_of(plan, placed_type(plan.type), LEFT)[RIGHT].width is not None:  # else there is one bin, for all
        require_all_matches_in_reach(values, values, within)
