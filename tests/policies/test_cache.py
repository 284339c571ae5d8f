"""The cache inequality: theorems 1 and 2 of SSBJ by trying all placements, and its own example."""

from itertools import product

import numpy as np
import pytest

from sooner.policies.cache import belongs_in_cache, leaves_cache

PARTS = np.array([10, 30, 40])  # SSBJ figure 3, where a supplier's row is as large as a customer's
SUPPLIERS = np.array([4, 2, 1])
CUSTOMERS = np.array([3, 3, 1])


def in_memory(cached: np.ndarray, masters: np.ndarray, stream: np.ndarray, v_r: float, v_s: float) -> float:
    """Bytes of both hash tables."""
    return float(np.where(cached, masters * v_r, stream * v_s).sum())


@pytest.mark.parametrize(("v_r", "v_s"), [(120, 20), (20, 120), (128, 128), (223, 138)])
@pytest.mark.parametrize("seed", range(5))
def test_no_placement_of_join_values_takes_less_memory_theorems_1_and_2(v_r: float, v_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    masters, stream = rng.integers(0, 5, 7), rng.integers(0, 25, 7)
    placements = (np.array(cached) for cached in product([False, True], repeat=len(masters)))
    least = min(in_memory(cached, masters, stream, v_r, v_s) for cached in placements)
    assert in_memory(belongs_in_cache(masters, stream, v_r, v_s), masters, stream, v_r, v_s) == least


def test_part_10_of_figure_3_stays_on_disk() -> None:
    """Three customers wait for it, and it has four suppliers."""
    assert not belongs_in_cache(SUPPLIERS, CUSTOMERS, 1, 1)[PARTS == 10]


def test_part_30_of_figure_3_moves_into_the_cache() -> None:
    """Three customers wait for it, and it has two suppliers."""
    assert belongs_in_cache(SUPPLIERS, CUSTOMERS, 1, 1)[PARTS == 30]


def test_what_takes_as_much_in_either_place_stays_on_disk_and_leaves_the_cache() -> None:
    """Part 40 of figure 3."""
    assert not belongs_in_cache(SUPPLIERS, CUSTOMERS, 1, 1)[PARTS == 40]
    assert leaves_cache(SUPPLIERS, CUSTOMERS, 1, 1)[PARTS == 40]


def test_without_a_switching_factor_each_value_has_one_place() -> None:
    masters, stream = (one.ravel() for one in np.meshgrid(np.arange(6), np.arange(40)))
    assert (belongs_in_cache(masters, stream, 120, 20) ^ leaves_cache(masters, stream, 120, 20)).all()


def test_a_switching_factor_makes_values_stay_where_they_are() -> None:
    masters, stream = np.full(5, 1), np.array([1, 5, 8, 12, 20])  # in balance at 6
    assert belongs_in_cache(masters, stream, 120, 20, 2.0).tolist() == [False, False, False, False, True]
    assert leaves_cache(masters, stream, 120, 20, 2.0).tolist() == [True, False, False, False, False]


def test_a_value_without_master_rows_moves_when_it_is_asked_for_and_leaves_when_it_is_not() -> None:
    """SSBJ sec. 3.1; stream rows a cycle are a tenth of the hits in ten."""
    none, asked = np.zeros(2, np.int64), np.array([0.0, 0.1])
    assert belongs_in_cache(none, asked, 120, 20).tolist() == [False, True]
    assert leaves_cache(none, asked, 120, 20).tolist() == [True, False]
