"""Codes for values that may be apart: places on a line, so that near values have near codes.

Values of the left are moved by the middle of the range, which makes the reach the same both ways. Rows with other equal
keys lie elsewhere: their place is added to a hash of the keys. A code only says what can match: a place may be wider
than a value, and lines end where codes do. Whether rows match is looked at in their values (`ranges.only_near`).
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.arrays import to_flags, to_numpy
from sooner.kernels.codes import code_rows
from sooner.kernels.keys import KeyPlan
from sooner.kernels.matching import EQUAL, Reach
from sooner.kernels.native import address, loop, prototypes
from sooner.kernels.ranges import LAYOUTS, RangePlan, numbers_of, values_to_compare

_add_places: Final = {layout: loop(prototypes.add_places_of, layout) for layout in LAYOUTS}

_ALL_CODES: Final = 2**64 - 1  # as far as anything can reach
_RANGE_BITS: Final = 20  # half a range has so many places at least, if its values have: few pairs are found in vain
_MIDDLE: Final = np.uint64(2**63)
_HALF: Final = 2**62  # of what there is on either side of the middle
_MOST: Final = 2**127 - 1
_LEAST_UNIT, _MOST_UNIT = 2.0**-1020, 2.0**1000


class Line:
    """Where the values of a range are. Beside equal keys a line has half of the codes, and hashes the other half."""

    def __init__(self, plan: RangePlan, *, beside_keys: bool) -> None:
        self._add_places = _add_places[plan.layout]
        limits = (-_HALF, _HALF) if beside_keys else (-(2**63), 2**63 - 1)
        steps, self._lines = _doubles(plan) if plan.layout == "doubles" else _integers(plan, limits)
        self.reach = Reach(_ALL_CODES if plan.low is None else steps, _ALL_CODES if plan.high is None else steps)

    def add_places(self, codes: Codes, values: pa.Array, side: int) -> None:
        numbers = numbers_of(values)
        self._add_places(len(codes), address(codes), numbers.where, len(codes), address(self._lines[side]))


class RangeCoder:
    """Codes of the rows of one side, and which of them can match anything (None: all); without a line by keys alone."""

    def __init__(self, keys: KeyPlan, plan: RangePlan, line: Line | None, side: int) -> None:
        self._keys, self._key_types = (keys.left, keys.right)[side], keys.types
        self._column, self._type = (plan.left, plan.right)[side], plan.type
        self._line, self._side = line, side

    def __call__(self, batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
        values = values_to_compare(batch, self._column, self._type)
        codes, complete = np.full(batch.num_rows, _MIDDLE), None
        if self._keys:
            codes, complete = code_rows(batch, self._keys, self._key_types)
        if self._line is not None:
            codes = (codes >> np.uint64(1)) + np.uint64(_HALF) if self._keys else codes
            self._line.add_places(codes, values, self._side)
        complete = _both(complete, can_match(values))
        if complete is not None:
            codes[~complete] = 0
        return codes, complete


def can_match(values: pa.Array) -> Flags | None:
    """Which values are near any (None: all): not null, nor NaN."""
    numbers = ~np.isnan(to_numpy(values)) if pa.types.is_floating(values.type) else None
    if numbers is not None and numbers.all():
        numbers = None
    return _both(to_flags(values.is_valid()) if values.null_count else None, numbers)


def _both(one: Flags | None, other: Flags | None) -> Flags | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _integers(plan: RangePlan, limits: tuple[int, int]) -> tuple[int, Sequence[npt.NDArray[Any]]]:
    """How many places half the range reaches, and the line of each side."""
    low, high = (int(limit) for limit in _ends(plan))
    middle = (low + high) // 2
    moved = max(-_MOST, min(middle, _MOST))
    half = max(high - middle, middle - low) + abs(middle - moved)
    bits = max(0, half.bit_length() - 1 - _RANGE_BITS)
    lines = [
        np.array([by % 2**64, (by >> 64) % 2**64, bits, *(limit % 2**64 for limit in limits)], np.uint64)
        for by in (moved, 0)
    ]
    return (half >> bits) + 1, lines


def _doubles(plan: RangePlan) -> tuple[int, Sequence[npt.NDArray[Any]]]:
    """The unit is a power of two, so values are divided by it without rounding."""
    low, high = _ends(plan)
    middle = low / 2 + high / 2
    rounding = math.ulp(max(abs(low), abs(high))) + math.ulp(middle)
    half = min(high / 2 - low / 2 + rounding, sys.float_info.max)
    unit = max(_LEAST_UNIT, min(2.0 ** (math.frexp(half)[1] - 1 - _RANGE_BITS), _MOST_UNIT))
    lines = [np.array([by, unit, unit * 2.0**52], np.float64) for by in (middle, 0.0)]
    return math.ceil(half / unit) + 3, lines  # a place for where each of both begins, and one for the rounding of a sum


def _ends(plan: RangePlan) -> tuple[int | float, int | float]:
    """The ends of a range; one with a single end gets it twice, and reaches from there as far as there are codes."""
    low = plan.high if plan.low is None else plan.low
    high = plan.low if plan.high is None else plan.high
    assert low is not None and high is not None, "one of them is given"
    return low, high


def code_ranges(keys: KeyPlan, plan: RangePlan) -> tuple[Sequence[RangeCoder], Reach]:
    """The codes of both sides, and how far apart those of a match can be.

    Beside equal keys a range without an end has no line: it would reach over all other keys.
    """
    line = None if plan.is_open and keys.left else Line(plan, beside_keys=bool(keys.left))
    return [RangeCoder(keys, plan, line, side) for side in (0, 1)], EQUAL if line is None else line.reach
