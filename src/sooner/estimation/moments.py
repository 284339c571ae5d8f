"""Averages, and how far values are spread, from exact sums: nothing is rounded before sums are taken from each other.

The sum of squares of values that are large and near each other is nearly that of as many equal ones, and only its last
digits tell the difference: for timestamps in seconds doubles have none of them. So sums are integers of any size here,
and doubles are made of what is left of them: of averages, and of deviations from the average of all.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sooner.estimation.formulas import Linear
from sooner.kernels.folding import WORD_BITS, Integers, Moments, Reals, integers_of_moments


class Spread(NamedTuple):
    """[rectangle, left tag, right tag]: how many values, their sums, those of their squares; in units of values."""

    counts: Integers
    totals: Integers
    squares: Integers
    unit: Fraction

    @property
    def variance(self) -> float:
        """The variance of a sample, divided by n - 1; it needs two values at least."""
        return _real(self._variance)

    @property
    def deviation(self) -> float:
        """The root of the variance, which may fit into a double where the variance does not."""
        found = self._variance
        half = (found.numerator.bit_length() - found.denominator.bit_length()) // 2
        return math.ldexp(math.sqrt(found / Fraction(4) ** half), half)

    @property
    def _variance(self) -> Fraction:
        n, total, square = int(self.counts.sum()), int(self.totals.sum()), int(self.squares.sum())
        return Fraction(n * square - total**2, n * (n - 1)) * self.unit**2

    def linear(self, scales: Sequence[float]) -> Linear | None:
        """What the variance of all seems to be, and how it follows from parts of the rows; of rectangles at scales."""
        n, total = int(self.counts.sum()), int(self.totals.sum())
        if n < 2:
            return None
        totals = n * self.totals - total * self.counts
        squares = n * (n * self.squares - 2 * total * self.totals) + total**2 * self.counts
        try:
            cells = [
                _together(self.counts, Fraction(1), scales),
                _together(totals, self.unit / n, scales),
                _together(squares, (self.unit / n) ** 2, scales),
            ]
        except OverflowError:
            return Linear(math.inf, math.inf, 0)
        return _of_deviations(*cells)


def spread_of(counts: Integers, cells: Moments, scale: int) -> Spread | None:
    """The spread of moments in cells; None if infinity or NaN is among the numbers."""
    found = integers_of_moments(cells)
    if found is None:
        return None
    totals, squares, place = found
    return Spread(counts, totals, squares, Fraction(2) ** (WORD_BITS * place) / 10**scale)


def average(counts: Integers, totals: Integers, unit: Fraction, scales: Sequence[float]) -> Linear | None:
    """An estimate of the average, and how it follows from parts of the rows."""
    n, total = int(counts.sum()), int(totals.sum())
    if not n:
        return None
    apart = _together(n * totals - total * counts, unit / n, scales)
    weights = _together(counts, Fraction(1), scales)
    count = float(weights.sum())
    more = float(apart.sum()) / count  # than the average of what is there, as rectangles stand for more or less
    return Linear(float(unit * total / n) + more, (apart - more * weights) / count, 0)


def root(variance: Linear) -> Linear:
    found = math.sqrt(variance.value)
    return Linear(found, variance.cells / (2 * found) if found else variance.cells, 0)


def _of_deviations(counts: Reals, totals: Reals, squares: Reals) -> Linear | None:
    """Sums of what values differ from a number near their average by, and of its squares."""
    count = float(counts.sum())
    if count < 2:
        return None
    mean = float(totals.sum()) / count
    variance = max(float(squares.sum()) / count - mean**2, 0.0)
    apart = (squares - 2 * mean * totals + (mean**2 - variance) * counts) / count
    return Linear(variance * count / (count - 1), apart, 0)


def _together(cells: Integers, unit: Fraction, scales: Sequence[float]) -> Reals:
    """The cells of all rectangles added up as doubles, each rectangle at its own scale; a cell is rounded once."""
    reals: Reals = (cells * unit.numerator / unit.denominator).astype(np.float64)
    found: Reals = np.einsum("r,rlt->lt", np.asarray(scales), reals)
    return found


def _real(found: Fraction) -> float:
    try:
        return float(found)
    except OverflowError:
        return math.inf
