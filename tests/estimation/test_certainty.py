"""Groups tell of each other how sure they are, as far as they are alike."""

import math

import numpy as np
import pytest

from sooner.estimation.certainty import COUNT, SUM, Certainty, Found, moderated
from sooner.estimation.intervals import Shares, Variances

TAGS = 4
NO_GUESS = (0.0, 0.0)


def test_groups_that_are_alike_have_one_variance_which_is_known_well() -> None:
    dice = np.random.default_rng(1)
    own = Variances(dice.chisquare(3, 300) / 3, np.full(300, 3.0))
    found = moderated(own, np.ones(300), np.zeros(300), NO_GUESS)
    assert np.abs(found.value - 1).mean() < 0.3 * np.abs(own.value - 1).mean()
    assert found.degrees.min() > 20


def test_groups_that_are_not_alike_stay_as_they_are() -> None:
    own = Variances(np.array([1.0, 100.0] * 50), np.full(100, 31.0))
    found = moderated(own, np.ones(100), np.zeros(100), NO_GUESS)
    assert found.value[1] > 90 and found.degrees[1] < 40


def test_what_is_common_to_all_groups_is_told_once() -> None:
    own = Variances(np.ones(100), np.full(100, 3.0))
    assert moderated(own, np.ones(100), np.ones(100), NO_GUESS).degrees == pytest.approx(np.full(100, 6.0), rel=0.02)


def test_a_guess_counts_while_little_is_known() -> None:
    few, many = np.array([1.0]), np.array([1e4])
    own = Variances(np.zeros(1), np.ones(1))
    assert moderated(own, few, np.zeros(1), (2.0, 1.0)).value == 1
    assert moderated(own, many, np.zeros(1), (2.0, 1.0)).value < 1e-3


def certainty(pairs: np.ndarray, share: float = 0.1) -> Certainty:
    rows = Shares(np.full(TAGS, 1000.0), share)
    return Certainty(Found(pairs, pairs / share**2, rows, rows, 0.0), 0.95)


def test_there_are_intervals_of_all_groups_or_of_none() -> None:
    pairs = np.zeros((20, TAGS, TAGS))
    pairs[:, 0, 0] = 1
    assert not certainty(pairs).says_something
    pairs[0] = 10  # so much of one group that there are enough for all
    assert certainty(pairs).says_something
    assert certainty(pairs[1:2]).says_something  # without groups any pair will do


def test_ends_of_a_group_of_one_pair() -> None:
    pairs = np.random.default_rng(2).poisson(1.0, (50, TAGS, TAGS)).astype(float)
    pairs[0], pairs[0, 1, 2] = 0, 1
    here = certainty(pairs)
    at = np.arange(50)
    totals = 100 * pairs.sum(axis=(1, 2))
    low, high = here.of_positive(COUNT, totals, 100 * pairs, at)
    assert low[0] < 5 and 400 < high[0] < 1000
    assert np.all(low < totals) and np.all(totals < high)
    wider = here.of_positive(SUM, totals, 100 * pairs, at)
    assert np.all(wider[1][0] >= high[0])


def test_nothing_is_said_of_values_that_are_all_equal_until_there_are_many() -> None:
    pairs = np.zeros((1, TAGS, TAGS))
    pairs[0, [0, 1, 2], [0, 1, 2]] = 1
    low, _ = certainty(pairs).of_any(np.array([3.0]), np.zeros((1, TAGS, TAGS)), np.array([0]), grow=False)
    assert math.isnan(low[0])
    many = np.full((1, TAGS, TAGS), 100.0)
    low, _ = certainty(many).of_any(np.array([3.0]), np.zeros((1, TAGS, TAGS)), np.array([0]), grow=False)
    assert low[0] == 3


def test_a_foreign_key_is_not_held_for_less_sure_than_it_is() -> None:
    """Each of 8,000 left rows has its one of 2,000 right rows: only which of these came is left to chance."""
    dice = np.random.default_rng(3)
    keys, n, m = dice.integers(0, 2000, 8000), 1000, 1000
    relative, found = [], []
    for _ in range(60):
        here = np.isin(keys[dice.permutation(8000)[:n]], dice.permutation(2000)[:m])
        pairs = np.zeros((1, TAGS, TAGS))
        np.add.at(pairs[0], (np.arange(n)[here] % TAGS, dice.integers(0, TAGS, here.sum())), 1.0)
        found.append(here.sum())
        rows = Shares(np.full(TAGS, n / TAGS), n / 8000), Shares(np.full(TAGS, m / TAGS), m / 2000)
        relative.append(Certainty(Found(pairs, pairs, *rows, 0.0), 0.95)._least[0])
    assert np.max(relative) < np.var(found) / np.mean(found) ** 2


def test_what_is_certain_has_no_skew() -> None:
    """Each part has as many pairs as its rows let expect: nothing is divided by nothing."""
    pairs = np.full((1, TAGS, TAGS), 1e6)
    here = certainty(pairs)
    total = pairs.sum(axis=(1, 2))
    with np.errstate(all="raise"):
        low, high = here.of_positive(COUNT, total, pairs, np.array([0]))
    assert low <= total <= high
