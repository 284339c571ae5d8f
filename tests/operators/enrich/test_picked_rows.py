"""Rows that are picked out of sorted ones, and put together."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from run_building import contents, run_of
from sooner.operators.enrich.pieces import in_order, together
from sooner.runs.run import Run


def runs_by_chance(seed: int) -> list[Run]:
    dice = np.random.default_rng(seed)
    return [run_of(np.sort(dice.integers(0, 1_000, dice.integers(1, 40))), arrived=at) for at in range(1, 21)]


@pytest.mark.parametrize("few_bytes", [0, 100, 400, 2_000, 2**40])
@pytest.mark.parametrize("seed", range(5))
def test_rows_come_together_in_runs_that_are_few_and_small(seed: int, few_bytes: int) -> None:
    runs = runs_by_chance(seed)
    found = list(together(iter(runs), few_bytes))
    assert sorted(contents(found)) == sorted(contents(runs))
    for run in found:
        assert (np.diff(run.codes.astype(np.int64)) >= 0).all()
        assert run.n_bytes <= max(few_bytes, max(one.n_bytes for one in runs))
    for one, other in itertools.pairwise(found):
        assert one.n_bytes + other.n_bytes > few_bytes, "none is alone that could have waited for the next"


def test_runs_come_one_by_one_as_they_are_asked_for() -> None:
    """No more is read than is waited for: a run that is large enough comes before the next is there."""
    given = []

    def coming() -> Iterator[Run]:
        for run in (run_of(range(50)) for _ in range(5)):
            given.append(run)
            yield run

    found = together(coming(), run_of(range(50)).n_bytes)
    next(found)
    assert len(given) == 2, "the one that had no room, and no other"
    assert len(list(found)) == 4
    assert list(together(iter(()), 100)) == []


@pytest.mark.parametrize("piece_bytes", [1, 300, 2_000, 2**40])
@pytest.mark.parametrize("seed", range(5))
def test_rows_of_several_runs_come_in_the_order_of_codes(seed: int, piece_bytes: int) -> None:
    runs = runs_by_chance(seed)
    pieces = list(in_order(runs, piece_bytes))
    codes = np.concatenate([piece.codes for piece in pieces]).astype(np.int64)
    assert (np.diff(codes) >= 0).all()
    assert sorted(contents(pieces)) == sorted(contents(runs))
    for one, other in itertools.pairwise(pieces):
        assert one.codes[-1] < other.codes[0], "rows of a code are in one piece"
    assert list(in_order([], piece_bytes)) == []
