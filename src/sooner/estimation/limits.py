"""From a value and its relative variance to the two ends of an interval, for many values at once.

The fewer rows an estimate comes from, the more it matters that low estimates come with low variances: an interval of
so and so much to both sides would then lie too low. So ends of what is never negative are those of counts and scales.
"""

import math
from statistics import NormalDist
from typing import Final

import numpy as np

from sooner.kernels.folding import Reals

CERTAIN: Final = 1e-24  # a relative variance that is none
WIDE: Final = 0.1  # half of an interval over its value, from where on logarithms are better
SMALL: Final = 10  # of events: so few may have come by luck, else nothing would be shown
LUCK: Final = 1e-6  # a share that is none
_TURNS: Final = 4
_MOST: Final = 300.0  # the exponential of far more is no number

Ends = tuple[Reals, Reals]


def ends_of_sums(values: Reals, relative: Reals, degrees: Reals, confidence: float, skews: Reals | float = 1.0) -> Ends:
    """Intervals of sums of values that are never negative, such as counts, taken as so many random *events*.

    Garwood's limits of Poisson's distribution (Biometrika 1936) in the form of Wilson, Hilferty and Byar. The lower one
    takes half of what came last for luck (Rothman and Boice 1979). And since of nothing nothing is shown, it is the one
    among such that found anything: only a share 1 - exp(-low) of them does, and it is those that may miss.

    `skews` is how many times as skewed as such counts they are: the upper limit is one of fewer events, at the same
    variance. The lower one is not: few parts may show skew where there is none.
    """
    deviations = np.sqrt(np.maximum(relative, CERTAIN))
    tail = (1 - confidence) / 2
    t = t_quantiles(1 - tail, degrees)
    events, fewer = 1 / deviations**2, 1 / (deviations * skews) ** 2
    low, high = _limit(events + 0.5, -t), _limit(fewer + 1, t)
    for at in np.flatnonzero(events < SMALL):
        for _ in range(_TURNS):
            shown = -math.expm1(-float(low[at]))
            less = _limit(events[at] + 0.5, -t_quantile(1 - tail * shown, float(degrees[at]))) if shown > LUCK else 0.0
            low[at] = less
    is_certain = relative <= CERTAIN
    above = 1 + deviations * (high - fewer) / np.sqrt(fewer)
    return np.where(is_certain, values, values * low / events), np.where(is_certain, values, values * above)


def ends_of_scales(
    values: Reals, relative: Reals, degrees: Reals, confidence: float, shift: float = 0.0, skews: Reals | float = 0.0
) -> Ends:
    """Intervals of values that are never negative and do not grow with the inputs; wide ones are logarithmic.

    `shift` is how much larger it is likely to be than it seems: times the relative variance. `skews` say the same of
    each, as third moments over squared variances (N. J. Johnson's modified t, JASA 1978); logarithms have some of it.
    """
    half, z = t_quantiles((1 + confidence) / 2, degrees) * np.sqrt(relative), NormalDist().inv_cdf((1 + confidence) / 2)
    is_wide = half > WIDE
    by_skew = np.maximum((1 + 2 * z**2) / 6 * skews - np.where(is_wide, z**2 / 2, 0.0), 0.0)
    below, above = shift * relative - half, (shift + by_skew) * relative + half
    low, high = np.exp(np.maximum(below, -_MOST)), np.exp(np.minimum(above, _MOST))
    return values * np.where(is_wide, low, 1 + below), values * np.where(is_wide, high, 1 + above)


def ends_around(values: Reals, variances: Reals, degrees: Reals, confidence: float) -> Ends:
    """Intervals of any values, as wide to both sides."""
    half = t_quantiles((1 + confidence) / 2, degrees) * np.sqrt(variances)
    return values - half, values + half


def _limit(events: Reals, t: Reals | float) -> Reals:
    found: Reals = events * np.maximum(1 - 1 / (9 * events) + t / (3 * np.sqrt(events)), 0.0) ** 3
    return found


def t_quantiles(probability: float, degrees: Reals) -> Reals:
    """Quantiles of Student's t; NaN where there are no degrees of freedom."""
    return np.array([t_quantile(probability, one) if one > 0 else math.nan for one in degrees.tolist()])


def t_quantile(probability: float, degrees: float) -> float:
    """A quantile of Student's t (G. W. Hill, Algorithm 396, CACM 1970), to six digits from two degrees of freedom on.

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
