"""Partitions are ranges of codes: what matches meets in exactly one of them, and no row goes where it meets nothing."""

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.order import Order, sorted_runs
from sooner.sides import LEFT, RIGHT, SIDES

PARTITIONS = 4
REACHES = [EQUAL, Reach(3, 0), Reach(0, 3), Reach(2, 5), Reach(2**62, 1), Reach(1, 2**62 + 7), Reach(2**64 - 1, 2)]


def by_the_code_itself(batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
    return batch.column("code").to_numpy().astype(np.uint64), None


def order_of(reach: Reach, copied: int | None) -> Order:
    return Order([by_the_code_itself] * 2, reach, copied=copied)


def codes_around(bounds: Codes, seed: int) -> list[int]:
    """Near where partitions begin, the first and the last one of all, and some between."""
    near = [int(bound) + by for bound in bounds for by in range(-8, 9)]
    between = np.random.default_rng(seed).integers(0, 2**64 - 1, 20, np.uint64, endpoint=True).tolist()
    return [0, 1, *near, *between, 2**64 - 1]


def partitions_of(order: Order, which: int, codes: list[int], bounds: Codes) -> list[set[int]]:
    """Which codes each partition has of this input."""
    batch = pa.record_batch({"code": pa.array(codes, pa.uint64())})
    runs = sorted_runs(batch, order.coders[which], bounds, order.overlap(which)).runs
    return [set() if run is None else set(run.codes.tolist()) for run in runs]


@pytest.mark.parametrize("copied", SIDES)
@pytest.mark.parametrize("reach", REACHES)
def test_what_is_within_reach_meets_in_exactly_one_partition(reach: Reach, copied: int) -> None:
    order = order_of(reach, copied)
    bounds = order.bounds(PARTITIONS)
    lefts, rights = codes_around(bounds, 1), codes_around(bounds, 2)
    sides = [partitions_of(order, which, codes, bounds) for which, codes in ((LEFT, lefts), (RIGHT, rights))]
    for left in set(lefts):
        for right in set(rights):
            if left - reach.below <= right <= left + reach.above:
                meetings = sum(left in some and right in others for some, others in zip(*sides, strict=True))
                assert meetings == 1, (left, right)


@pytest.mark.parametrize("copied", SIDES)
@pytest.mark.parametrize("reach", REACHES)
def test_a_row_goes_where_it_reaches_and_nowhere_else(reach: Reach, copied: int) -> None:
    order = order_of(reach, copied)
    bounds = order.bounds(PARTITIONS)
    begins = [0, *bounds.tolist()]
    ends = [*bounds.tolist(), 2**64]
    for which in SIDES:
        codes = codes_around(bounds, which)
        below, above = (0, 0) if which != copied else reach if which == LEFT else (reach.above, reach.below)
        expected = [
            {code for code in codes if code - below < end and code + above >= begin}
            for begin, end in zip(begins, ends, strict=True)
        ]
        assert partitions_of(order, which, codes, bounds) == expected
