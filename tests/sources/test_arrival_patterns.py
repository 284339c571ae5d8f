"""Arrival patterns: bounds, moments, and that the same seed always gives the same times."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sooner.errors import InvalidCall
from sooner.sources import (
    ArrivalPattern,
    Exponential,
    Fixed,
    Fragments,
    ParetoBursts,
    Pauses,
    ZipfGaps,
    arrival_times,
)
from sooner.sources.arrival_patterns import ArrivalSchedule

MANY_ROWS = 200_000

PATTERNS = [
    Fixed(0.001),
    Exponential(0.010),
    ZipfGaps(),
    ParetoBursts(mean_burst_rows=20),
    Fragments(rows_per_fragment=7, mean_gap_seconds=0.010, delay_share=0.5),
    Pauses(Exponential(0.010), every_rows=4, seconds=1.0),
    Pauses(Fragments(rows_per_fragment=6, mean_gap_seconds=0.010, delay_share=0.5), every_rows=4, seconds=1.0),
]


def draw(pattern: ArrivalPattern, rows: int = MANY_ROWS, seed: int = 1) -> np.ndarray:
    return pattern.gaps(rows, np.random.default_rng(seed))


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
class TestEveryPattern:
    def test_gives_a_gap_of_finite_seconds_for_every_row(self, pattern: ArrivalPattern) -> None:
        gaps = draw(pattern, 10_000)
        assert gaps.shape == (10_000,)
        assert gaps.dtype == np.float64
        assert np.isfinite(gaps).all()
        assert (gaps >= 0).all()

    def test_is_decided_by_its_seed(self, pattern: ArrivalPattern) -> None:
        again = arrival_times(pattern, 1_000, seed=5)
        np.testing.assert_array_equal(arrival_times(pattern, 1_000, seed=5), again)
        if not isinstance(pattern, Fixed):
            assert (arrival_times(pattern, 1_000, seed=6) != again).any()

    @given(pieces=st.lists(st.integers(0, 40), max_size=12), seed=st.integers(0, 2**32))
    def test_gives_the_same_times_in_pieces_as_at_once(
        self, pattern: ArrivalPattern, pieces: list[int], seed: int
    ) -> None:
        schedule = ArrivalSchedule(pattern, seed)
        in_pieces = [time for rows in pieces for time in schedule.next(rows)]
        assert in_pieces == arrival_times(pattern, sum(pieces), seed).tolist()

    def test_first_row_arrives_at_once_and_time_never_runs_back(self, pattern: ArrivalPattern) -> None:
        times = arrival_times(pattern, 1_000, seed=2)
        assert times[0] == 0
        assert (np.diff(times) >= 0).all()

    def test_no_rows_have_no_times(self, pattern: ArrivalPattern) -> None:
        assert arrival_times(pattern, 0, seed=0).size == 0


def test_fixed_gaps_are_all_the_same() -> None:
    np.testing.assert_allclose(arrival_times(Fixed(0.25), 4, seed=0), [0, 0.25, 0.5, 0.75])


def test_exponential_gaps_have_mean_and_deviation_alike() -> None:
    gaps = draw(Exponential(0.010))
    assert gaps.mean() == pytest.approx(0.010, rel=0.02)
    assert gaps.std() == pytest.approx(0.010, rel=0.02)


def test_zipf_gaps_of_rpj_are_whole_milliseconds_from_1_to_30() -> None:
    gaps = draw(ZipfGaps())
    milliseconds = np.rint(gaps * 1_000)
    np.testing.assert_allclose(gaps * 1_000, milliseconds, atol=1e-9)
    assert set(milliseconds.astype(int)) == set(range(1, 31))


def test_zipf_gaps_follow_their_law() -> None:
    harmonic = sum(1 / k for k in range(1, 31))
    gaps = draw(ZipfGaps())
    assert gaps.mean() == pytest.approx(0.030 / harmonic, rel=0.02)
    counts = np.bincount(np.rint(gaps * 1_000).astype(int), minlength=31)[1:]
    expected = MANY_ROWS / harmonic / np.arange(1, 31)
    # Chi-square with 29 degrees of freedom: 58.3 is passed once in a thousand seeds; the seed is fixed.
    assert ((counts - expected) ** 2 / expected).sum() < 58.3


def test_zipf_without_skew_is_uniform() -> None:
    assert draw(ZipfGaps(0.001, 0.009, skew=0)).mean() == pytest.approx(0.005, rel=0.01)


def test_zipf_with_one_step_is_fixed() -> None:
    assert set(draw(ZipfGaps(0.002, 0.003))) == {0.002}


def test_pareto_bursts_have_the_asked_length_and_pauses() -> None:
    pattern = ParetoBursts(gap_seconds=0.001, mean_burst_rows=10, shortest_pause_seconds=0.5, shape=2.5)
    gaps = draw(pattern)
    pauses = gaps[gaps != 0.001]
    assert pauses.size == pytest.approx(MANY_ROWS / 10, rel=0.03)
    assert pauses.min() >= 0.5
    assert pauses.mean() == pytest.approx(0.5 * 2.5 / 1.5, rel=0.03)
    # The tail, where Pareto differs from everything tame: P(pause > 4 x shortest) = 4 ** -shape.
    assert (pauses > 2.0).mean() == pytest.approx(4**-2.5, rel=0.15)


def test_bursts_of_one_row_are_plain_pareto_gaps() -> None:
    gaps = draw(ParetoBursts(mean_burst_rows=1, shortest_pause_seconds=0.001, shape=3.0))
    assert gaps.min() >= 0.001
    assert np.median(gaps) == pytest.approx(0.001 * 2 ** (1 / 3), rel=0.01)


def test_fragments_of_diner_wait_for_a_share_of_their_own_transmission_time() -> None:
    gaps = draw(Fragments(rows_per_fragment=10_000, mean_gap_seconds=0.010, delay_share=0.5), 100_000)
    undelayed = draw(Exponential(0.010), 100_000)
    delays = (gaps - undelayed).reshape(10, 10_000)
    assert (delays[:, :-1] == 0).all()
    np.testing.assert_allclose(delays[:, -1], 0.5 * undelayed.reshape(10, 10_000).sum(axis=1))


def test_an_unfinished_fragment_has_no_delay() -> None:
    pattern = Fragments(rows_per_fragment=100, mean_gap_seconds=0.010, delay_share=1000.0)
    np.testing.assert_array_equal(draw(pattern, 99), draw(Exponential(0.010), 99))


def test_pauses_come_after_every_so_many_rows() -> None:
    times = arrival_times(Pauses(Fixed(1.0), every_rows=3, seconds=10.0), 7, seed=0)
    assert times.tolist() == [0, 1, 2, 13, 14, 15, 26]


def test_pauses_leave_the_gaps_of_the_inner_pattern_alone() -> None:
    class Remembering:
        cycle_rows = 1
        given = np.ones(10)

        def gaps(self, rows: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
            return self.given

    draw(Pauses(Remembering(), every_rows=2, seconds=5.0), 10)
    assert (Remembering.given == 1).all()


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: Fixed(-1), "Fixed gap_seconds is -1"),
        (lambda: Fixed(math.nan), "Fixed gap_seconds is nan"),
        (lambda: Exponential(math.inf), "Exponential mean_seconds is inf"),
        (lambda: ZipfGaps(0), "ZipfGaps shortest_seconds is 0"),
        (lambda: ZipfGaps(0.2, 0.1), "ZipfGaps longest_seconds is 0.1"),
        (lambda: ZipfGaps(skew=-1), "ZipfGaps skew is -1"),
        (lambda: ParetoBursts(shape=0), "ParetoBursts shape is 0"),
        (lambda: ParetoBursts(mean_burst_rows=0.5), "ParetoBursts mean_burst_rows is 0.5"),
        (lambda: Fragments(0, 0.01, 0.5), "Fragments rows_per_fragment is 0"),
        (lambda: Fragments(10, 0.01, -0.5), "Fragments delay_share is -0.5"),
        (lambda: Pauses(Fixed(1), 0, 1), "Pauses every_rows is 0"),
        (lambda: Pauses(0.5, 10, 1), "Pauses inner is 0.5"),
        (lambda: arrival_times("often", 1, seed=0), "arrival pattern is 'often'"),
        (
            lambda: ArrivalSchedule(Pauses(Fragments(10_000, 0.01, 0.5), 9_999, 1), seed=0),
            "repeats only after 99,990,000 rows",
        ),
    ],
)
def test_nonsense_is_refused_by_name(make: object, culprit: str) -> None:
    with pytest.raises(InvalidCall, match=culprit):
        make()
