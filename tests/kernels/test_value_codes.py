"""Codes in the order of values: for every type that fits in 64 bits, at its ends too."""

import datetime as dt
import itertools

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.value_codes import code_values, value_codes

RISING = {
    "integers": pa.array([-(2**63), -1, 0, 1, 2**63 - 1]),
    "small integers": pa.array([-128, -1, 0, 127], pa.int8()),
    "large integers": pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()),
    "doubles": pa.array([-np.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1e308, np.inf, np.nan]),
    "floats": pa.array([-np.inf, -1.5, 0.0, 1e-40, np.inf, np.nan], pa.float32()),
    "booleans": pa.array([False, True]),
    "dates": pa.array([dt.date.min, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date.max]),
    "dates in milliseconds": pa.array([dt.date(1900, 1, 1), dt.date(2026, 1, 1)], pa.date64()),
    "moments": pa.array([-(2**63), -1, 0, 2**63 - 1], pa.timestamp("ns", "UTC")),
    "times of day": pa.array([0, 1, 86_399], pa.time32("s")),
    "durations": pa.array([-5, 0, 5], pa.duration("us")),
}


@pytest.mark.parametrize("name", RISING)
def test_codes_rise_with_the_values(name: str) -> None:
    codes = value_codes(RISING[name]).tolist()
    assert all(lower < higher for lower, higher in itertools.pairwise(codes))


def test_zero_has_one_code_and_nan_has_one() -> None:
    other_nan = np.array([0xFFF8_0000_0000_0001], np.uint64).view(np.float64)
    zeros, nans = value_codes(pa.array([0.0, -0.0])), value_codes(pa.array([np.nan, other_nan[0]]))
    assert zeros[0] == zeros[1]
    assert nans[0] == nans[1]


def test_rows_without_a_value_are_told() -> None:
    batch = pa.record_batch({"value": pa.array([3, None, 1], pa.int32())})
    codes, complete = code_values(batch, "value", pa.int64())
    assert codes.tolist() == [2**63 + 3, 0, 2**63 + 1]
    assert complete is not None
    assert complete.tolist() == [True, False, True]
    assert code_values(batch.slice(2), "value", pa.int64())[1] is None
