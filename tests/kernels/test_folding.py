"""Sums over pairs of equal codes, against pairs that are spelled out."""

import numpy as np
import pytest

from sooner.kernels.folding import Ages, Factors, Operand, Sums, as_reals, totals
from sooner.sides import LEFT, SIDES

TAGS = 8


def side(dice: np.random.Generator, keys: int, rows: int, groups: int) -> Operand:
    codes = np.sort(dice.integers(0, keys, rows).astype(np.uint64))
    numbers = dice.integers(0, groups, rows).astype(np.int32) if groups > 1 else None
    wholes = [None, dice.integers(-(2**40), 2**40, rows)]
    tags = dice.integers(0, 32, rows).astype(np.int32)
    return Operand(codes, Factors(tags, numbers, wholes, [dice.normal(size=rows), None]))


@pytest.mark.parametrize("keys", [1, 3, 50, 5_000])  # from one hot code to hardly any that match
@pytest.mark.parametrize("aged", [False, True])
def test_runs_are_folded_as_their_pairs_are(keys: int, aged: bool) -> None:
    dice = np.random.default_rng(keys)
    lefts, rights = side(dice, keys, 700, 2), side(dice, keys, 400, 3)
    (left_codes, left), (right_codes, right) = lefts, rights
    ages: tuple[Ages | None, Ages | None] = (None, None)
    at_left, at_right = map(np.ascontiguousarray, np.nonzero(left_codes[:, None] == right_codes[None, :]))
    if aged:
        of_left, of_right = (dice.integers(0, 3, rows).astype(np.uint8) for rows in (700, 400))
        ages = of_left, of_right
        a, b = of_left[at_left], of_right[at_right]
        is_open = (a != 2) & (b != 2) & ~((a == 1) & (b == 1))
        at_left, at_right = at_left[is_open], at_right[is_open]
    folded, spelled_out = Sums(2, 2, TAGS, (2, 3)), Sums(2, 2, TAGS, (2, 3))
    folded.fold_runs(lefts, rights, ages)
    spelled_out.fold_pairs(left, right, at_left, at_right)
    assert np.array_equal(folded.wholes, spelled_out.wholes)
    assert np.allclose(folded.reals, spelled_out.reals)
    assert left.wholes[1] is not None and right.wholes[1] is not None
    exact = sum(int(left.wholes[1][i]) * int(right.wholes[1][j]) for i, j in zip(at_left, at_right, strict=True))
    assert totals(folded.wholes[:, :, 1]).sum() == exact
    assert as_reals(folded.wholes[:, :, 1]).sum() == pytest.approx(exact, rel=1e-9, abs=1e24)


def test_more_groups_and_fewer_tags_change_no_sum() -> None:
    dice = np.random.default_rng(5)
    left, right = side(dice, 20, 300, 2), side(dice, 20, 200, 1)
    sums = Sums(2, 2, TAGS, (2, 1))
    sums.fold_runs(left, right)
    before = [totals(sums.wholes[group, 0, 1]) for group in (0, 1)], sums.reals.sum(axis=(3, 4))
    sums.grow((4, 2))
    sums.halve_tags()
    assert [totals(sums.wholes[group, 0, 1]) for group in (0, 1)] == before[0]
    assert np.allclose(sums.reals.sum(axis=(3, 4))[:2, :1], before[1])
    assert (totals(sums.wholes[2:]) == 0).all()
    again = Sums(2, 2, TAGS // 2, (4, 2))
    again.fold_runs(left, right)
    assert np.array_equal(again.wholes, sums.wholes)
    again.add(sums)
    assert totals(again.wholes[0, 0, 1]) == 2 * before[0][0]


@pytest.mark.parametrize("mine", SIDES)
def test_one_run_with_many_is_as_with_each_of_them(mine: int) -> None:
    dice = np.random.default_rng(7)
    one, others = side(dice, 50, 500, 2), [side(dice, 50, rows, 2) for rows in (0, 1, 300, 40)]
    together, one_by_one = Sums(2, 2, TAGS, (2, 2)), Sums(2, 2, TAGS, (2, 2))
    pairs = together.fold_many(mine, one, others)
    assert pairs == sum(one_by_one.fold_runs(*((one, other) if mine == LEFT else (other, one))) for other in others)
    assert np.array_equal(together.wholes, one_by_one.wholes)
    assert np.array_equal(together.reals, one_by_one.reals)
    assert together.fold_many(mine, one, []) == 0
