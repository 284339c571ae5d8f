"""Sums over pairs of equal codes, against pairs that are spelled out."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sooner.kernels.folding import (
    ABSENT,
    Ages,
    Factors,
    Operand,
    Sums,
    as_reals,
    integers_of_moments,
    totals,
    with_absent,
)
from sooner.sides import LEFT, RIGHT, SIDES, opposite

TAGS = 8


def side(dice: np.random.Generator, keys: int, rows: int, groups: int, mine: int) -> Operand:
    codes = np.sort(dice.integers(0, keys, rows).astype(np.uint64))
    numbers = dice.integers(0, groups, rows).astype(np.int32) if groups > 1 else None
    wholes = [None, dice.integers(-(2**40), 2**40, rows)]
    tags = dice.integers(0, 32, rows).astype(np.int32)
    numbers_of = [dice.normal(1e15, 1e3, rows), None] if mine == LEFT else [None, dice.integers(2**62, 2**63 - 1, rows)]
    return Operand(codes, Factors(tags, numbers, wholes, [dice.normal(size=rows), None], numbers_of))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("keys", [1, 3, 50, 5_000])  # from one hot code to hardly any that match
@pytest.mark.parametrize("aged", [False, True])
def test_runs_are_folded_as_their_pairs_are(keys: int, aged: bool) -> None:
    dice = np.random.default_rng(keys)
    lefts, rights = side(dice, keys, 700, 2, LEFT), side(dice, keys, 400, 3, RIGHT)
    (left_codes, left), (right_codes, right) = lefts, rights
    ages: tuple[Ages | None, Ages | None] = (None, None)
    at_left, at_right = map(np.ascontiguousarray, np.nonzero(left_codes[:, None] == right_codes[None, :]))
    if aged:
        of_left, of_right = (dice.integers(0, 3, rows).astype(np.uint8) for rows in (700, 400))
        ages = of_left, of_right
        a, b = of_left[at_left], of_right[at_right]
        is_open = (a != 2) & (b != 2) & ~((a == 1) & (b == 1))
        at_left, at_right = at_left[is_open], at_right[is_open]
    folded, spelled_out = Sums(2, 2, TAGS, (2, 3), 2), Sums(2, 2, TAGS, (2, 3), 2)
    folded.fold_runs(lefts, rights, ages)
    spelled_out.fold_pairs(left, right, at_left, at_right)
    assert np.array_equal(folded.wholes, spelled_out.wholes)
    assert np.allclose(folded.reals, spelled_out.reals)
    assert left.wholes[1] is not None and right.wholes[1] is not None
    exact = sum(int(left.wholes[1][i]) * int(right.wholes[1][j]) for i, j in zip(at_left, at_right, strict=True))
    assert totals(folded.wholes[:, :, 1]).sum() == exact
    assert as_reals(folded.wholes[:, :, 1]).sum() == pytest.approx(exact, rel=1e-9, abs=1e24)
    assert left.numbers[0] is not None and right.numbers[1] is not None
    for at, values in enumerate((left.numbers[0][at_left], right.numbers[1][at_right])):
        expected = exact_moments(values.tolist())
        assert moments_in(folded, at) == moments_in(spelled_out, at) == expected


def exact_moments(values: Sequence[int | float]) -> tuple[Fraction, Fraction]:
    return sum(map(Fraction, values), Fraction(0)), sum((Fraction(one) ** 2 for one in values), Fraction(0))


def moments_in(sums: Sums, at: int) -> tuple[Fraction, Fraction]:
    found = integers_of_moments(sums.moments[:, :, at])
    assert found is not None
    unit = Fraction(2) ** (64 * found[2])
    return int(found[0].sum()) * unit, int(found[1].sum()) * unit**2


@pytest.mark.parametrize("rows", [3, 6_000])  # pair by pair, and where the rows of each side are added up first
@pytest.mark.parametrize("factors", [(2**63 - 1, 2**63 - 1), (-(2**63), 2**63 - 1), (-(2**63), -(2**63))])
def test_sums_of_the_largest_numbers_do_not_run_over(rows: int, factors: tuple[int, int]) -> None:
    one, other = (one_key(rows, wholes=[np.full(rows, factor)]) for factor in factors)
    sums = Sums(1, 0, 1)
    sums.fold_runs(one, other)
    expected = rows**2 * factors[0] * factors[1]
    assert totals(sums.wholes).sum() == expected
    assert as_reals(sums.wholes).sum() == float(expected)
    sums.add(sums)
    assert totals(sums.wholes).sum() == 2 * expected


def test_sums_change_their_sign_and_come_back() -> None:
    values = np.array([2**63 - 1, -(2**63), -(2**63), 2**63 - 1, 5, -7], np.int64)
    sums = Sums(1, 0, 1)
    for one, other in zip(values, values[::-1], strict=True):
        sums.fold_runs(one_key(1, wholes=[np.array([one])]), one_key(1, wholes=[np.array([other])]))
    assert totals(sums.wholes).sum() == sum(int(a) * int(b) for a, b in zip(values, values[::-1], strict=True))


def one_key(rows: int, **factors: Any) -> Operand:
    given = {"wholes": [], "reals": [], "numbers": []} | factors
    return Operand(np.zeros(rows, np.uint64), Factors(np.zeros(rows, np.int32), None, **given))


HOSTILE = {
    "large and near each other": [1e15 + 0.125 * one for one in range(8)],
    "one that is off by its last bit": [1.0] * 90 + [math.nextafter(1.0, 2.0)],
    "huge": [1e150, -1e150, 3e149],
    "too large for a square": [1e300, -3e299],
    "tiny": [5e-324, 1e-310, -1e-300],
    "of all sizes": [1e200, 1.0, -1e-200, 0.0, -0.0],  # those that are far smaller change nothing that anyone could see
    "growing": [2.0**one for one in range(-20, 20)],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("rows", [1, 5_000])
def test_moments_of_doubles_are_exact(name: str, rows: int) -> None:
    values = HOSTILE[name]
    one, other = one_key(len(values), numbers=[np.array(values)]), one_key(rows, numbers=[None])
    sums = Sums(0, 0, 1, n_moments=1)
    sums.fold_runs(one, other)
    found, expected = moments_in(sums, 0), exact_moments(values)
    if name == "of all sizes":
        assert all(abs(mine - rows * all_) < abs(all_) / 2**100 for mine, all_ in zip(found, expected, strict=True))
    else:
        assert found == (rows * expected[0], rows * expected[1])


def test_infinity_and_nan_leave_no_moments() -> None:
    for value in (math.inf, -math.inf, math.nan):
        sums, more = Sums(0, 0, 1, n_moments=1), Sums(0, 0, 1, n_moments=1)
        sums.fold_runs(one_key(3, numbers=[np.array([1.0, value, 2.0])]), one_key(1, numbers=[None]))
        more.add(sums)
        assert integers_of_moments(sums.moments) is None and integers_of_moments(more.moments) is None


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, 2.0, -1.0]


def special(dice: np.random.Generator, rows: int) -> Operand:
    """Of few kinds and few tags, so that sums of each kind come about; a fourth is not there."""
    among = dice.permutation(SPECIAL)[: dice.integers(1, 4)]
    reals = np.where(dice.random(rows) < 0.25, ABSENT, dice.choice(among, rows))
    if dice.random() < 0.2:
        reals[:] = ABSENT
    tags = dice.integers(0, 2, rows).astype(np.int32)
    return Operand(np.zeros(rows, np.uint64), Factors(tags, None, [], [reals, None], [reals]))


@pytest.mark.parametrize("rows", [4, 80])  # pair by pair, and where the rows of each side are added up first
@pytest.mark.parametrize("aged", [False, True])
def test_what_is_absent_adds_nothing_to_what_is_not_finite(rows: int, aged: bool) -> None:
    dice = np.random.default_rng(rows)
    for case in range(150 if rows < 10 else 30):  # plain Python goes through all pairs
        left, right = special(dice, rows), special(dice, rows)
        right = right._replace(factors=replace(right.factors, numbers=[None]))
        ages = [dice.integers(0, 3, rows).astype(np.uint8) if aged and dice.random() < 0.8 else None for _ in SIDES]
        sums = Sums(0, 2, 2, n_moments=1)
        sums.fold_runs(left, right, (ages[0], ages[1]))
        expected, not_finite = np.zeros((2, 2, 2)), np.zeros((2, 2), np.bool_)
        for i, j in itertools.product(range(rows), range(rows)):
            of_pair = [0 if age is None else age[at] for age, at in zip(ages, (i, j), strict=True)]
            if 2 in of_pair or 0 not in of_pair:
                continue
            cell = left.factors.tags[i], right.factors.tags[j]
            a, b = (one.factors.reals[0][at] for one, at in ((left, i), (right, j)))  # type: ignore[index]
            if not is_absent(a):
                not_finite[cell] |= not math.isfinite(a)
            with np.errstate(invalid="ignore"):
                if not is_absent(a) and not is_absent(b):
                    expected[(0, *cell)] += a * b
        assert np.array_equal(sums.reals[0, 0, 0], expected[0], equal_nan=True), f"case {case}"
        found = [[integers_of_moments(sums.moments[0, 0, 0, one, other]) is None for other in (0, 1)] for one in (0, 1)]
        assert found == not_finite.tolist(), f"case {case}"


def is_absent(value: np.float64) -> bool:
    return value.tobytes() == ABSENT.tobytes()


def test_no_nan_of_data_is_absent() -> None:
    values = np.array([1.0, ABSENT, math.nan, -math.inf])
    assert not any(map(is_absent, with_absent(values, None)))
    some = with_absent(values, np.array([True, True, False, False]))
    assert [is_absent(one) for one in some] == [False, False, True, True] and math.isnan(some[1])


def test_infinities_are_added_without_a_word() -> None:
    for one, other in ((math.inf, -math.inf), (1e308, 1e308)):
        sums, more = Sums(0, 1, 2), Sums(0, 1, 2)
        sums.reals[:], more.reals[:] = one, other
        sums.add(more)
        sums.add_at((np.zeros((1, 1), int), np.zeros((1, 1), int)), more)
        sums.halve_tags()
        assert not np.isfinite(sums.reals).any()


def test_more_groups_and_fewer_tags_change_no_sum() -> None:
    dice = np.random.default_rng(5)
    left, right = side(dice, 20, 300, 2, LEFT), side(dice, 20, 200, 1, RIGHT)
    sums = Sums(2, 2, TAGS, (2, 1), 2)
    sums.fold_runs(left, right)
    before = [totals(sums.wholes[group, 0, 1]) for group in (0, 1)], sums.reals.sum(axis=(3, 4))
    moments_before = [moments_in(sums, at) for at in (0, 1)]
    sums.grow((4, 2))
    sums.halve_tags()
    assert [totals(sums.wholes[group, 0, 1]) for group in (0, 1)] == before[0]
    assert np.allclose(sums.reals.sum(axis=(3, 4))[:2, :1], before[1])
    assert (totals(sums.wholes[2:]) == 0).all()
    assert [moments_in(sums, at) for at in (0, 1)] == moments_before
    again = Sums(2, 2, TAGS // 2, (4, 2), 2)
    again.fold_runs(left, right)
    assert np.array_equal(again.wholes, sums.wholes)
    again.add(sums)
    assert totals(again.wholes[0, 0, 1]) == 2 * before[0][0]
    assert moments_in(again, 0) == tuple(2 * one for one in moments_before[0])


@pytest.mark.parametrize("mine", SIDES)
def test_one_run_with_many_is_as_with_each_of_them(mine: int) -> None:
    dice = np.random.default_rng(7)
    one, others = (
        side(dice, 50, 500, 2, mine),
        [side(dice, 50, rows, 2, opposite(mine)) for rows in (0, 1, 300, 40)],
    )
    together, one_by_one = Sums(2, 2, TAGS, (2, 2), 2), Sums(2, 2, TAGS, (2, 2), 2)
    pairs = together.fold_many(mine, one, others)
    assert pairs == sum(one_by_one.fold_runs(*((one, other) if mine == LEFT else (other, one))) for other in others)
    assert np.array_equal(together.wholes, one_by_one.wholes)
    assert np.array_equal(together.reals, one_by_one.reals)
    assert np.array_equal(together.moments, one_by_one.moments)
    assert together.fold_many(mine, one, []) == 0
