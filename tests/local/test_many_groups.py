"""Estimates of very many groups: exact in the end with little memory, or refused with the memory that would do."""

import re
import time
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from sooner.errors import BudgetTooSmall

AGGREGATES: dict[str, Any] = {"n": "count", "s": ("sum", "v * w"), "a": ("avg", "v")}


def tables(groups: int, rows: int, right_groups: int = 3) -> tuple[pa.Table, pa.Table]:
    dice = np.random.default_rng(groups)
    keys = rows // 2
    left = {"k": dice.integers(0, keys, rows), "g": dice.integers(0, groups, rows), "v": dice.integers(-9, 99, rows)}
    right = {"k": np.arange(keys), "h": dice.integers(0, right_groups, keys), "w": dice.integers(0, 10**12, keys)}
    return pa.table(left), pa.table(right)


def answer(left: pa.Table, right: pa.Table, by: str, where: str = "true") -> dict[tuple[Any, ...], tuple[Any, ...]]:
    query = f"select {by}, count(*), sum(v * w), avg(v) from l join r using (k) where {where} group by all"
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        found = connection.sql(query).fetchall()
    return {row[:-3]: row[-3:] for row in found}


def differing(found: sooner.Estimate, wanted: dict[tuple[Any, ...], tuple[Any, ...]]) -> list[object]:
    """Some groups that are not as they should be."""
    values = {key: tuple(one[name].value for name in AGGREGATES) for key, one in found.values.items()}
    return [(key, values.get(key), wanted.get(key)) for key in values | wanted if values.get(key) != wanted.get(key)][
        :3
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("memory", ["1MB", "1GB"])
@pytest.mark.parametrize("by", ["g", "g,h % 1", "(g + h) % 6000", "g,(v + w) % 2"])
def test_the_end_is_exact_however_many_groups_there_are(by: str, memory: str) -> None:
    """With little memory sums are in one, and rows wait; without, there are tags, or none."""
    left, right = tables(6_000, 20_000)
    *early, last = sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by=by.split(","), memory=memory)
    assert not differing(last, answer(left, right, by))
    assert last.exact
    assert all(not one.exact for one in early)


def test_a_refusal_names_the_memory_that_would_do() -> None:
    """For the groups that were seen: the next one is of more."""
    left, right = tables(30_000, 40_000)
    memory, seen, last = "1MB", [0], None
    while last is None:
        try:
            last = sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by="g", memory=memory).final()
        except BudgetTooSmall as error:
            told = re.fullmatch(r"by= gives ([\d,]+) groups so far, .* B each; give memory='(\d+MB)' .*", str(error))
            assert told is not None, error
            memory, groups = told[2], int(told[1].replace(",", ""))
            assert groups > seen[-1]
            seen.append(groups)
    assert len(seen) > 1
    assert not differing(last, answer(left, right, "g"))


def test_rare_rows_in_ten_thousand_groups() -> None:
    """A condition that leaves a thousandth of the rows."""
    left, right = tables(10_000, 200_000)
    found = sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by="g", where="v = 5 and w % 10 = 3").final()
    assert not differing(found, answer(left, right, "g", "v = 5 and w % 10 = 3"))


def test_reading_off_many_groups_takes_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a look would take is foreseen, so there are few; by processor time, however busy the machine is."""
    own_time = SimpleNamespace(monotonic=time.process_time, thread_time=time.thread_time)
    monkeypatch.setattr("sooner.local.pacing.time", own_time)
    left, right = tables(10_000, 100_000)
    estimates = list(sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by="g"))
    assert not differing(estimates[-1], answer(left, right, "g"))
    assert len(estimates) <= 3


@pytest.mark.long
def test_a_million_groups_in_a_gigabyte() -> None:
    left, right = tables(1_000_000, 4_000_000)
    found = sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by="g", memory="1GB").final()
    assert not differing(found, answer(left, right, "g"))
