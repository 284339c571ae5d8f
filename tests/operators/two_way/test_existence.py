"""Whether rows match at all: the same answer as from all pairs, without spelling them out."""

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.columns import Columns, Named
from sooner.kernels.looking_up import CodeIndex
from sooner.kernels.matching import EQUAL, Reach
from sooner.operators.deciding.existence import Existence
from sooner.operators.pairs import PAIRS_AT_ONCE
from sooner.runs.run import NEVER, Run
from sooner.sides import LEFT, RIGHT, SIDES

FEW_CODES = 6


def run_of(keys: list[int], few: bool) -> Run:
    """Sorted by codes, which are the keys, or of which many keys share one."""
    codes = np.array([key % FEW_CODES if few else key for key in keys], np.uint64)
    order = np.argsort(codes, kind="stable")
    rows = pa.record_batch([pa.array(keys, pa.int64()).take(pa.array(order))], ["key"])
    return Run(codes[order], Columns.of(rows), NEVER)


def only_equal_keys(left: Named, right: Named, at_left: Positions, at_right: Positions) -> tuple[Positions, Positions]:
    same = left.column("key").to_numpy()[at_left] == right.column("key").to_numpy()[at_right]
    return at_left[same], at_right[same]


def keys_of(run: Run) -> list[int]:
    keys: list[int] = run.rows["key"].to_pylist()
    return keys


@pytest.mark.parametrize("few", [False, True], ids=["exact codes", "codes that collide"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("way", ["sorted", "by index"])
def test_rows_that_match_are_known_and_told_once(side: int, few: bool, way: str) -> None:
    for seed in range(20):
        dice = np.random.default_rng(seed)
        rows, other = (run_of(dice.integers(0, 40, dice.integers(0, 60)).tolist(), few) for _ in range(2))
        asked = dice.random(len(rows)) < 0.8
        known, existence = ~asked, Existence(EQUAL, only_equal_keys if few else None, lambda: None)
        if way == "sorted":
            found = list(existence.look(side, rows, other, known))
        else:
            found = list(existence.look_up(side, rows, other, CodeIndex(other.codes), known))
        told = np.concatenate([np.empty(0, np.int64), *found]).tolist()
        matching = [at for at, key in enumerate(keys_of(rows)) if asked[at] and key in {*keys_of(other)}]
        assert sorted(told) == matching, f"seed {seed}"
        assert np.flatnonzero(known & asked).tolist() == matching, f"seed {seed}"


def test_reach_is_seen_from_the_side_that_is_asked() -> None:
    """A left row matches right codes from one below to three above."""
    existence = Existence(Reach(below=1, above=3), None, lambda: None)
    left, right = run_of([10, 20, 30], few=False), run_of([13, 19, 26, 34], few=False)
    assert known_of(existence, LEFT, left, right) == [True, True, False]
    assert known_of(existence, RIGHT, right, left) == [True, True, False, False]


def known_of(existence: Existence, side: int, rows: Run, other: Run) -> list[bool]:
    known: Flags = np.zeros(len(rows), np.bool_)
    list(existence.look(side, rows, other, known))
    flags: list[bool] = known.tolist()
    return flags


@pytest.mark.parametrize("few", [False, True], ids=["exact codes", "codes that collide"])
def test_a_key_with_a_million_rows_is_looked_at_once_for_each_row_that_asks(few: bool) -> None:
    looked = 0

    def counting(
        left: pa.RecordBatch, right: pa.RecordBatch, at_left: Positions, at_right: Positions
    ) -> tuple[Positions, Positions]:
        nonlocal looked
        looked += len(at_left)
        return only_equal_keys(left, right, at_left, at_right)

    rows, other = run_of([7] * 1000, few), run_of([7] * 10**6, few)
    existence = Existence(EQUAL, counting if few else None, lambda: None)
    assert all(known_of(existence, LEFT, rows, other))
    assert looked == (1000 if few else 0)


def test_what_is_told_comes_in_pieces() -> None:
    many = run_of(list(range(PAIRS_AT_ONCE + 5)), few=False)
    existence = Existence(EQUAL, None, lambda: None)
    sizes = [len(at) for at in existence.look(LEFT, many, many, np.zeros(len(many), np.bool_))]
    assert sizes == [PAIRS_AT_ONCE, 5]
