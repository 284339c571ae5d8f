"""Looking up in an index: the same pairs as by matching sorted codes, whatever the order of the probes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sooner.kernels.array_types import Flags
from sooner.kernels.looking_up import CodeIndex, counts_between, found
from sooner.kernels.matching import EQUAL, Reach

HIGHEST = 2**64 - 1
codes = st.one_of(st.integers(0, 9), st.integers(HIGHEST - 3, HIGHEST), st.integers(0, HIGHEST))
some_codes = st.lists(codes, max_size=30).map(lambda some: np.array(some, np.uint64))


any_probes = given(
    probes=some_codes,
    others=some_codes,
    at_most=st.integers(1, 40),
    reach=st.one_of(st.just(EQUAL), st.builds(Reach, codes, codes)),
    seed=st.none() | st.integers(0, 5),
)


def by_nested_loop(probes: np.ndarray, wanted: Flags | None, sorted_codes: np.ndarray, reach: Reach) -> Counter:
    return Counter(
        (i, j)
        for i, one in enumerate(probes.tolist())
        for j, other in enumerate(sorted_codes.tolist())
        if one - reach.below <= other <= one + reach.above and (wanted is None or wanted[i])
    )


@any_probes
@settings(max_examples=400)
def test_all_pairs_within_reach_of_wanted_rows_come_once(
    probes: np.ndarray, others: np.ndarray, at_most: int, reach: Reach, seed: int | None
) -> None:
    wanted = None if seed is None else np.random.default_rng(seed).random(len(probes)) < 0.6
    index = CodeIndex(np.sort(others))
    pieces = list(found(probes, wanted, index, at_most, reach))
    pairs = Counter((int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True))
    assert pairs == by_nested_loop(probes, wanted, index.codes, reach)
    assert all(0 < len(at_probes) == len(at_codes) <= at_most for at_probes, at_codes in pieces)


@any_probes
@settings(max_examples=300)
def test_each_wanted_row_that_has_any_comes_once_with_its_first(
    probes: np.ndarray, others: np.ndarray, at_most: int, reach: Reach, seed: int | None
) -> None:
    wanted = None if seed is None else np.random.default_rng(seed).random(len(probes)) < 0.6
    index = CodeIndex(np.sort(others))
    pieces = list(found(probes, wanted, index, at_most, reach, only_first=True))
    firsts: dict[int, int] = {}
    for i, j in sorted(by_nested_loop(probes, wanted, index.codes, reach)):
        firsts.setdefault(i, j)
    assert [(int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True)] == sorted(firsts.items())
    assert all(0 < len(at_probes) <= at_most for at_probes, _ in pieces)


@pytest.mark.parametrize("n_codes", [1, 9, 5_000])
def test_codes_that_share_their_highest_bits_are_found_too(n_codes: int) -> None:
    index = CodeIndex(np.arange(n_codes, dtype=np.uint64) * np.uint64(2))
    probes = np.random.default_rng(1).permutation(2 * n_codes).astype(np.uint64)
    [(at_probes, at_codes)] = found(probes, None, index, at_most=n_codes)
    assert (probes[at_probes] == index.codes[at_codes]).all()
    assert len(at_probes) == n_codes


@given(rows=some_codes, bounds=some_codes, seed=st.none() | st.integers(0, 5))
@settings(max_examples=200)
def test_rows_are_counted_between_bounds(rows: np.ndarray, bounds: np.ndarray, seed: int | None) -> None:
    wanted = None if seed is None else np.random.default_rng(seed).random(len(rows)) < 0.6
    bounds = np.sort(bounds)
    meant = rows if wanted is None else rows[wanted]
    expected = np.bincount(np.searchsorted(bounds, meant, "right"), minlength=len(bounds) + 1)
    assert counts_between(rows, wanted, CodeIndex(bounds)).tolist() == expected.tolist()
