"""Columns: rows go when nobody has them, and what was made of them for Arrow shares their memory."""

import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest

from sooner.kernels.columns import Columns
from sooner.kernels.gathering import gather_from
from sooner.kernels.sorting import Places

ROWS = pa.record_batch({"number": [1, 2, None], "text": ["x", "a longer text", ""], "flag": [True, None, False]})


def gathered() -> Columns:
    return gather_from([Columns.of(ROWS)], Places(np.array([2, 0, 1, 1])))


def use(columns: Columns) -> None:
    """As joins do: all that is kept once it was asked for."""
    chosen = columns.only((1, 0))
    found = chosen.address, chosen.rows, columns.n_bytes, columns.rows, columns.slice(1, 3).rows, columns.column("flag")
    assert all(one is not None for one in found)


@pytest.mark.parametrize("make", [gathered, lambda: Columns.of(ROWS)], ids=["gathered", "Arrow's"])
def test_rows_go_at_once_when_nobody_has_them(make: "type[Columns]") -> None:
    """They are most of the memory of a join: to wait for the collector of cycles would be far too late."""
    gc.disable()
    try:
        use(columns := make())
        seen = weakref.ref(columns)
        del columns
        assert seen() is None
    finally:
        gc.enable()


def test_arrays_of_arrow_share_memory_with_what_loops_have_gathered() -> None:
    columns = gathered()
    first, second = columns.array(0), columns.rows.column(0)
    assert first.buffers()[1].address == second.buffers()[1].address
    assert columns.rows.to_pydict() == {
        "number": [None, 1, 2, 2],
        "text": ["", "x", "a longer text", "a longer text"],
        "flag": [False, True, None, None],
    }


def test_slices_of_slices_and_choices_of_them_are_the_rows_that_are_meant() -> None:
    part = gathered().slice(1, 4).slice(1, 3)
    assert part.only((1, 2)).rows.to_pydict() == {"text": ["a longer text"] * 2, "flag": [None] * 2}
    assert gather_from([part, gathered()], Places(np.array([1, 0]), np.array([0, 1], np.int32))).rows.to_pylist() == [
        {"number": 2, "text": "a longer text", "flag": None},
        {"number": None, "text": "", "flag": False},
    ]
    assert len(part.slice(2, 1)) == 0
