"""Rows that are said to come in random order but look ordered: a warning, and none where they are shuffled."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner

ROWS, BATCH = 8_000, 400
RANDOM = np.random.default_rng(5)
KEYS = pa.table({"k": RANDOM.permutation(1_000)})


def summed(values: Any, keys: Any = None, sampling: Any = "rows") -> sooner.Estimate:
    table = pa.table({"k": RANDOM.integers(0, 1_000, ROWS) if keys is None else keys, "v": values})
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=BATCH))
    asked: dict[str, Any] = {"s": ("sum", "v * 2")}
    return sooner.estimate(batches, KEYS, on="k", aggregates=asked, sampling=sampling).final()


@pytest.mark.parametrize("values", [np.arange(ROWS), -np.arange(ROWS), np.arange(ROWS) + RANDOM.normal(0, 900, ROWS)])
def test_rows_in_the_order_of_what_is_summed_are_noticed(values: Any) -> None:
    with pytest.warns(UserWarning, match=r"left is read .* ordered by \(v \* 2\).*`sooner shuffle`") as told:
        assert summed(values).exact
    assert len(told) == 1


def test_rows_in_the_order_of_keys_are_noticed() -> None:
    with pytest.warns(UserWarning, match="look ordered by k"):
        summed(RANDOM.random(ROWS), np.sort(RANDOM.integers(0, 1_000, ROWS)))


def test_rows_in_random_order_and_equal_values_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (RANDOM.permutation(ROWS), np.ones(ROWS), RANDOM.random(ROWS) < 0.01):
            summed(values.astype(float))


def test_nothing_is_said_where_blocks_are_read_in_random_order() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert summed(np.arange(ROWS), sampling=None).exact
