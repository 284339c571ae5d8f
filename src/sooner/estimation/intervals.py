"""How far off sums may be: the variance of a sum over a growing rectangle of random rows.

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
from typing import Final, NamedTuple

import numpy as np

from sooner.kernels.folding import Reals

FEWEST_PARTS: Final = 3  # of an input, of which rows have come: fewer say nothing of how they differ

# Of what repeated keys let expect beyond what sums show. All of it is too wide: while rows are not seen, an estimate is
# too small by their pairs and no more. By simulation over kinds of skew 94% to 99% hold, and with all of it up to 100%.
UNSEEN: Final = 0.6


class Variances(NamedTuple):
    """Variances, and the degrees of freedom with which each is known: infinite where a sum is certain."""

    value: Reals
    degrees: Reals

    def at_least(self, least: Reals) -> "Variances":
        """These variances, but at least so much: only what is above that is in doubt."""
        value = np.maximum(self.value, least)
        doubt = np.minimum(2 * value**2 / self.degrees, (value - least) ** 2)
        return Variances(value, np.divide(2 * value**2, doubt, out=np.full(value.shape, math.inf), where=doubt > 0))

    def and_more(self, more: Reals | float) -> "Variances":
        """These variances and something more, which is in no doubt."""
        value = self.value + more
        known = np.divide(value, self.value, out=np.full(value.shape, math.inf), where=self.value > 0)
        return Variances(value, self.degrees * known**2)


@dataclass(frozen=True)
class Shares:
    """How many rows of each tag of an input have come, and which share of all rows they are."""

    rows: Reals
    share: float


@dataclass(frozen=True)
class Keys:
    """How many rows of an input have come with keys in each of many random parts, of so many rows in all."""

    rows: Reals
    of_rows: float

    def repeats(self, rows: float) -> float:
        """How many of so many rows have the key of one of them, on average: at least it itself.

        How parts of the keys differ tells it (as the tug-of-war of Alon, Matias and Szegedy, STOC 1996, or Fast-AMS,
        Cormode and Garofalakis, VLDB 2005); less twice the error of that, so that keys without repeats have none.
        """
        parts = len(self.rows)
        squares = float(_between(self.rows, np.ones(parts))) * (1 - 2 * math.sqrt(2 / parts))
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
            shown = float(_between(_by_tags(cells, axis), side.rows)) / float(cells.sum()) ** 2
            expected = told.repeats(other.rows.sum()) / pairs - 1 / side.rows.sum()
            found += (1 - side.share) * UNSEEN * max(expected - shown, 0.0)
    return found


def variances_of_sums(cells: Reals, left: Shares, right: Shares) -> Variances | None:
    """The variances of sums of these cells [..., left tag, right tag]; None if too little has been read.

    Rows of one side cannot differ less than not at all, so it is never less than the part of both inputs together, of
    which far more is known. Degrees of freedom are Satterthwaite's.
    """
    lacks = 1 - left.share, 1 - right.share
    nothing = np.zeros(cells.shape[:-2])
    if lacks == (0, 0):
        return Variances(nothing, np.full(cells.shape[:-2], math.inf))
    sides = [(axis, side, lack) for axis, (side, lack) in enumerate(zip((left, right), lacks, strict=True)) if lack]
    if any(_used(side.rows) < FEWEST_PARTS for _, side, _ in sides):
        return None
    parts = [(lack * _between(_by_tags(cells, axis), side.rows), _used(side.rows) - 1) for axis, side, lack in sides]
    least = lacks[0] * lacks[1] * _within(cells, left.rows, right.rows) if all(lacks) else nothing
    value = np.maximum(sum(part for part, _ in parts) - least, least)
    spread = np.asarray(sum(part**2 / degrees for part, degrees in parts))
    degrees = np.divide(value**2, spread, out=np.full(cells.shape[:-2], math.inf), where=spread > 0)
    return Variances(value, degrees).at_least(least)


def variances_of_ratios(cells: Reals, pairs: Reals, left: Shares, right: Shares) -> Variances | None:
    """The same where cells are what is left of a sum beside a multiple of another: parts without pairs say nothing.

    So there are fewer degrees of freedom: as many as parts that have equally many pairs would give (Kish's effective
    size, Survey Sampling 1965, sec. 11.7), and the multiple takes one of them (few rows, Student's case). With less
    than one left it is not a number.
    """
    found = variances_of_sums(cells, left, right)
    sides = [(axis, side) for axis, side in enumerate((left, right)) if side.share < 1]
    if found is None or not sides:
        return found
    telling = np.min([_effective(_by_tags(pairs, axis)) for axis, _ in sides], axis=0) - 1
    of_all = min(_used(side.rows) for _, side in sides)
    enough = np.where(telling >= 1, telling, math.nan)
    more = (enough + 1) / enough / (of_all / (of_all - 1))
    return Variances(found.value * more, np.minimum(found.degrees, enough))


def thirds_of_sums(cells: Reals, left: Shares, right: Shares) -> Reals:
    """Third central moments of these sums: by how much rarer, but larger, their errors are on one side than the other.

    Where more than half of an input has come the sign is the other one, since it is what lacks that may be far off.
    """
    found = np.zeros(cells.shape[:-2])
    for axis, side in enumerate((left, right)):
        if side.share < 1:
            found = found + (1 - side.share) * (1 - 2 * side.share) * _third(_by_tags(cells, axis), side.rows)
    return found


def _by_tags(cells: Reals, axis: int) -> Reals:
    """The sums of cells by tags of the left (0) or the right (1)."""
    found: Reals = cells.sum(axis=-1 - axis)
    return found


def _used(rows: Reals) -> int:
    return int(np.count_nonzero(rows))


def _effective(weights: Reals) -> Reals:
    """How many parts of equal weight would say as much as these."""
    found: Reals = weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)
    return found


def _between(sums: Reals, rows: Reals) -> Reals:
    """The variance of the sum of all parts, from how the sums of parts differ from what their sizes let expect."""
    used = rows > 0
    sums, rows = sums[..., used], rows[used]
    apart = sums - sums.sum(axis=-1, keepdims=True) * rows / rows.sum()
    found: Reals = rows.sum() / (len(rows) - 1) * (apart**2 / rows).sum(axis=-1)
    return found


def _third(sums: Reals, rows: Reals) -> Reals:
    """The third moment of the sum of all parts, in the same way."""
    used = rows > 0
    sums, rows = sums[..., used], rows[used]
    apart = sums - sums.sum(axis=-1, keepdims=True) * rows / rows.sum()
    found: Reals = rows.sum() ** 2 / ((len(rows) - 1) * (len(rows) - 2)) * (apart**3 / rows**2).sum(axis=-1)
    return found


def _within(cells: Reals, left_rows: Reals, right_rows: Reals) -> Reals:
    """The part of the variance that neither side explains by itself."""
    cells = cells[..., left_rows > 0, :][..., right_rows > 0]
    left, right = left_rows[left_rows > 0], right_rows[right_rows > 0]
    expected = np.outer(left / left.sum(), right / right.sum())
    apart = cells - cells.sum(axis=-1, keepdims=True) * (right / right.sum())
    apart -= cells.sum(axis=-2, keepdims=True) * (left / left.sum())[:, None]
    apart += cells.sum(axis=(-2, -1), keepdims=True) * expected
    found: Reals = (apart**2 / expected).sum(axis=(-2, -1)) / ((len(left) - 1) * (len(right) - 1))
    return found
