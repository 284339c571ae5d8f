"""How far off an estimate may be: the variance of a sum over a growing rectangle of random rows.

The rows of a rectangle are random samples of both inputs. For a sum over it the variance has three parts: of which left
rows came, of which right rows, and of both together (Haas and Hellerstein's ripple join, SIGMOD 1999; as survey people
have it, cross-classified sampling). Each part is estimated from sums over random parts of the rows: a part for each tag
of the left, of the right, and for each cell of both. With f the share of an input that has come,

    V = (1 - f_left) V_left + (1 - f_right) V_right - (1 - f_left) (1 - f_right) V_both

is without bias, since V_left and V_right have V_both in them as well. When an input has come as a whole its part is
gone, and when both have there is nothing left to be unsure of. Parts of different size are weighed by it, so a tag
can be a block of rows as well as rows dealt out in turn.

If few rows of an input have most of the pairs (each left row matches one row of the right, and a tenth of them the
same), samples mostly lack them, and then nothing in the sums tells how far off these are. But the other input tells,
whose rows repeat the keys of the rows that lack: see `unseen`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from sooner.kernels.folding import Reals

FEWEST_PARTS: Final = 3  # of an input, that have any result: fewer say nothing of how they differ
FEWEST_EFFECTIVE: Final = 2  # the same, if they had equally many pairs

# Of what repeated keys let expect beyond what sums show. All of it is too wide: while rows are not seen, an estimate is
# too small by their pairs and no more. By simulation over kinds of skew 94% to 99% hold, and with all of it up to 100%.
UNSEEN: Final = 0.6


@dataclass(frozen=True)
class Variance:
    """With how many degrees of freedom it is known; none is for a sum that is certain."""

    value: float
    degrees: float

    def half_width(self, confidence: float) -> float:
        """How far to both sides an interval goes that holds with this confidence."""
        if self.value <= 0:
            return 0.0
        return t_quantile((1 + confidence) / 2, self.degrees) * math.sqrt(self.value)


@dataclass(frozen=True)
class Shares:
    """Of an input: how many rows of each tag have come, and which share of all rows they are."""

    rows: Reals
    share: float


@dataclass(frozen=True)
class Keys:
    """Of an input: how many rows with keys in each of many random parts have come, of so many rows in all."""

    rows: Reals
    of_rows: float

    def repeats(self, rows: float) -> float:
        """How many of so many rows have the key of one of them, on average: at least it itself.

        How parts of the keys differ tells it (as the tug-of-war of Alon, Matias and Szegedy, STOC 1996, or Fast-AMS,
        Cormode and Garofalakis, VLDB 2005); less twice the error of that, so that keys without repeats have none.
        """
        parts = len(self.rows)
        squares = _between(self.rows, np.ones(parts)) * (1 - 2 * math.sqrt(2 / parts))
        return 1 + rows / self.of_rows * max(squares / float(self.rows.sum()) - 1, 0.0)


def unseen(cells: Reals, pairs: float, sides: Sequence[Shares], keys: Sequence[Keys]) -> float:
    """What the variance of a sum lacks since rows with many pairs were not seen, over the square of the sum.

    `cells` have counts, of so many pairs that were seen. If keys that the other input often has have as many partners
    here as any, the squared pairs of rows add up to the pairs, times how many rows there have the key of one of them.
    """
    found = 0.0
    for axis, (side, other) in enumerate(zip(sides, reversed(sides), strict=True)):
        told = keys[1 - axis]
        if side.share < 1 and told.rows.any() and _used(side.rows) >= FEWEST_PARTS:
            shown = _between(cells.sum(axis=1 - axis), side.rows) / cells.sum() ** 2
            expected = told.repeats(other.rows.sum()) / pairs - 1 / side.rows.sum()
            found += (1 - side.share) * UNSEEN * max(expected - shown, 0.0)
    return found


def variance_of_ratio(cells: Reals, pairs: Reals, left: Shares, right: Shares) -> Variance | None:
    """The same where cells are what is left of a sum beside a multiple of another: parts without pairs say nothing.

    So there are fewer degrees of freedom: as many as parts that have equally many pairs would give (Kish's effective
    size, Survey Sampling 1965, sec. 11.7), and the multiple takes one of them (few rows, Student's case).
    """
    found = variance_of_sum(cells, left, right)
    if found is None or not found.value:
        return found
    sides = [(axis, side) for axis, side in enumerate((left, right)) if side.share < 1]
    telling = min(_effective(pairs.sum(axis=1 - axis)) for axis, _ in sides)
    if telling < FEWEST_EFFECTIVE:
        return None
    of_all = min(_used(side.rows) for _, side in sides)
    more = telling / (telling - 1) / (of_all / (of_all - 1))
    return Variance(found.value * more, min(found.degrees, telling - 1))


def variance_of_sum(cells: Reals, left: Shares, right: Shares, lacking: float = 0.0) -> Variance | None:
    """Of the sum of these cells [left tag, right tag]; None if too little has come to say.

    `lacking` is `unseen`: what is known beside the cells.

    Rows of one side cannot differ less than not at all, so it is never less than the part of both inputs together, of
    which far more is known. Nor is it in more doubt than it is above that (degrees of freedom after Satterthwaite).
    """
    parts = []
    lacks = 1 - left.share, 1 - right.share
    if lacks == (0, 0):
        return Variance(0.0, math.inf)
    for axis, (side, lack) in enumerate(zip((left, right), lacks, strict=True)):
        if lack and np.count_nonzero(cells.any(axis=1 - axis)) < FEWEST_PARTS:
            return None
        if lack:
            parts.append((lack * _between(cells.sum(axis=1 - axis), side.rows), _used(side.rows) - 1))
    least = lacks[0] * lacks[1] * _within(cells, left.rows, right.rows) if all(lacks) else 0.0
    more = lacking * float(cells.sum()) ** 2
    value = max(math.fsum(part for part, _ in parts) - least + more, least)
    spread = 2 * math.fsum(part**2 / degrees for part, degrees in parts)
    doubt = min(spread, (value - least) ** 2)
    return Variance(value, 2 * value**2 / doubt if doubt > 0 else math.inf)


def _used(rows: Reals) -> int:
    return int(np.count_nonzero(rows))


def _effective(weights: Reals) -> float:
    """How many parts of equal weight say as much."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _between(sums: Reals, rows: Reals) -> float:
    """The variance of the sum of all parts, from how the sums of parts differ from what their sizes let expect."""
    used = rows > 0
    sums, rows = sums[used], rows[used]
    apart = sums - sums.sum() * rows / rows.sum()
    return float(rows.sum() / (len(rows) - 1) * (apart**2 / rows).sum())


def _within(cells: Reals, left_rows: Reals, right_rows: Reals) -> float:
    """The same of what neither side explains by itself."""
    used = np.ix_(left_rows > 0, right_rows > 0)
    cells, left, right = cells[used], left_rows[left_rows > 0], right_rows[right_rows > 0]
    of_left, of_right = left / left.sum(), right / right.sum()
    apart = cells - np.outer(cells.sum(axis=1), of_right) - np.outer(of_left, cells.sum(axis=0))
    apart += cells.sum() * np.outer(of_left, of_right)
    degrees = (len(left) - 1) * (len(right) - 1)
    return float((apart**2 / np.outer(of_left, of_right)).sum() / degrees)


def t_quantile(probability: float, degrees: float) -> float:
    """Of Student's t (G. W. Hill, Algorithm 396, CACM 1970); good to six digits from two degrees of freedom on.

    >>> round(t_quantile(0.975, 31), 3), round(t_quantile(0.975, 2), 3), round(t_quantile(0.975, float("inf")), 3)
    (2.04, 4.303, 1.96)
    """
    degrees = max(degrees, 1.0)
    if degrees > 10**6:
        return NormalDist().inv_cdf(probability)
    both_tails = 2 * (1 - probability)
    if degrees < 1.5:
        return math.tan(math.pi / 2 * (1 - both_tails))
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * both_tails) ** (2 / degrees)
    if y > a + 0.05:
        x = NormalDist().inv_cdf(both_tails / 2)
        y = x * x
        if degrees < 5:
            c += 0.3 * (degrees - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3) + 0.5 / (degrees + 4)) * y
            - 1
        ) * (degrees + 1) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)
