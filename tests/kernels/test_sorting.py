"""Sorting: every row once, in the order of codes."""

import numpy as np
import pytest

from sooner.kernels.sorting import merged, sort

HIGHEST = 2**64 - 1
N_ROWS = 5_000


def codes_of(kind: str) -> np.ndarray:
    dice = np.random.default_rng(1)
    some = {
        "uniform": lambda: dice.integers(0, HIGHEST, N_ROWS, np.uint64, endpoint=True),
        "few, hashed": lambda: dice.choice(dice.integers(0, HIGHEST, 50, np.uint64, endpoint=True), N_ROWS),
        "low bits only": lambda: dice.integers(0, N_ROWS, N_ROWS, np.uint64),
        "falling in low bits": lambda: np.arange(N_ROWS, 0, -1).astype(np.uint64),
        "one code": lambda: np.full(N_ROWS, 7, np.uint64),
        "the ends": lambda: dice.choice(np.array([0, HIGHEST, 2**63], np.uint64), N_ROWS),
        "one row": lambda: np.array([HIGHEST], np.uint64),
        "none": lambda: np.empty(0, np.uint64),
    }
    return some[kind]()


KINDS = [
    "uniform", "few, hashed", "low bits only", "falling in low bits", "one code", "the ends", "one row", "none"
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_sorting_is_a_stable_argsort(kind: str) -> None:
    codes = codes_of(kind)
    expected = np.argsort(codes, kind="stable")
    found = sort(codes)
    np.testing.assert_array_equal(found.order, expected)
    np.testing.assert_array_equal(found.codes, codes[expected])


@pytest.mark.parametrize("kind", KINDS)
def test_only_rows_that_are_wanted(kind: str) -> None:
    codes = codes_of(kind)
    wanted = np.random.default_rng(2).random(len(codes)) < 0.5
    expected = np.argsort(codes, kind="stable")
    expected = expected[wanted[expected]]
    found = sort(codes, wanted)
    np.testing.assert_array_equal(found.order, expected)
    np.testing.assert_array_equal(found.codes, codes[expected])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_merging_is_sorting_all_parts_together(kind: str, n_parts: int) -> None:
    parts = [np.sort(part) for part in np.array_split(codes_of(kind), n_parts)]
    codes, places = merged(parts)
    expected = np.argsort(np.concatenate(parts), kind="stable")
    starts = np.append(0, np.cumsum([len(part) for part in parts]))
    np.testing.assert_array_equal(codes, np.concatenate(parts)[expected])
    np.testing.assert_array_equal(starts[places.parts] + places.positions, expected)
