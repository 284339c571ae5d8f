"""Values that may be apart: which pairs match, that codes lose none of them, and what is refused."""

import datetime as dt
import itertools
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sooner.errors import InvalidJoin
from sooner.kernels.keys import NO_KEYS, plan_keys
from sooner.kernels.lines import code_ranges
from sooner.kernels.ranges import Within, only_near, plan_range

DAY, SECOND, MICROSECOND = dt.timedelta(days=1), dt.timedelta(seconds=1), dt.timedelta(microseconds=1)
LEAST, MOST = -(2**63), 2**63 - 1
BEYOND: list[Within] = [2**147, 2**148, 2**149 - 1, 10**400, (2**150, None), (None, -(2**150)), (-(2**150), 2**64)]
EVER = -dt.timedelta.min  # of whole days
EDGES: dict[str, tuple[pa.Array, list[Within]]] = {
    "integers": (
        pa.array([LEAST, LEAST + 1, LEAST + 5, -7, -1, 0, 1, 4, MOST - 5, MOST - 1, MOST, None]),
        [
            0,
            1,
            5,
            2**63 - 1,
            2**64,
            (1, 5),
            (-5, -1),
            (None, -(2**63)),
            (2**64 - 1, None),
            (-(2**64), 2**70),
            *BEYOND,
            (2**63, 2**148),
            (-(2**148), 0),
            Decimal("1e60"),
        ],
    ),
    "small integers": (pa.array([-128, -100, 0, 1, 127, None], pa.int8()), [0, 1, 255, (200, None), *BEYOND]),
    "naturals": (pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()), [0, 1, 2**63, (None, -1), 2**65, *BEYOND]),
    "doubles": (
        pa.array([-np.inf, -1.7e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 0.15, 1e15, 1e15 + 0.125, 1.7e308, np.inf]),
        [
            0,
            5e-324,
            0.05,
            1.0,
            1e300,
            1.7e308,
            (0.05, 0.05),
            (-1e308, 1.7e308),
            (1e308, 1.7e308),
            (None, 0),
            (1, None),
            sys.float_info.max,
            (-sys.float_info.max, 5e-324),
            (5e-324, 1e-323),
            10**308,
            Fraction(1, 3),
        ],
    ),
    "floats": (pa.array([0.1, 0.15, 1e30, np.nan, None], pa.float32()), [0.05, 0.06, 0]),
    "decimals": (
        pa.array([Decimal("-9.99"), Decimal("0.00"), Decimal("0.05"), None, Decimal("9.99")], pa.decimal128(3, 2)),
        [0, Decimal("0.05"), 0.05, Decimal("19.98"), (Decimal("0.01"), 10), *BEYOND],
    ),
    "long decimals": (
        pa.array([Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(0), Decimal(5)], pa.decimal128(38, 0)),
        [0, 5, 10**38, 2 * 10**38 - 2, 2 * 10**38 - 3, (10**38, 3 * 10**38), (None, -(10**38)), *BEYOND],
    ),
    "dates": (
        pa.array([dt.date.min, dt.date(2026, 1, 1), dt.date(2026, 1, 8), dt.date.max]),
        [0 * DAY, 7 * DAY, 6 * DAY, (DAY, None), EVER, (dt.timedelta.min, EVER), np.timedelta64(10**9, "W")],
    ),
    "dates in milliseconds": (pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 3)], pa.date64()), [DAY, 2 * DAY]),
    "moments": (
        pa.array([LEAST, -1, 0, 10**6, 10**6 + 1, MOST], pa.timestamp("us", "UTC")),
        [
            0 * DAY,
            SECOND,
            SECOND + MICROSECOND,
            (MICROSECOND, SECOND),
            (None, -SECOND),
            EVER,
            (np.timedelta64(MOST, "D"), None),
            dt.timedelta.max,
            np.timedelta64(10**7, "D"),
            np.timedelta64(10**18, "as"),
            (-np.timedelta64(MOST, "W"), dt.timedelta.min),
        ],
    ),
    "times of day": (pa.array([0, 1, 86_399], pa.time32("s")), [SECOND, DAY]),
    "durations": (pa.array([-5, 0, 5], pa.duration("ms")), [np.timedelta64(5, "ms"), dt.timedelta(milliseconds=9)]),
}


def exactly(value: Any) -> Fraction | float:
    return value if isinstance(value, float) else Fraction(value)


def apart(left: Any, right: Any) -> Any:
    """How far in the type of the values: doubles are subtracted as doubles."""
    if isinstance(left, float):
        return 0.0 if left == right else right - left
    return exactly(right) - exactly(left)


def stored(values: pa.Array, type_: pa.DataType) -> list[Any]:
    """Numbers as they are, moments as the integers that stand for them."""
    values = values.cast(type_)
    if not pa.types.is_temporal(type_):
        return values.to_pylist()
    return values.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()


@pytest.mark.parametrize(("name", "within"), [(name, one) for name in EDGES for one in EDGES[name][1]], ids=str)
@pytest.mark.parametrize("keyed", [False, True], ids=["", "beside keys"])
def test_pairs_match_exactly_and_codes_lose_none(name: str, within: Within, keyed: bool) -> None:
    values = EDGES[name][0]
    batch = pa.record_batch({"v": values, "k": pa.array([1] * len(values))})
    plan = plan_range(batch.schema, batch.schema, "v", "v", within)
    keys = plan_keys(batch.schema, batch.schema, ["k"], ["k"]) if keyed else NO_KEYS
    scale = 10**plan.type.scale if pa.types.is_decimal(plan.type) else 1
    low, high = (None if limit is None else exactly(limit) / scale for limit in (plan.low, plan.high))
    numbers = stored(values, plan.type)
    usable = [at for at, value in enumerate(numbers) if value is not None and value == value]
    expected = {
        (a, b)
        for a, b in itertools.product(usable, usable)
        if (low is None or apart(numbers[a], numbers[b]) >= low)
        and (high is None or apart(numbers[a], numbers[b]) <= high)
    }
    at = np.array(usable, np.int64)
    kept = only_near(batch, batch, plan, np.repeat(at, len(at)), np.tile(at, len(at)))
    assert set(zip(*(positions.tolist() for positions in kept), strict=True)) == expected

    coders, reach = code_ranges(keys, plan)
    (lefts, complete), (rights, _) = (code(batch) for code in coders)
    assert np.array_equal(np.arange(len(values)) if complete is None else np.flatnonzero(complete), at)
    for a, b in expected:
        assert int(lefts[a]) - reach.below <= int(rights[b]) <= int(lefts[a]) + reach.above


@pytest.mark.parametrize("seed", range(5))
def test_codes_of_doubles_lose_no_pair_whatever_their_size(seed: int) -> None:
    dice = np.random.default_rng(seed)
    for _ in range(40):
        size, width = 10.0 ** dice.integers(-300, 300), 10.0 ** dice.integers(-300, 300)
        low, high = sorted((dice.normal(0, width, 2)).tolist())
        lefts = dice.normal(0, size, 200)
        near = lefts + dice.uniform(low, high, 200)
        batch = [pa.record_batch({"v": pa.array(one)}) for one in (lefts, near)]
        plan = plan_range(batch[0].schema, batch[1].schema, "v", "v", (low, high))
        coders, reach = code_ranges(NO_KEYS, plan)
        codes = [code(one)[0].astype(object) for code, one in zip(coders, batch, strict=True)]
        same = np.arange(200)
        match = only_near(*batch, plan, same, same)[0]
        distance = (codes[1] - codes[0])[match]
        assert all(-reach.below <= apart <= reach.above for apart in distance), f"seed {seed}"


def test_codes_tell_values_apart_that_are_far_apart() -> None:
    """What is within reach but no match costs a look: there is little of it."""
    values = np.sort(np.random.default_rng(3).uniform(0, 1e6, 20_000))
    batch = pa.record_batch({"v": pa.array(values)})
    plan = plan_range(batch.schema, batch.schema, "v", "v", 5.0)
    (left, right), reach = code_ranges(NO_KEYS, plan)
    lefts, rights = left(batch)[0], right(batch)[0]
    first, last = (
        np.searchsorted(rights, lefts - np.uint64(reach.below)),
        np.searchsorted(rights, lefts + np.uint64(reach.above)),
    )
    true = np.searchsorted(values, values + 5.0, "right") - np.searchsorted(values, values - 5.0)
    assert (last - first).sum() <= true.sum() * 1.001


TYPES = {
    "n": pa.int64(),
    "f": pa.float64(),
    "d": pa.decimal128(10, 2),
    "day": pa.date32(),
    "t": pa.timestamp("ms"),
    "s": pa.string(),
    "b": pa.bool_(),
    "u": pa.decimal128(38, 0),
    "v": pa.decimal128(38, 10),
}
SCHEMA = pa.schema(list(TYPES.items()))
REFUSED: dict[str, tuple[str, str, Any, str]] = {
    "a text": ("s", "s", 5, "column 's' on the left is string, of which no two are a number apart"),
    "a boolean": ("b", "b", 1, "no two are a number apart"),
    "other types": ("n", "t", 5, "key 'n' is int64 on the left but 't' is timestamp"),
    "negative": ("n", "n", -5, "within=-5 is no distance; give 0 or more"),
    "not finite": ("f", "f", float("inf"), "within=inf is no finite number; None stands for no limit"),
    "not a number": ("f", "f", float("nan"), "within=nan is no finite number"),
    "upside down": ("n", "n", (5, 1), "within=(5, 1) has its low end above its high end; swap them"),
    "no limit": ("n", "n", (None, None), "within=(None, None) limits nothing"),
    "three": ("n", "n", (1, 2, 3), "must be one number, or two"),
    "a fraction of an integer": ("n", "n", 0.5, "within=0.5 is finer than 'n', which is int64"),
    "a thousandth of cents": ("d", "d", Decimal("0.001"), "is finer than 'd', which is decimal128(10, 2)"),
    "an hour of dates": ("day", "day", dt.timedelta(hours=1), "is finer than 'day', which is date32"),
    "a microsecond of milliseconds": ("t", "t", MICROSECOND, "is finer than 't', which is timestamp[ms]"),
    "a number of moments": ("t", "t", 5, "within=5 must be a datetime.timedelta, since 't' is timestamp[ms]"),
    "a time of numbers": ("n", "n", SECOND, "must be a number, since 'n' is int64"),
    "a month": ("t", "t", np.timedelta64(1, "M"), "must be a datetime.timedelta"),
    "true": ("n", "n", True, "within=True must be a number"),
    "a word": ("n", "n", "5", "within='5' must be a number"),
    "too many digits": ("u", "v", 5, "within= takes 38 digits at most; cast one"),
    "no time": ("t", "t", np.timedelta64("NaT"), "must be a datetime.timedelta"),
    "beyond all doubles": ("f", "f", 10**400, "within is beyond all doubles, but 'f' is double"),
    "a decimal beyond all doubles": ("f", "f", Decimal("1e400"), "within is beyond all doubles"),
    "an infinite decimal": ("d", "d", Decimal("inf"), "is no finite number"),
    "no such column": ("n", "m", 5, "the right has no column 'm'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(case: str) -> None:
    left, right, within, sentence = REFUSED[case]
    with pytest.raises(InvalidJoin) as refusal:
        plan_range(SCHEMA, SCHEMA, left, right, within)
    assert sentence in str(refusal.value)


def test_a_moment_that_the_finer_type_has_not_is_near_others_and_so_refused() -> None:
    """As null it would match nothing, but the last day of the calendar is after every nanosecond."""
    days = pa.record_batch({"v": pa.array([dt.date(2026, 1, 1), dt.date.max])})
    moments = pa.record_batch({"v": pa.array([0], pa.timestamp("ns"))})
    plan = plan_range(days.schema, moments.schema, "v", "v", (None, 0 * DAY))
    coders, _ = code_ranges(NO_KEYS, plan)
    coders[0](days.slice(0, 1))
    with pytest.raises(InvalidJoin) as refusal:
        coders[0](days)
    assert "column 'v' holds 9999-12-31, of which there is no timestamp[ns]" in str(refusal.value)
