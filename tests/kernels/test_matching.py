"""Matching: every pair of equal codes once, in pieces that are never too large."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.kernels.matching import EQUAL, Reach, first_matches, matches

HIGHEST = 2**64 - 1
codes = st.one_of(st.integers(0, 9), st.integers(HIGHEST - 3, HIGHEST), st.integers(0, HIGHEST))
some_codes = st.lists(codes, max_size=30).map(lambda some: np.sort(np.array(some, np.uint64)))


def pairs_by_nested_loop(left: np.ndarray, right: np.ndarray, reach: Reach) -> Counter[tuple[int, int]]:
    return Counter(
        (i, j)
        for i, one in enumerate(left.tolist())
        for j, other in enumerate(right.tolist())
        if one - reach.below <= other <= one + reach.above
    )


def require_all_pairs_once(left: np.ndarray, right: np.ndarray, at_most: int, reach: Reach) -> None:
    pieces = list(matches(left, right, at_most, reach))
    pairs = Counter((int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True))
    assert pairs == pairs_by_nested_loop(left, right, reach)
    assert all(0 < len(at_left) == len(at_right) <= at_most for at_left, at_right in pieces)


@given(left=some_codes, right=some_codes, at_most=st.integers(1, 40))
@settings(max_examples=300)
def test_all_pairs_of_equal_codes_come_once(left: np.ndarray, right: np.ndarray, at_most: int) -> None:
    require_all_pairs_once(left, right, at_most, EQUAL)


@given(left=some_codes, right=some_codes, at_most=st.integers(1, 40), below=codes, above=codes)
@settings(max_examples=300)
def test_all_pairs_within_reach_come_once(
    left: np.ndarray, right: np.ndarray, at_most: int, below: int, above: int
) -> None:
    require_all_pairs_once(left, right, at_most, Reach(below, above))


@given(
    probes=some_codes,
    others=some_codes,
    at_most=st.integers(1, 40),
    reach=st.one_of(st.just(EQUAL), st.builds(Reach, codes, codes)),
)
@settings(max_examples=300)
def test_each_probe_that_has_any_comes_once_with_its_first(
    probes: np.ndarray, others: np.ndarray, at_most: int, reach: Reach
) -> None:
    pieces = list(first_matches(probes, others, at_most, reach))
    found = [(int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True)]
    firsts: dict[int, int] = {}
    for i, j in sorted(pairs_by_nested_loop(probes, others, reach)):
        firsts.setdefault(i, j)
    assert found == sorted(firsts.items())
    assert all(0 < len(at_probes) <= at_most for at_probes, _ in pieces)


def many_codes(kind: str, n_rows: int = 3000) -> np.ndarray:
    dice = np.random.default_rng(1)
    some = {
        "uniform": lambda: dice.integers(0, HIGHEST, n_rows, np.uint64, endpoint=True),
        "one range of many": lambda: dice.integers(2**60, 2**61, n_rows, np.uint64),
        "dense": lambda: np.arange(n_rows, dtype=np.uint64),
        "duplicates": lambda: dice.integers(0, 50, n_rows, np.uint64),
        "almost one code": lambda: np.array([7] * (n_rows - 2) + [8, HIGHEST], np.uint64),
        "all of one code": lambda: np.full(n_rows, 7, np.uint64),
        "the ends": lambda: np.array([0] * (n_rows // 2) + [HIGHEST] * (n_rows // 2), np.uint64),
        "skewed": lambda: (dice.random(n_rows) ** 40 * 2.0**63).astype(np.uint64),
    }
    return np.sort(some[kind]())


@pytest.mark.parametrize(
    "kind",
    ["uniform", "one range of many", "dense", "duplicates", "almost one code", "all of one code", "the ends", "skewed"],
)
def test_few_probes_of_many_codes_find_what_a_binary_search_finds(kind: str) -> None:
    sorted_codes = many_codes(kind)
    near = np.concatenate([sorted_codes, sorted_codes + np.uint64(1), sorted_codes - np.uint64(1)])[::17]
    probes = np.unique(np.concatenate([near, many_codes("uniform", 50), np.array([0, HIGHEST], np.uint64)]))
    begins, ends = (sorted_codes.searchsorted(probes, side) for side in ("left", "right"))
    expected = [(i, j) for i, (begin, end) in enumerate(zip(begins, ends, strict=True)) for j in range(begin, end)]
    found = [
        pair
        for at_probes, at_codes in matches(probes, sorted_codes, 1000)
        for pair in zip(at_probes.tolist(), at_codes.tolist(), strict=True)
    ]
    assert found == expected
