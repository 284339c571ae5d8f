"""Matching: every pair of equal codes once, in pieces that are never too large."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.kernels.matching import build_directory, expand, find

HIGHEST = 2**64 - 1
codes = st.one_of(st.integers(0, 9), st.integers(HIGHEST - 3, HIGHEST), st.integers(0, HIGHEST))
some_codes = st.lists(codes, max_size=30).map(lambda some: np.sort(np.array(some, np.uint64)))


def pairs_by_nested_loop(probes: np.ndarray, sorted_codes: np.ndarray) -> Counter[tuple[int, int]]:
    return Counter((i, j) for i, p in enumerate(probes) for j, code in enumerate(sorted_codes) if p == code)


@given(probes=some_codes, sorted_codes=some_codes, at_most=st.integers(1, 40))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_all_pairs_of_equal_codes_come_once(probes: np.ndarray, sorted_codes: np.ndarray, at_most: int) -> None:
    pieces = list(expand(find(probes, sorted_codes), at_most))
    pairs = Counter((int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True))
    assert pairs == pairs_by_nested_loop(probes, sorted_codes)
    assert all(0 < len(probe) <= at_most for probe, _ in pieces)


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
def test_a_directory_finds_what_a_binary_search_finds(kind: str) -> None:
    sorted_codes = many_codes(kind)
    directory = build_directory(sorted_codes)
    assert (directory is None) == (kind == "all of one code")
    near = np.concatenate([sorted_codes, sorted_codes + np.uint64(1), sorted_codes - np.uint64(1)])
    probes = np.unique(np.concatenate([near, many_codes("uniform", 500), np.array([0, HIGHEST], np.uint64)]))
    plain, guided = find(probes, sorted_codes), find(probes, sorted_codes, directory)
    for expected, found in zip(plain, guided, strict=True):
        np.testing.assert_array_equal(found, expected)
