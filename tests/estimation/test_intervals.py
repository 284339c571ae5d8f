"""Variances of sums over rectangles of random rows: without bias, and gone with what they come from."""

import math

import numpy as np
import pytest

from sooner.estimation.intervals import (
    Keys,
    Shares,
    Variances,
    thirds_of_sums,
    unseen,
    variances_of_ratios,
    variances_of_sums,
)

TAGS = 8


def test_the_variance_is_without_bias() -> None:
    """Of a table of pairs, random rows and columns are taken many times: mean of estimates, variance of sums."""
    dice = np.random.default_rng(1)
    pairs = (dice.random((60, 50)) < 0.3) * dice.gamma(1.0, 2.0, (60, 50)) + dice.normal(size=(60, 1)) ** 2
    n, m = 24, 16
    sums, variances = [], []
    left, right = Shares(np.full(TAGS, n / TAGS), n / 60), Shares(np.full(TAGS, m / TAGS), m / 50)
    for _ in range(4_000):
        some = pairs[np.ix_(dice.permutation(60)[:n], dice.permutation(50)[:m])]
        cells = some.reshape(n // TAGS, TAGS, m // TAGS, TAGS).sum(axis=(0, 2))
        found = variances_of_sums(cells, left, right)
        assert found is not None
        sums.append(cells.sum())
        variances.append(found.value)
    assert np.mean(variances) == pytest.approx(np.var(sums), rel=0.06)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_third_moment_is_without_bias_and_changes_its_sign(share: float) -> None:
    """Of one input that came in part; the other has come as a whole."""
    dice = np.random.default_rng(6)
    rows = dice.gamma(1.0, 2.0, 80)
    n = round(80 * share)
    left, right = Shares(np.full(TAGS, n / TAGS), share), Shares(np.full(TAGS, 1.0), 1.0)
    sums, thirds = [], []
    for _ in range(20_000):
        cells = np.outer(dice.permutation(rows)[:n].reshape(TAGS, -1).sum(axis=1), np.full(TAGS, 1 / TAGS))
        sums.append(cells.sum())
        thirds.append(float(thirds_of_sums(cells, left, right)))
    expected = float(np.mean((sums - np.mean(sums)) ** 3))
    assert np.mean(thirds) == pytest.approx(expected, rel=0.25, abs=0.05 * float(np.var(sums)) ** 1.5)
    assert math.copysign(1, 0.5 - share) * np.mean(thirds) >= -1e-9


def test_an_input_that_has_come_as_a_whole_adds_nothing() -> None:
    cells = np.random.default_rng(2).random((TAGS, TAGS))
    rows = np.full(TAGS, 10.0)
    whole, half = Shares(rows, 1.0), Shares(rows, 0.5)
    nothing, both = variances_of_sums(cells, whole, whole), variances_of_sums(cells, half, half)
    one = variances_of_sums(cells, whole, half)
    assert nothing is not None and one is not None and both is not None
    assert nothing.value == 0 and nothing.degrees == math.inf
    assert 0 < one.value < both.value


def test_sizes_of_parts_do_not_matter_by_themselves() -> None:
    """A part twice as large has twice the sum: nothing to be unsure of."""
    rows = np.array([1.0, 2.0, 3.0, 4.0])
    found = variances_of_sums(np.outer(rows, rows), Shares(rows, 0.1), Shares(rows, 0.1))
    assert found is not None and found.value == pytest.approx(0, abs=1e-9)


def test_too_little_was_read_to_say() -> None:
    """What was found does not matter."""
    cells = np.zeros((TAGS, TAGS))
    cells[0, 0] = 1.0
    rows = np.array([10.0, 10.0, *[0.0] * (TAGS - 2)])
    few, half = Shares(rows, 0.5), Shares(np.full(TAGS, 10.0), 0.5)
    assert variances_of_sums(cells, few, half) is None
    assert variances_of_ratios(cells, cells, half, few) is None
    assert variances_of_sums(cells, half, half) is not None


def test_one_part_with_nearly_all_pairs_says_nothing_of_a_ratio() -> None:
    cells = np.random.default_rng(4).normal(size=(2, TAGS, TAGS))
    pairs, half = np.ones((2, TAGS, TAGS)), Shares(np.full(TAGS, 10.0), 0.5)
    pairs[1, 0] = 1000.0
    found = variances_of_ratios(cells, pairs, half, half)
    assert found is not None and np.isnan(found.value).tolist() == [False, True]


def test_many_groups_are_as_each_for_itself() -> None:
    dice = np.random.default_rng(7)
    cells, some, half = dice.random((3, TAGS, TAGS)), Shares(dice.random(TAGS), 0.2), Shares(np.ones(TAGS), 0.5)
    together = variances_of_sums(cells, some, half)
    assert together is not None
    for at, one in enumerate(cells):
        alone = variances_of_sums(one, some, half)
        assert alone is not None and (alone.value, alone.degrees) == (together.value[at], together.degrees[at])


def test_the_variance_is_never_below_the_part_of_both_inputs_and_known_better_there() -> None:
    """Of cells that differ by themselves alone it often would be: rows and columns are made to add up to the same."""
    cells = np.random.default_rng(5).normal(size=(TAGS, TAGS))
    half = Shares(np.full(TAGS, 10.0), 0.5)
    apart = cells - cells.mean(axis=0) - cells.mean(axis=1, keepdims=True) + cells.mean()
    found = variances_of_sums(apart, half, half)
    assert found is not None and found.degrees == math.inf
    assert found.value == pytest.approx(0.25 * TAGS**2 / (TAGS - 1) ** 2 * (apart**2).sum())


def test_repeated_keys_are_told_by_parts_of_the_keys() -> None:
    dice = np.random.default_rng(6)
    weights = 1 / np.arange(1, 5001)
    rows = np.bincount(dice.choice(5000, 20_000, p=weights / weights.sum()))
    part_of_key = dice.integers(0, 1024, len(rows))
    keys = Keys(np.bincount(part_of_key, rows, 1024), 20_000)
    assert keys.repeats(20_000) == pytest.approx((rows**2).sum() / rows.sum(), rel=0.2)
    once = Keys(np.bincount(part_of_key, minlength=1024).astype(float), 5000)
    assert once.repeats(5000) == 1


def test_what_was_not_seen_is_told_by_the_keys_of_the_other_input() -> None:
    """Sums of tags are all alike, though half of the left rows have one key."""
    cells, rows = np.ones((TAGS, TAGS)), np.full(TAGS, 100.0)
    hot, even = np.full(1024, 0.5), np.full(1024, 1.0)
    hot[0] = 512
    half, whole = Shares(rows, 0.5), Shares(rows, 1.0)
    keys = Keys(hot, 1024), Keys(even, 1024)
    lacking = unseen(cells, 64, (half, half), keys)
    assert lacking > 0 and unseen(cells, 64, (half, whole), keys) < lacking


def test_what_is_added_without_doubt_is_known_well() -> None:
    found = Variances(np.array([2.0, 0.0]), np.array([10.0, math.inf])).and_more(2.0)
    assert found.value.tolist() == [4.0, 2.0] and found.degrees.tolist() == [40.0, math.inf]
