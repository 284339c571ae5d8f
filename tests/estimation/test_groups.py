"""Groups have numbers: the same for equal values, whatever batch they come in."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sooner.estimation import groups as module
from sooner.estimation.groups import Groups
from sooner.kernels.array_types import Codes

TYPES = [pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.null(), pa.binary(2)]


def test_nan_is_one_group_and_so_are_both_zeros_in_every_batch() -> None:
    groups = Groups([pa.float64()])
    first = groups.numbers_of([pa.array([math.nan, 0.0, 1.5])]).tolist()
    again = groups.numbers_of([pa.array([float("nan"), -0.0, 1.5, None])]).tolist()
    assert again[:3] == first
    assert len(groups) == 4
    saved = Groups([pa.float64()])
    saved.load_plain(groups.to_plain())
    assert saved.numbers_of([pa.array([float("nan"), -0.0, 1.5, None])]).tolist() == again


def drawn(rows: int, values: int, seed: int) -> list[pa.Array]:
    dice = np.random.default_rng(seed)
    numbers = dice.integers(0, values, rows)
    floats = np.array([math.nan, -0.0, 0.0, 1.5])[dice.integers(0, 4, rows)]
    return [
        pa.array(numbers, mask=dice.random(rows) < 0.1),
        pa.array([None if at % 7 == 0 else f"é{at % 5}" * (at % 3) for at in numbers.tolist()]),
        pa.array(floats, mask=dice.random(rows) < 0.1),
        pa.array(numbers % 2 == 0),
        pa.nulls(rows),
        pa.array([bytes([at % 3, 0]) for at in numbers.tolist()], pa.binary(2)),
    ]


def all_alike(columns: list[pa.Array]) -> Codes:
    return np.zeros(len(columns[0]), np.uint64)


def half_alike(columns: list[pa.Array]) -> Codes:
    return np.array(columns[3].to_pylist(), np.uint64)


@pytest.mark.parametrize(
    ("codes", "rows", "values"), [(None, 40_000, 30_000), (None, 300, 4), (all_alike, 200, 20), (half_alike, 200, 20)]
)
@pytest.mark.parametrize("encoded", [False, True])
def test_rows_have_one_number_if_their_values_are_alike_whatever_their_codes(
    codes: Callable[[Any], Codes] | None, rows: int, values: int, encoded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if codes is not None:
        monkeypatch.setattr(module, "_codes_of", codes)
    groups, known = Groups(TYPES), dict[tuple[object, ...], int]()
    for batch in range(4):
        columns = drawn(rows, values, batch)
        given = [one.dictionary_encode() if encoded and at < 2 else one for at, one in enumerate(columns)]
        keys = list(zip(*(["NaN" if v != v else v for v in one.to_pylist()] for one in columns), strict=True))
        numbers = groups.numbers_of(given).tolist()
        for key, number in zip(keys, numbers, strict=True):
            assert known.setdefault(key, number) == number
        if batch == 2:
            saved = Groups(TYPES)
            saved.load_plain(groups.to_plain())
            groups = saved
    assert sorted(known.values()) == list(range(len(groups)))
    in_turn = sorted(known, key=known.__getitem__)
    assert [tuple("NaN" if v != v else v for v in key) for key in groups.keys] == in_turn


def test_groups_of_another_have_numbers_here() -> None:
    one, other = Groups(TYPES), Groups(TYPES)
    one.numbers_of(drawn(1_000, 300, seed=1))
    other.numbers_of(drawn(1_000, 300, seed=2))
    numbers = one.numbers_of_all(other).tolist()
    assert [one.keys[number] for number in numbers] == other.keys
    assert Groups([]).numbers_of_all(Groups([])).tolist() == [0]


def test_intervals_are_values_too() -> None:
    groups = Groups([pa.month_day_nano_interval()])
    day, month = pa.MonthDayNano([0, 1, 0]), pa.MonthDayNano([1, 0, 0])
    assert groups.numbers_of([pa.array([day, month, None, day])]).tolist() == [0, 1, 2, 0]
    assert groups.keys == [(day,), (month,), (None,)]
