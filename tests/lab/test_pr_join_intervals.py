"""PR-Join's figure 14 in small: what a rectangle tells of a sum, and how soon."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sooner.errors import SoonerError
from sooner.estimation.intervals import Shares, variances_of_sums
from sooner.lab.experiments import pr_join_figure_14
from sooner.lab.experiments.pr_join_figure_14 import seconds_to
from sooner.lab.history import History
from sooner.lab.races.pr_join import SSD, PrJoinRace
from sooner.lab.races.pr_join_intervals import (
    ALL_BITS,
    FEW_BITS,
    HALF_INTERVAL,
    IntervalRace,
    Values,
    at_reports,
    variance_of_estimate,
)

SCALE = 50  # a megabyte is one row
PR_JOIN = IntervalRace("pr_join", SSD, stops="never", gigabytes=(2, 2), partitions=4, rows_mb=100, random_bits=FEW_BITS)
RIPPLE = replace(PR_JOIN, algorithm="ripple")


@cache
def small(race: IntervalRace) -> History:
    return race.run(SCALE, 0)


def figure() -> dict[str, History]:
    return {"pr_join": small(PR_JOIN).thinned(), "ripple": small(RIPPLE).thinned()}


# What a rectangle tells


def expected_variance(values: np.ndarray, joined: tuple[int, int]) -> float:
    rows, sums, squares = np.array([len(values)]), values.sum(keepdims=True), (values**2).sum(keepdims=True)
    return float(variance_of_estimate(sums, squares, rows, np.array(joined)[:, None])[0])


def estimates(values: np.ndarray, joined: tuple[int, int], times: int) -> list[tuple[float, float]]:
    """From random rectangles: the sum, and the variance that sooner's own intervals take from it."""
    rng, found, n = np.random.default_rng(5), [], len(values)
    shares = [Shares(np.ones(some), some / n) for some in joined]
    scale = n * n / np.prod(joined)
    for _ in range(times):
        left, right = (rng.permutation(n)[:some] for some in joined)
        cells = np.where(left[:, None] == right, values[right], 0.0)
        variance = variances_of_sums(cells, *shares)
        assert variance is not None
        found.append((scale * cells.sum(), scale**2 * variance.value))
    return found


@pytest.mark.parametrize("joined", [(30, 30), (60, 20), (45, 25)])
def test_the_variance_is_that_of_random_rectangles_and_what_a_sample_of_them_tells(joined: tuple[int, int]) -> None:
    values = np.random.default_rng(1).random(60) + 1
    sums, variances = np.array(estimates(values, joined, times=2000)).T
    expected = expected_variance(values, joined)
    assert sums.mean() == pytest.approx(values.sum(), rel=0.03)
    assert sums.var() == pytest.approx(expected, rel=0.1)
    assert variances.mean() == pytest.approx(expected, rel=0.1)


def test_who_has_joined_everything_is_certain_and_who_has_joined_nothing_is_not() -> None:
    partitions = Values(np.array([3.0, 5, 4]), np.array([5.0, 13, 8]), stands_for=2).by_partition(
        np.array([0, 1, 1]), 2
    )
    assert partitions.sums.tolist() == [3, 9]
    assert partitions.rows.tolist() == [2, 4]
    everything = np.array([partitions.rows] * 2)
    assert partitions.relative_half_interval(everything) == 0
    assert partitions.relative_half_interval(everything * [1, 0]) == 1
    assert 0 < partitions.relative_half_interval(everything - [0, 1]) < 1


def test_values_are_by_pareto_and_the_same_at_every_scale() -> None:
    small, large = (Values.drawn(10**6 // n, n, ALL_BITS, seed=0) for n in (100, 1000))
    assert small.sums.sum() / 10**6 == pytest.approx(3, rel=0.05)
    assert small.squares.sum() == pytest.approx(large.squares.sum())
    few = Values.drawn(10**4, 100, FEW_BITS, seed=0)
    assert few.squares.max() < 100 * 1024**2
    each = (np.arange(1, 2**FEW_BITS + 1) / 2**FEW_BITS) ** (-1 / 1.5)
    assert each.max() == pytest.approx(1024)
    assert few.squares.sum() / 10**6 == pytest.approx((each**2).mean(), rel=0.2)


# Races


def test_a_race_is_that_of_figure_10_and_it_ends_with_certainty() -> None:
    for race in (PR_JOIN, RIPPLE):
        plain = PrJoinRace(race.algorithm, SSD, stops="never", gigabytes=(2, 2), partitions=4, rows_mb=100)
        history, other = small(race), plain.run(SCALE, 0)
        assert history.end_seconds == other.end_seconds
        assert history.events == other.events
        intervals = history.columns[HALF_INTERVAL]
        assert intervals[0] == 1
        assert intervals[-1] == 0
        assert intervals[len(intervals) // 2] > 0


def test_an_interval_gets_narrower_with_each_report_and_at_no_other_time() -> None:
    history = small(RIPPLE)
    intervals = history.columns[HALF_INTERVAL]
    waiting = intervals[history.columns["seconds"] > 10]
    assert (np.diff(waiting) <= 1e-12).all()
    assert len(np.unique(waiting)) <= history.events["Merged"] + 1


def test_what_is_found_at_the_end_of_a_task_is_not_there_before() -> None:
    history = small(RIPPLE)
    columns = {"seconds": np.array([0.0, 1, 3]), "results": np.array([0.0, 1, 3]), HALF_INTERVAL: np.array([1, 0.5, 0])}
    stepped = at_reports(replace(history, columns=columns, phases=("arriving",) * 3))
    assert [stepped.at(at, HALF_INTERVAL) for at in (0.9, 1.1, 2.9, 3)] == [1, 0.5, 0.5, 0]
    assert stepped.at(2, "results") == 2
    assert seconds_to(0.5)(stepped) == 1


def test_pr_join_is_there_sooner_than_ripple_and_ripple_is_not() -> None:
    true = figure()
    swapped = {"pr_join": true["ripple"], "ripple": true["pr_join"]}
    [_, claim] = pr_join_figure_14.EXPERIMENTS[0].claims
    seconds = [seconds_to(0.001)(true[name]) for name in ("pr_join", "ripple")]
    assert seconds[0] < seconds[1] / 1.2
    assert claim.quantity.read(swapped).verdict == "does not hold"


def test_experiments_judge_their_claims() -> None:
    for experiment in pr_join_figure_14.EXPERIMENTS:
        report = experiment.report(SCALE, {0: figure()}, {}, code="")
        assert all(told["ours"] for told in (*report.claims, *report.measurements))


def test_a_scale_that_leaves_no_row_of_a_megabyte_is_refused() -> None:
    with pytest.raises(SoonerError, match="scale=3"):
        PR_JOIN.run(3, 0)
