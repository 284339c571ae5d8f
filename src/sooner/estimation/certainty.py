"""How sure estimates of all groups are, at one moment.

Whether there is an interval follows from what was read, not from how much of a group was found: groups that are shown
because much of them was found are those that came too often. So intervals must hold for groups of which two or three
pairs were found as well. These say little of how sure they are, but other groups do: variances are *moderated*, drawn
towards those of all groups as far as groups are alike (after Smyth's moderated t, 2004, and the generalized variance
functions of official statistics, Wolter, Introduction to Variance Estimation, ch. 7).
"""

import math
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sooner.estimation.intervals import Shares, Variances, thirds_of_sums, variances_of_ratios, variances_of_sums
from sooner.estimation.limits import CERTAIN, Ends, ends_around, ends_of_scales, ends_of_sums
from sooner.kernels.folding import Reals

FEWEST_PAIRS: Final = 5  # of a group, on average; before, most groups are not yet found or came by luck
FEWEST_EQUAL: Final = 20  # events: fewer that are all alike do not say that all others are
SKEW: Final = 3.0  # of what is as skewed as logarithms of normal numbers; worth so many parts
SKEW_PARTS: Final = 8.0
_MANY: Final = 1e9  # degrees of freedom

At = npt.NDArray[np.intp]


class Kind(NamedTuple):
    """A kind of aggregate: the relative variance of an event that is guessed before any came, worth so many events."""

    grows: bool  # with the inputs
    guess: float = 0.0
    guess_events: float = 0.0
    guess_degrees: float = 0.0
    fewest_events: float = 0.0
    spare_events: float = 0.0  # few events tell too little: by (n + spare) / (n - spare)
    shift: float = 0.0  # see `ends_of_scales`


# Values of a sum are thought to vary as much as their mean. A deviation has a normal distribution's; of it few events
# tell too small a variance, the more so the smaller the deviation that they tell.
COUNT: Final = Kind(grows=True)
SUM: Final = Kind(grows=True, guess=1.0, guess_events=1.0, guess_degrees=6.0)
AVERAGE: Final = Kind(grows=False)
VARIANCE: Final = Kind(False, 2.0, guess_events=8.0, guess_degrees=8.0, fewest_events=5.0, spare_events=2.0, shift=1.0)
STDDEV: Final = VARIANCE._replace(guess=0.5, shift=2.0)
KINDS: Final = {"count": COUNT, "sum": SUM, "avg": AVERAGE, "variance": VARIANCE, "stddev": STDDEV}


class Found(NamedTuple):
    """All groups: their pairs by tags [group, left tag, right tag], and the same with each rectangle at its scale."""

    pairs: Reals
    counts: Reals
    left: Shares
    right: Shares
    lacking: float  # `intervals.unseen`


class Certainty:
    """Intervals of the groups `at` some places. Their ends are NaN where there is no interval (yet)."""

    def __init__(self, found: Found, confidence: float) -> None:
        self._pairs, self._counts, self._left, self._right, self._lacking = found
        self._confidence = confidence
        self._lack = 1 - self._left.share * self._right.share
        self._pairs_of = self._pairs.sum(axis=(1, 2))
        self._every: At = np.arange(len(self._pairs_of))

    @cached_property
    def says_something(self) -> bool:
        """Are there pairs enough for all groups but one? Without groups any pair will do."""
        needed = FEWEST_PAIRS * (len(self._pairs_of) - 1) * self._lack
        is_read = variances_of_sums(self._pairs[:1], self._left, self._right) is not None
        return is_read and float(self._pairs_of.sum()) >= needed

    def of_positive(self, kind: Kind, values: Reals, cells: Reals, at: At) -> Ends:
        """Intervals of aggregates that are more than 0, over values that are never negative."""
        if not self._lack:
            return values, values
        found = self._moderated(kind, cells / values[:, None, None], at)
        if not kind.grows:
            relative = self._unless_unknown(found.value, at)
            skews = self._skews(kind, cells / values[:, None, None], relative) if kind is AVERAGE else 0.0
            return ends_of_scales(values, relative, found.degrees, self._confidence, kind.shift, skews)
        found = found.and_more(self._lacking)
        least = found.at_least(self._least[at])
        both = (1 - self._left.share) * (1 - self._right.share) * self._alone[at] ** 2
        skews = np.maximum(self._skews(kind, cells / values[:, None, None], least.value, both), 1.0)
        return ends_of_sums(values, least.value, (least if kind is COUNT else found).degrees, self._confidence, skews)

    def of_any(self, values: Reals, cells: Reals, at: At, *, grow: bool) -> Ends:
        """Intervals of any aggregates, without help of other groups; `grow` if values grow as sums do."""
        if not self._lack:
            return values, values
        found = self._variances(cells, at, grows=grow)
        if grow:
            degrees = np.minimum(found.degrees, self._events[at] + SUM.guess_degrees)
            found = Variances(found.value, degrees).and_more(self._lacking * values**2)
            found = Variances(np.maximum(found.value, self._least[at] * values**2), found.degrees)
        variances = np.where((found.value == 0) & (values == 0), math.nan, found.value)
        return ends_around(values, self._unless_unknown(variances, at), found.degrees, self._confidence)

    def _unless_unknown(self, variances: Reals, at: At) -> Reals:
        return np.where((variances == 0) & (self._events[at] < FEWEST_EQUAL), math.nan, variances)

    def _moderated(self, kind: Kind, cells: Reals, at: At) -> Variances:
        """Relative variances, of relative cells."""
        own = self._variances(cells, at, grows=kind.grows)
        unit, events = (self._alone[at], self._pairs_of[at]) if kind is COUNT else (self._unit[at], self._events[at])
        few = len(at) > 1 or kind is not COUNT
        degrees = np.minimum(own.degrees, self._parts - 1) if few else own.degrees
        degrees = degrees.copy() if kind is COUNT else np.minimum(degrees, events + kind.guess_degrees)
        value = np.full(len(at), math.nan)
        told = (own.value >= 0) & (events >= kind.fewest_events)
        if told.any():
            of_all = np.average(cells[told], axis=0, weights=events[told])
            common = self._variances(of_all[None], at[:1], grows=True).value[0]
            guess = kind.guess + (np.average(self._of_counts.value[at] / unit, weights=events) if kind is SUM else 0.0)
            found = moderated(
                Variances((own.value / unit)[told], degrees[told]),
                events[told],
                (common / unit)[told],
                (guess, kind.guess_events),
            )
            value[told] = found.value * unit[told]
            value[told] *= (events[told] + kind.spare_events) / (events[told] - kind.spare_events)
            degrees[told] = found.degrees
        return Variances(value, degrees)

    def _skews(self, kind: Kind, cells: Reals, variances: Reals, twice: Reals | float = 0.0) -> Reals:
        """Third moments over squared variances, of relative cells: 1 for counts of what comes by chance.

        Few parts show less of it than values may have. `twice` is what both sides have in their thirds.
        """
        thirds = thirds_of_sums(cells, self._left, self._right) - twice
        shown = thirds / np.maximum(variances, CERTAIN) ** 2
        found: Reals = shown if kind is COUNT else shown + SKEW * SKEW_PARTS / (self._parts + SKEW_PARTS)
        return found

    def _variances(self, cells: Reals, at: At, *, grows: bool) -> Variances:
        sides = self._left, self._right
        found = variances_of_sums(cells, *sides) if grows else variances_of_ratios(cells, self._pairs[at], *sides)
        assert found is not None, "who asks has asked first whether anything can be said"
        return found

    @property
    def _parts(self) -> int:
        return min(int(np.count_nonzero(side.rows)) for side in (self._left, self._right) if side.share < 1)

    @cached_property
    def _alone(self) -> Reals:
        """Relative variances of counts, if each pair came for itself."""
        found: Reals = self._lack / self._pairs_of
        return found

    @cached_property
    def _least(self) -> Reals:
        """The least that these variances can be: less what follows from the number of rows that were read."""
        known = sum((1 - side.share) / side.rows.sum() for side in (self._left, self._right))
        found: Reals = np.maximum(self._alone - known, 0.0)
        return found

    @cached_property
    def _of_counts(self) -> Variances:
        """Relative variances of the number of pairs of each group."""
        cells = self._counts / self._counts.sum(axis=(1, 2), keepdims=True)
        return self._moderated(COUNT, cells, self._every).at_least(self._least)

    @cached_property
    def _unit(self) -> Reals:
        """Relative variances of one event: a row that brings all its pairs at once."""
        return np.maximum(self._of_counts.value, self._alone)

    @cached_property
    def _events(self) -> Reals:
        return self._lack / self._unit


def moderated(own: Variances, weights: Reals, common: Reals, guess: tuple[float, float]) -> Variances:
    """Variances of groups, which tell of each other as far as they are alike.

    They are alike as far as they do not differ more than their degrees of freedom let expect. Of what is `common` to
    all groups (rows that match in all of them) each tells the same, so that many do not tell more than one. The `guess`
    is one more group, of this weight.
    """
    expected, weight = guess
    mean = (own.value @ weights + expected * weight) / (weights.sum() + weight)
    if len(weights) == 1 or not mean:
        return Variances(np.full(len(weights), mean), own.degrees)
    shares, degrees = weights / weights.sum(), np.minimum(own.degrees, _MANY)
    groups, typical = 1 / (shares**2).sum(), shares @ degrees
    differ = shares @ (own.value / mean - 1) ** 2 * groups / (groups - 1)
    unlike = max((differ - 2 / typical) / (1 + 2 / typical), 2 / _MANY)
    same = np.divide(common, own.value, out=np.ones(len(weights)), where=own.value > common)
    others = (degrees.sum() - degrees) / (1 + (len(degrees) - 1) * same**2)
    value = (degrees * own.value + 2 / unlike * mean) / (degrees + 2 / unlike)
    return Variances(value, degrees + np.minimum(2 / unlike, others))
