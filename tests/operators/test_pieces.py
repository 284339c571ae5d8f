"""Rows that are too many for the memory are cut into pieces: all rows once, by their set and not by their order."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.keys import plan_keys
from sooner.operators.order import CodeRows, by_hashes
from sooner.operators.pieces import Rows, pieces, weight
from sooner.sides import SIDES

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("row", pa.int64()),
        ("text", pa.string()),
        ("float", pa.float64()),
        ("list", pa.list_(pa.int32())),
        ("flag", pa.bool_()),
        ("nothing", pa.null()),
    ]
)


def coders() -> Sequence[CodeRows]:
    return by_hashes(plan_keys(SCHEMA, SCHEMA, ["key"], ["key"])).coders


def some_rows(n_rows: int, keys: int, seed: int, hot: float = 0.0, alike: bool = False) -> pa.RecordBatch:
    """Some keys, one of them hot; rows that are all alike differ in nothing but perhaps their key."""
    dice = np.random.default_rng(seed)
    key = np.where(dice.random(n_rows) < hot, 7, dice.integers(0, keys, n_rows))
    number = np.zeros(n_rows, np.int64) if alike else np.arange(n_rows)
    texts = ["same" if alike else "t" * int(n) for n in dice.integers(0, 30, n_rows)]
    floats = [0.0 if alike else [0.0, -0.0, float("nan"), None, 1.5][int(n)] for n in dice.integers(0, 5, n_rows)]
    lists = [[1] if alike else [None, [], [1, None]][int(n)] for n in dice.integers(0, 3, n_rows)]
    flags = [True if alike else [True, False, None][int(n)] for n in dice.integers(0, 3, n_rows)]
    columns = [key, number, texts, floats, lists, flags, [None] * n_rows]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def content(batch: pa.RecordBatch) -> Counter[str]:
    return Counter(map(repr, batch.to_pylist()))


def contents(cut: list[Rows]) -> list[tuple[Counter[str], Counter[str]]]:
    return [(content(left), content(right)) for left, right in cut]


def shuffled(rows: Rows, seed: int) -> Rows:
    dice = np.random.default_rng(seed)
    left, right = (side.take(pa.array(dice.permutation(side.num_rows))) for side in rows)
    return left, right


CASES: dict[str, dict[str, Any]] = {
    "many keys": {"keys": 500},
    "few keys": {"keys": 3},
    "a hot key": {"keys": 500, "hot": 0.8},
    "one key": {"keys": 1},
    "one key, rows alike": {"keys": 1, "alike": True},
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sizes", [(120, 90), (120, 0), (0, 120), (150, 1), (1, 1), (0, 0)])
@pytest.mark.parametrize("kind", CASES)
def test_pieces_have_each_row_once_respect_the_size_and_ignore_the_order(kind: str, sizes: tuple[int, int]) -> None:
    left, right = (some_rows(sizes[side], seed=side, **CASES[kind]) for side in SIDES)
    for at_most_bytes in (1, 300, 2_500, 10**9):
        cut = list(pieces((left, right), coders(), at_most_bytes))
        assert contents(cut) == contents(list(pieces(shuffled((left, right), 3), coders(), at_most_bytes)))
        for side, rows in enumerate((left, right)):
            assert sum((content(piece[side]) for piece in cut), Counter()) == content(rows)
        for piece in cut:
            assert weight(piece) <= at_most_bytes or sum(side.num_rows for side in piece) <= 1
        assert len(cut) < 4 + 8 * weight((left, right)) / at_most_bytes + sum(sizes)


def test_what_fits_is_one_piece() -> None:
    rows = some_rows(50, 10, 1), some_rows(50, 10, 2)
    [piece] = pieces(rows, coders(), weight(rows))
    assert piece is rows


def test_rows_of_one_code_stay_together_if_they_fit() -> None:
    """A code in two pieces costs a second look; only a code that is too heavy by itself is worth it."""
    rows = some_rows(400, 40, 1), some_rows(400, 40, 2)
    cut = list(pieces(rows, coders(), 5_000))
    keys = [set().union(*(side.column("key").to_pylist() for side in piece)) for piece in cut]
    assert len(cut) > 5
    assert all(not some & others for some, others in itertools.combinations(keys, 2))
