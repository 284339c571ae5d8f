"""From sums over rectangles of rows to estimates: how much of each input has come, what that makes of a sum, how sure.

A sum over n of N left rows and m of M right rows stands for N/n * M/m times as much. Of partitions that are joined as
wholes at different times, each is a rectangle of its own and counts by its own share; rows of one tag are a random part
in all of them, so their sums are added up by tags before anything is said of how they differ.

Averages and deviations are functions of sums: how they vary follows from how the sums do, to first order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.estimation.formulas import EXACTLY, Formula, Linear, Number, exactly, linear
from sooner.estimation.intervals import Keys, Shares, unseen, variance_of_ratio, variance_of_sum
from sooner.estimation.workings import Measure, Workings
from sooner.expressions.tree import columns_of
from sooner.kernels.folding import Reals, Sums, as_reals, totals

FEWEST_PAIRS: Final = 20  # fewer say too little for an interval
ALL_GROUPS: Final = (slice(None), slice(None))
WIDE: Final = 0.1  # intervals of what cannot be negative are taken on a scale of logarithms from so much on


class Value(NamedTuple):
    """Between low and high with the confidence that was asked for; both are None where there is no interval (yet)."""

    value: Number | None
    low: Number | None
    high: Number | None

    @property
    def is_known(self) -> bool:
        return self.low is not None and self.low == self.high

    @property
    def relative_error(self) -> float | None:
        """Half of the interval over the value."""
        if self.low is None or self.high is None or self.value is None:
            return None
        half = float(self.high - self.low) / 2  # type: ignore[operator]
        return 0.0 if not half else half / abs(float(self.value)) if self.value else math.inf


NOTHING: Final = Value(None, None, None)


@dataclass(frozen=True)
class Rectangle:
    """Sums over pairs of so many rows: of each tag of both sides, and which share of all rows they are, if known."""

    sums: Sums
    rows: tuple[Reals, Reals]
    shares: tuple[float | None, float | None]
    weight: int = 1  # how many of them it was made of: they had come as far

    @property
    def scale(self) -> float:
        """What the sums are to be multiplied by; where a share is not known they are sums so far."""
        return 1 / math.prod(share for share in self.shares if share)


class Reckoning:
    """All that estimates are read off at one moment. `keys` are those of each side, if they say what matches."""

    def __init__(
        self,
        workings: Workings,
        rectangles: Sequence[Rectangle],
        confidence: float,
        keys: Sequence[Keys] = (),
        *,
        exact: bool,
    ) -> None:
        self._workings = workings
        self._confidence = confidence
        self._exact = exact
        self._rectangles = rectangles
        self._keys = keys
        counts, weights = [rectangle.rows for rectangle in rectangles], [one.weight for one in rectangles]
        rows = [np.average([count[side] for count in counts], axis=0, weights=weights) for side in (0, 1)]
        known = [[rectangle.shares[side] for rectangle in rectangles] for side in (0, 1)]
        self._has_sizes = not any(None in shares for shares in known)
        shares = [float(np.average([share or 0.0 for share in some], weights=weights)) for some in known]
        self._left, self._right = (Shares(one, share) for one, share in zip(rows, shares, strict=True))
        self._whole_at, self._real_at = _places(workings)
        self._has_tags = rectangles[0].sums.n_tags > 1
        self._totals: dict[int, tuple[npt.NDArray[np.object_], int]] = {}

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Those that have any pair."""
        found = sum(as_reals(one.sums.wholes[:, :, 0]).sum(axis=(2, 3)) for one in self._rectangles)
        return [(int(left), int(right)) for left, right in np.argwhere(np.asarray(found) > 0)]

    def value(self, result: Measure | Formula, group: tuple[int, int]) -> Value:
        if isinstance(result, Formula):
            return self._of_formula(result, group)
        if self._exact:
            exact = self._exactly(result, group)
            return Value(exact, exact, exact)
        if result.function in ("count", "sum") and not self._has_sizes:
            return Value(self._exactly(result, group), None, None)
        if not self._has_tags:
            return Value(self._expected(result, group), None, None)
        found = self._linear(result, group)
        if found is None:
            return NOTHING
        return self._around(found, group, positive=found.value > 0 and self._is_never_negative(result, group))

    def _of_formula(self, formula: Formula, group: tuple[int, int]) -> Value:
        measures = {one.name: one for one in self._workings.measures}
        names = sorted(column.name for column in columns_of(formula.node))
        so_far = exactly(formula.node, {name: self._exactly(measures[name], group) for name in names})
        if self._exact:
            return Value(so_far, so_far, so_far)
        if not self._has_tags and self._has_sizes:
            expected = {name: self._expected(measures[name], group) for name in names}
            return Value(exactly(formula.node, expected), None, None)
        parts = {name: found for name in names if (found := self._linear(measures[name], group)) is not None}
        found = linear(formula.node, parts) if len(parts) == len(names) else None
        if found is None:
            return NOTHING
        if not self._has_sizes and found.power != 0:
            return Value(so_far, None, None)
        return self._around(found, group)

    def _exactly(self, measure: Measure, group: tuple[int, int]) -> Number | None:
        """Of what is there; null of nothing but nulls."""
        n = self._total(measure.n, group)
        if measure.function == "count" or not n:
            return n if measure.function == "count" else None
        assert measure.total is not None
        total_ = self._total(measure.total, group)
        if measure.function == "sum":
            return total_
        average = float(total_) / float(n)
        if measure.function == "avg":
            return average
        assert measure.square is not None
        if n < 2:
            return None
        square = float(self._total(measure.square, group))
        variance = max(square - float(total_) * average, 0.0) / (float(n) - 1)
        return math.sqrt(variance) if measure.function == "stddev" else variance

    def _expected(self, measure: Measure, group: tuple[int, int]) -> Number | None:
        """Where there are no tags, and so one rectangle: no interval can be given, so nothing more is computed."""
        so_far, [one] = self._exactly(measure, group), self._rectangles
        return so_far if so_far is None or measure.function not in ("count", "sum") else float(so_far) * one.scale

    def _linear(self, measure: Measure, group: tuple[int, int]) -> Linear | None:
        """What is estimated, and how it follows from sums over parts of the rows."""
        counts = self._cells(measure.n, group)
        count = float(counts.sum())
        if measure.function == "count":
            return Linear(count, counts)
        if not count:
            return None
        assert measure.total is not None
        totals = self._cells(measure.total, group)
        if measure.function == "sum":
            return Linear(float(totals.sum()), totals)
        mean = float(totals.sum()) / count
        if measure.function == "avg":
            return Linear(mean, (totals - mean * counts) / count, 0)
        return self._of_deviation(measure, group, counts, totals)

    def _of_deviation(self, measure: Measure, group: tuple[int, int], counts: Reals, totals: Reals) -> Linear | None:
        """A variance, or its root; by n - 1, as samples have it."""
        assert measure.square is not None
        count = float(counts.sum())
        if count < 2:
            return None
        squares = self._cells(measure.square, group)
        mean = float(totals.sum()) / count
        variance = max(float(squares.sum()) / count - mean**2, 0.0)
        apart = (squares - 2 * mean * totals + (mean**2 - variance) * counts) / count
        variance *= count / (count - 1)
        if measure.function == "variance":
            return Linear(variance, apart, 0)
        root = math.sqrt(variance)
        return Linear(root, apart / (2 * root) if root else apart, 0)

    @cached_property
    def _unseen(self) -> float:
        """Of all groups together: rows that were not seen tell of none that they are in."""
        counts = [as_reals(one.sums.wholes[:, :, 0]).sum(axis=(0, 1)) for one in self._rectangles]
        cells = np.sum([one.scale * some for one, some in zip(self._rectangles, counts, strict=True)], axis=0)
        pairs = float(np.sum(counts))
        return unseen(cells, pairs, (self._left, self._right), self._keys) if self._keys and pairs else 0.0

    def _is_never_negative(self, measure: Measure, group: tuple[int, int]) -> bool:
        """As far as sums over small parts of the rows tell."""
        if measure.function in ("variance", "stddev"):
            return True
        return bool(np.all(self._cells(measure.n if measure.total is None else measure.total, group) >= 0))

    def _around(self, found: Linear, group: tuple[int, int], *, positive: bool = False) -> Value:
        value, cells, pairs = found.value, np.asarray(found.cells), self._pairs(group)
        if pairs.sum() < FEWEST_PAIRS or not math.isfinite(value):
            return Value(value, None, None)
        if found.power == 1:
            variance = variance_of_sum(cells, self._left, self._right, self._unseen)
        else:
            variance = variance_of_ratio(cells, pairs, self._left, self._right)
        if variance is None:
            return Value(value, None, None)
        half = variance.half_width(self._confidence)
        if positive and half > WIDE * value:
            factor = math.exp(min(half / value, 700.0))
            return Value(value, value / factor, value * factor)
        return Value(value, value - half, value + half)

    def _pairs(self, group: tuple[int, int]) -> Reals:
        """How many there are, by tags."""
        found: Reals = np.sum([as_reals(one.sums.wholes[(*group, 0)]) for one in self._rectangles], axis=0)
        return found

    def _total(self, at: int, group: tuple[int, int]) -> Number:
        """Of what is there, exactly where it can be."""
        if at not in self._totals:
            self._totals[at] = self._totals_of_all(at)
        found, scale = self._totals[at]
        one: Number = found[group]
        return Decimal(one).scaleb(-scale, EXACTLY) if scale else one

    def _totals_of_all(self, at: int) -> tuple[npt.NDArray[np.object_], int]:
        """Of all groups, as numbers of Python, and the scale of decimals: one by one they would take long."""
        parts = self._workings.sums[at]
        if not all(part.is_whole for part in parts):
            first, *others = (some.sum(axis=(2, 3)) for one in self._rectangles for some in self._parts(one, at))
            found = np.apply_along_axis(math.fsum, 0, np.stack([first, *others])) if others else first
            return found.astype(object), 0
        scale = max((part.scale for part in parts), default=0)
        whole = sum(
            totals(one.sums.wholes[:, :, self._whole_at[part.at]]) * 10 ** (scale - part.scale)
            for one in self._rectangles
            for part in parts
        )
        return np.asarray(whole), scale

    def _cells(self, at: int, group: tuple[int, int]) -> Reals:
        """Of all rectangles, each at its own scale."""
        tags = self._rectangles[0].sums.n_tags
        found = np.zeros((tags, tags))
        for one in self._rectangles:
            for cells in self._parts(one, at, group):
                found += one.scale * cells
        return found

    def _parts(self, one: Rectangle, at: int, group: tuple[int | slice, int | slice] = ALL_GROUPS) -> list[Reals]:
        return [
            as_reals(one.sums.wholes[(*group, self._whole_at[part.at])]) / 10.0**part.scale
            if part.is_whole
            else one.sums.reals[(*group, self._real_at[part.at])]
            for part in self._workings.sums[at]
        ]


def _places(workings: Workings) -> tuple[dict[int, int], dict[int, int]]:
    """Where folded sums are among those of whole numbers, or among the others."""
    wholes = [at for at, is_whole in enumerate(workings.are_whole) if is_whole]
    reals = [at for at, is_whole in enumerate(workings.are_whole) if not is_whole]
    return {at: place for place, at in enumerate(wholes)}, {at: place for place, at in enumerate(reals)}
