"""From sums over rectangles of rows to estimates: how much of each input has come, what that makes of a sum, how sure.

A sum over n of N left rows and m of M right rows stands for N/n * M/m times as much. Of partitions that are joined as
wholes at different times, each is a rectangle of its own and counts by its own share; rows of one tag are a random part
in all of them, so their sums are added up by tags before anything is said of how they differ.

Averages and deviations are functions of sums: how they vary follows from how the sums do, to first order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.estimation.certainty import KINDS, Certainty, Found
from sooner.estimation.formulas import EXACTLY, Formula, Linear, Number, exactly, fitting, linear
from sooner.estimation.intervals import Keys, Shares, unseen
from sooner.estimation.moments import Spread, average, root, spread_of
from sooner.estimation.workings import DEVIATIONS, Measure, Workings
from sooner.expressions.tree import Column, columns_of
from sooner.kernels.array_types import Positions
from sooner.kernels.folding import Integers, Reals, Sums, as_reals, integers, totals
from sooner.sides import LEFT, RIGHT

Group = tuple[int, int]
ALL_GROUPS: Final = (slice(None), slice(None))
ROUNDED: Final = 1e-9  # of sums of doubles, far more than can be


class Value(NamedTuple):
    """A value that lies between low and high with the confidence asked for; both are None without an interval (yet)."""

    value: Number | None
    low: Number | None
    high: Number | None

    @property
    def is_known(self) -> bool:
        return self.low is not None and (self.low == self.high or self.low != self.low)  # NaN, for certain

    @property
    def relative_error(self) -> float | None:
        """Half of the interval over the value."""
        if self.low is None or self.high is None or self.value is None:
            return None
        half = 0.0 if self.is_known else float(self.high - self.low) / 2  # type: ignore[operator]
        return 0.0 if not half else half / abs(float(self.value)) if self.value else math.inf

    def at_least(self, known: Number | None) -> "Value":
        """The same value, with an interval that begins no lower than what has been found already."""
        if self.low is None or known is None:
            return self
        return self._replace(low=max(self.low, float(known)))


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


class Foremost(NamedTuple):
    """The groups that come first by an aggregate, so many at most: no others are shown."""

    by: str
    most: int
    descending: bool


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
        self._known_totals: dict[int, list[Number]] = {}
        self._lefts: Positions | None = None  # the numbers of the left groups that are looked at, if not all are

    def of_foremost(self, wanted: Foremost) -> "Reckoning":
        """The same of these groups, and of those that may be among them but for what doubles round off: what is read
        off costs as much for each. Of all groups where intervals tell of each other, or some value is no plain number.
        """
        measure = next((one for one in self._workings.measures if one.name == wanted.by), None)
        has_intervals = self._has_tags and not self._exact
        if has_intervals or measure is None or measure.function not in ("count", "sum"):
            return self
        if not 0 < wanted.most < len(self.places):
            return self
        (counts, _), (values, largest) = (
            self._roughly(at) for at in (measure.n, measure.n if measure.total is None else measure.total)
        )
        if not counts.all() or not math.isfinite(largest):
            return self
        values = -values if wanted.descending else values
        limit = np.partition(values, wanted.most - 1)[wanted.most - 1] + ROUNDED * largest
        lefts = np.unique(self.places[values <= limit, LEFT])
        rectangles = [
            replace(one, sums=one.sums.rearranged(lambda array: array[lefts], one.sums.n_tags))
            for one in self._rectangles
        ]
        found = Reckoning(self._workings, rectangles, self._confidence, self._keys, exact=self._exact)
        found._lefts = lefts
        return found

    def _roughly(self, at: int) -> tuple[Reals, float]:
        """[place]: a sum so far, as a double; and how large the sum of its parts is at most, whatever their signs."""
        parts = [part for one in self._rectangles for part in self._parts(one, at)]
        places = tuple(self.places.T)
        with np.errstate(invalid="ignore", over="ignore"):
            values, sizes = (sum(some.sum(axis=(2, 3)) for some in each) for each in (parts, map(np.abs, parts)))
        return np.asarray(values)[places], float(np.asarray(sizes)[places].max())

    @cached_property
    def places(self) -> Positions:
        """[group, side]: the numbers of groups that have any pair."""
        found = sum(as_reals(one.sums.wholes[:, :, 0]).sum(axis=(2, 3)) for one in self._rectangles)
        return np.argwhere(np.asarray(found) > 0)

    @property
    def numbers(self) -> Positions:
        """The same, as they are numbered among all groups."""
        if self._lefts is None:
            return self.places
        return np.column_stack([self._lefts[self.places[:, LEFT]], self.places[:, RIGHT]])

    @cached_property
    def groups(self) -> list[Group]:
        return [(left, right) for left, right in self.places.tolist()]

    def values(self, result: Measure | Formula) -> list[Value]:
        """The values of all groups. Infinity and NaN are no reason to warn: a result of them is one of them."""
        with np.errstate(invalid="ignore", over="ignore"):
            return self._of_formula(result) if isinstance(result, Formula) else self._of_measure(result)

    def _of_measure(self, result: Measure) -> list[Value]:
        if self._exact:
            return [Value(exact, exact, exact) for exact in self._so_far(result)]
        if result.function in ("count", "sum") and not self._has_sizes:
            return [Value(exact, None, None) for exact in self._so_far(result)]
        if not self._has_tags:
            return [Value(one, None, None) for one in self._expected(result)]
        found = [self._linear(result, group) for group in self.groups]
        positive = [
            one is not None and one.value > 0 and self._is_never_negative(result, one, group)
            for one, group in zip(found, self.groups, strict=True)
        ]
        values = self._around(found, positive, result.function)
        if result.function != "count":
            return values
        return [one.at_least(count) for one, count in zip(values, self._so_far(result), strict=True)]

    def _of_formula(self, formula: Formula) -> list[Value]:
        if self._exact:
            return [Value(exact, exact, exact) for exact in self._so_far(formula)]
        found, measures = [], self._measures_in(formula)
        if not self._has_tags and self._has_sizes:
            names, expected = [one.name for one in measures], [self._expected(one) for one in measures]
            of_groups = [dict(zip(names, parts, strict=True)) for parts in zip(*expected, strict=True)]
            return [Value(exactly(formula.node, parts), None, None) for parts in of_groups]
        for group in self.groups:
            parts = {one.name: part for one in measures if (part := self._linear(one, group)) is not None}
            found.append(linear(formula.node, parts) if len(parts) == len(measures) else None)
        if not self._has_sizes and any(one is not None and one.power != 0 for one in found):
            return [Value(exact, None, None) for exact in self._so_far(formula)]
        return self._around(found, [False] * len(found))

    def _measures_in(self, formula: Formula) -> list[Measure]:
        names = {column.name for column in columns_of(formula.node)}
        return [one for one in self._workings.measures if one.name in names]

    def _so_far(self, result: Measure | Formula) -> list[Number | None]:
        if isinstance(result, Measure):
            return self._exactly(result)
        measures = self._measures_in(result)
        names, found = [one.name for one in measures], [self._exactly(one) for one in measures]
        if isinstance(result.node, Column):
            return found[0]
        return [exactly(result.node, dict(zip(names, parts, strict=True))) for parts in zip(*found, strict=True)]

    def _exactly(self, measure: Measure) -> list[Number | None]:
        """The exact values of all groups over the pairs found so far; null if there are only nulls."""
        counts = self._totals(measure.n)
        if measure.function == "count":
            return list(counts)
        if measure.function in DEVIATIONS:
            of_groups = zip(self.groups, counts, strict=True)
            return [self._deviation(measure, group) if n > 1 else None for group, n in of_groups]
        assert measure.total is not None
        found = zip(self._totals(measure.total), counts, strict=True)
        if measure.function == "sum":
            return [fitting(total, measure.name) if n else None for total, n in found]
        return [_average(total, int(n)) if n else None for total, n in found]

    def _deviation(self, measure: Measure, group: tuple[int, int]) -> float:
        spread = self._spread(measure, group)
        if spread is None:
            return math.nan
        return spread.variance if measure.function == "variance" else spread.deviation

    def _expected(self, measure: Measure) -> list[Number | None]:
        """The estimates where there are no tags, and so one rectangle and no interval."""
        so_far, [rectangle] = self._exactly(measure), self._rectangles
        if measure.function not in ("count", "sum"):
            return so_far
        return [None if one is None else float(one) * rectangle.scale for one in so_far]

    def _linear(self, measure: Measure, group: tuple[int, int]) -> Linear | None:
        """What is estimated, and how it follows from sums over parts of the rows."""
        counts = self._cells(measure.n, group)
        count = float(counts.sum())
        if measure.function == "count":
            return Linear(count, counts)
        if not count:
            return None
        if measure.function in DEVIATIONS:
            return self._of_deviation(measure, group)
        assert measure.total is not None
        if measure.function == "avg" and self._is_whole(measure.total):
            totals, scale = self._integers(measure.total, group)
            return average(self._integers(measure.n, group)[0], totals, Fraction(1, 10**scale), self._scales)
        cells = self._cells(measure.total, group)
        value = float(cells.sum())
        if measure.function == "sum":
            return Linear(value, cells)
        return Linear(value / count, (cells - value / count * counts) / count, 0)

    def _of_deviation(self, measure: Measure, group: tuple[int, int]) -> Linear | None:
        spread = self._spread(measure, group)
        if spread is None:
            return Linear(math.nan, math.nan, 0)
        variance = spread.linear(self._scales)
        return variance if measure.function == "variance" or variance is None else root(variance)

    def _spread(self, measure: Measure, group: tuple[int, int]) -> Spread | None:
        assert measure.moments is not None
        cells = np.stack([one.sums.moments[(*group, measure.moments)] for one in self._rectangles])
        return spread_of(self._integers(measure.n, group)[0], cells, measure.scale)

    @cached_property
    def _certainty(self) -> Certainty:
        counts = [as_reals(one.sums.wholes[:, :, 0]) for one in self._rectangles]
        scaled = np.sum([one.scale * some for one, some in zip(self._rectangles, counts, strict=True)], axis=0)
        pairs, sides = np.sum(counts, axis=0), (self._left, self._right)
        # Of all groups together: rows that were not seen tell of none that they are in.
        lacking = unseen(scaled.sum(axis=(0, 1)), float(pairs.sum()), sides, self._keys) if self._keys else 0.0
        at = tuple(self.places.T)
        return Certainty(Found(pairs[at], scaled[at], *sides, lacking), self._confidence)

    def _is_never_negative(self, measure: Measure, found: Linear, group: Group) -> bool:
        """Whether values are never negative, as far as sums over small parts of the rows tell."""
        if measure.function in DEVIATIONS:
            return True
        if measure.function != "avg":
            return bool(np.all(found.cells >= 0))
        assert measure.total is not None
        return bool(np.all(self._cells(measure.total, group) >= 0))

    def _around(self, found: Sequence[Linear | None], positive: Sequence[bool], function: str = "") -> list[Value]:
        """The values of all groups with intervals; `positive` ones get those of this function."""
        values = [NOTHING if one is None else Value(one.value, None, None) for one in found]
        usable = [at for at, one in enumerate(found) if one is not None and math.isfinite(one.value)]
        if not usable or not self._certainty.says_something:
            return values
        for is_positive in (False, True):
            at = np.array([one for one in usable if positive[one] == is_positive], np.intp)
            some = [one for one in (found[place] for place in at) if one is not None]
            if not some:
                continue
            known, cells = np.array([one.value for one in some]), np.array([one.cells for one in some])
            if is_positive:
                ends = self._certainty.of_positive(KINDS[function], known, cells, at)
            else:
                ends = self._certainty.of_any(known, cells, at, grow=some[0].power == 1)
            for place, low, high in zip(at, *ends, strict=True):
                if math.isfinite(low) and math.isfinite(high):
                    values[place] = values[place]._replace(low=float(low), high=float(high))
        return values

    def _totals(self, at: int) -> list[Number]:
        """The sums over the pairs of groups found so far, exact where they can be."""
        if at not in self._known_totals:
            found, scale = self._totals_of_all(at)
            of_groups: list[Any] = found[tuple(self.places.T)].tolist()
            self._known_totals[at] = [Decimal(one).scaleb(-scale, EXACTLY) for one in of_groups] if scale else of_groups
        return self._known_totals[at]

    def _totals_of_all(self, at: int) -> tuple[npt.NDArray[np.object_], int]:
        """As numbers of Python, whether they have pairs or not; and the scale of decimals."""
        if not self._is_whole(at):
            first, *others = (some.sum(axis=(2, 3)) for one in self._rectangles for some in self._parts(one, at))
            found = np.apply_along_axis(_sum, 0, np.stack([first, *others])) if others else first
            return found.astype(object), 0
        parts, scale = self._workings.sums[at], self._scale_of(at)
        whole = sum(
            totals(one.sums.wholes[:, :, self._whole_at[part.at]]) * 10 ** (scale - part.scale)
            for one in self._rectangles
            for part in parts
        )
        return np.asarray(whole), scale

    def _integers(self, at: int, group: tuple[int, int]) -> tuple[Integers, int]:
        """[rectangle, left tag, right tag], and how many decimals they have."""
        scale = self._scale_of(at)
        found: Integers = np.zeros(1, object)
        for part in self._workings.sums[at]:
            cells = np.stack([one.sums.wholes[(*group, self._whole_at[part.at])] for one in self._rectangles])
            found = found + integers(cells) * 10 ** (scale - part.scale)
        return found, scale

    def _is_whole(self, at: int) -> bool:
        return all(part.is_whole for part in self._workings.sums[at])

    def _scale_of(self, at: int) -> int:
        return max((part.scale for part in self._workings.sums[at]), default=0)

    @cached_property
    def _scales(self) -> list[float]:
        return [one.scale for one in self._rectangles]

    def _cells(self, at: int, group: tuple[int, int]) -> Reals:
        """The cells of all rectangles added up, each rectangle at its own scale."""
        found = np.zeros(self._rectangles[0].sums.wholes.shape[3:5])
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


def _average(total: Number, n: int) -> float:
    return total / n if isinstance(total, float) else float(Fraction(total) / n)


def _sum(numbers: Reals) -> float:
    """The sum of numbers, rounded once; infinity and NaN stay what they are."""
    return math.fsum(numbers) if np.isfinite(numbers).all() else float(numbers.sum())


def _places(workings: Workings) -> tuple[dict[int, int], dict[int, int]]:
    """The places of folded sums among those of whole numbers, and among the others."""
    wholes = [at for at, is_whole in enumerate(workings.are_whole) if is_whole]
    reals = [at for at, is_whole in enumerate(workings.are_whole) if not is_whole]
    return {at: place for place, at in enumerate(wholes)}, {at: place for place, at in enumerate(reals)}
