"""Ends of intervals: those of counts for few events, those of a normal distribution for many."""

import math

import numpy as np
import pytest

from sooner.estimation.limits import ends_around, ends_of_scales, ends_of_sums, t_quantile

EVER = np.array([math.inf])


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (31, 2.0395), (math.inf, 1.96)]
)
def test_quantiles_of_student(degrees: float, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("events, high", [(1, 5.572), (2, 7.225), (5, 11.668), (10, 18.390), (20, 30.888)])
def test_counts_have_garwoods_upper_ends(events: int, high: float) -> None:
    assert ends_of_sums(np.array([7.0]), np.array([1 / events]), EVER, 0.95)[1] == pytest.approx(
        7 * high / events, rel=0.005
    )


def test_a_single_event_says_nothing_of_how_few_there_are() -> None:
    low, _ = ends_of_sums(np.array([1.0]), np.array([1.0]), EVER, 0.95)
    assert low == 0


@pytest.mark.parametrize("mean", [0.05, 0.5, 3.0, 8.0])
def test_counts_that_found_anything_hold(mean: float) -> None:
    """Of those alone that have come at least once, as estimates are shown."""
    found = np.random.default_rng(1).poisson(mean, 40_000).astype(float)
    found = found[found > 0][:4000]
    low, high = ends_of_sums(found, 1 / found, np.full(len(found), math.inf), 0.95)
    assert np.mean((low <= mean) & (mean <= high)) > 0.94


def test_many_events_have_the_normal_distributions_ends() -> None:
    values, relative = np.array([50.0]), np.array([1e-6])
    around = ends_around(values, relative * values**2, EVER, 0.95)
    for ends in (ends_of_sums(values, relative, EVER, 0.95), ends_of_scales(values, relative, EVER, 0.95)):
        assert np.concatenate(ends) == pytest.approx(np.concatenate(around), rel=1e-5)
    assert ends_of_sums(values, np.zeros(1), EVER, 0.95) == (values, values)


@pytest.mark.parametrize("relative", [1e-3, 0.1])
def test_what_is_skewed_may_be_further_above_and_no_further_below(relative: float) -> None:
    values, variances = np.array([50.0]), np.array([relative])
    for ends in (ends_of_sums, ends_of_scales):
        low, high = ends(values, variances, EVER, 0.95)
        same, higher = ends(values, variances, EVER, 0.95, skews=np.array([4.0]))
        assert same == low and higher > high


def test_skewed_sums_hold() -> None:
    """Of values of a gamma distribution: twice as skewed as counts of the same relative variance."""
    dice, n = np.random.default_rng(3), 15
    rows = dice.gamma(0.5, 2.0, (4000, n))
    means, relative = rows.mean(axis=1), rows.var(axis=1, ddof=1) / n / rows.mean(axis=1) ** 2
    degrees = np.full(len(rows), n - 1.0)

    def held(skews: float) -> float:
        low, high = ends_of_sums(means, relative, degrees, 0.95, skews)
        return float(np.mean((low <= 1) & (high >= 1)))

    assert held(1.0) < 0.93 < held(2.0)
