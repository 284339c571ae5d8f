"""Estimates between the batches of an input: rows count only together with the tally of how many have come."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sooner

LEFT, RIGHT = 20_000, 300


class Batches:
    """A source that knows how many rows it has, and gives them some at a time."""

    def __init__(self, name: str, n_rows: int, size: int) -> None:
        self.name, self.n_rows, self._size = name, n_rows, size
        self._table = pa.table({"k": np.ones(n_rows, np.int64), name: np.random.default_rng(n_rows).random(n_rows)})
        self.schema = self._table.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self._table.to_batches(max_chunksize=self._size))


@pytest.mark.parametrize("memory", ["1GB", "200KB"])
@pytest.mark.parametrize("sampling", ["rows", "blocks"])
def test_a_count_of_all_pairs_is_known_from_any_of_them(sampling: Any, memory: str) -> None:
    """Every row matches every other, so that any rectangle tells the whole count, if it is known how large it is."""
    left, right = Batches("left", LEFT, 500), Batches("right", RIGHT, 20)
    estimates = sooner.estimate(left, right, on="k", aggregates={"n": "count"}, sampling=sampling, memory=memory)
    counts = [found["n"].value for found in estimates]
    assert counts[-1] == LEFT * RIGHT
    assert [count for count in counts if count] == pytest.approx([LEFT * RIGHT] * sum(map(bool, counts)))
