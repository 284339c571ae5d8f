"""Samples of one of many tables, of which another comes in step: blocks that can match it, right before its own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sooner
from patience import HANG_SECONDS
from sooner.local.inbox import Ended, Waiting
from sooner.policies.view import SILENT

CUSTOMERS, ORDERS, LINES = 300, 40_000, 120_000
SUM = """SELECT SUM(price) AS s, COUNT(*) AS n FROM customers, orders, lines
    WHERE customers.c = orders.c AND orders.o = lines.o AND kind = 1 AND day < 500"""
GROUPS = SUM.replace("SELECT", "SELECT kind, day % 2 AS odd,").replace("kind = 1", "kind < 3") + " GROUP BY kind, odd"


def files(folder: Path, seed: int = 0, *, sorted_by_key: bool = True) -> dict[str, str]:
    dice = np.random.default_rng(seed)
    of_line = dice.integers(0, ORDERS, LINES)
    tables = {
        "customers": {"c": np.arange(CUSTOMERS), "kind": dice.integers(0, 5, CUSTOMERS)},
        "orders": {
            "o": np.arange(ORDERS),
            "c": dice.integers(0, CUSTOMERS, ORDERS),
            "day": dice.integers(0, 1000, ORDERS),
        },
        "lines": {"o": np.sort(of_line) if sorted_by_key else of_line, "price": dice.integers(1, 100, LINES)},
    }
    found = {name: str(folder / f"{name}.parquet") for name in tables}
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), found[name], row_group_size=1_000)
    return found


def asked(query: str, inputs: dict[str, Any], **options: Any) -> sooner.Estimates:
    found = sooner.sql(query, inputs, **options)
    assert isinstance(found, sooner.Estimates)
    return found


def explained(found: sooner.Estimates) -> str:
    text = str(found.explain())
    found.stop()
    return text


def test_the_first_blocks_of_a_sample_come_before_the_guide_is_read(tmp_path: Path) -> None:
    """They wait for what they can match, and for nothing else."""
    inputs = files(tmp_path)
    found = asked(SUM, inputs)
    _, orders, lines = (source.batches() for source in found._sources)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(next, lines)
        next(orders)
        read = next(orders).num_rows + next(orders).num_rows
        assert first.result(HANG_SECONDS).num_rows > 0
        found.stop()
    assert 0 < read < ORDERS / 4


def test_it_is_told_whether_there_is_a_guide(tmp_path: Path) -> None:
    inputs = files(tmp_path)
    said = "in memory, but for orders, of which those come right before that they can match"
    assert said in explained(asked(SUM, inputs))
    assert "but for" not in explained(asked(SUM, files(tmp_path, sorted_by_key=False)))
    assert "but for" not in explained(asked(SUM, inputs, sampling={"lines": "rows"}))


@pytest.mark.parametrize("of_two", [("lines", "orders"), ("orders", "lines")])
def test_what_waits_and_does_not_fit_at_once_comes_in_turn(tmp_path: Path, of_two: tuple[str, str]) -> None:
    """Where readers are far ahead: lines come after the orders that they can match, whichever is the left."""
    inputs = files(tmp_path)
    found = sooner.estimate(*(inputs[name] for name in of_two), on="o", aggregates={"n": "count"}, memory="1MB")
    guided = of_two.index("lines")
    came: list[list[pa.RecordBatch]] = [[], []]
    for which in (1 - guided, guided):
        came[which] = list(found._sources[which].batches())
    for _ in found._take_in([Waiting(batches, Ended()) for batches in came]):
        pass
    operator = found._operator
    while operator.phase != "done":
        list(operator.work(2**20, SILENT))
    assert found._estimate(operator.folds, 0.0, exact=True)["n"].value == LINES  # type: ignore[attr-defined]
    found.stop()


@pytest.mark.parametrize("memory", ["1GB", "2MB"])
@pytest.mark.parametrize("sorted_by_key", [True, False])
def test_the_last_answer_is_exact(tmp_path: Path, memory: str, sorted_by_key: bool) -> None:
    inputs = files(tmp_path, sorted_by_key=sorted_by_key)
    tables = {name: pq.read_table(file) for name, file in inputs.items()}
    joined = tables["lines"].join(tables["orders"], "o", join_type="inner").join(tables["customers"], "c")
    rows = [one for one in joined.to_pylist() if one["day"] < 500 and one["kind"] < 3]
    expected: dict[tuple[int, int], list[int]] = {}
    for one in rows:
        expected.setdefault((one["kind"], one["day"] % 2), []).append(one["price"])
    final = asked(GROUPS, inputs, memory=memory).final().to_table().to_pylist()
    assert {(one["kind"], one["odd"]): (one["s"], one["n"]) for one in final} == {
        key: (sum(prices), len(prices)) for key, prices in expected.items()
    }


def test_intervals_hold(tmp_path: Path) -> None:
    """Of as many samples as a quick machine gives intervals of, at the 95% that are asked for."""
    held = []
    for seed in range(24):
        inputs = files(tmp_path, seed)
        *early, last = asked(SUM, inputs, seed=seed)
        some = [one["s"] for one in early if one["s"].low is not None]
        held += [one.low <= last["s"].value <= one.high for one in some[:1]]  # type: ignore[operator]
    assert len(held) >= 6
    assert sum(held) >= len(held) * 20 / 24, held


def test_what_a_row_group_does_not_say_is_read_whole_before(tmp_path: Path) -> None:
    """Without statistics of keys nobody knows which blocks match."""
    inputs = files(tmp_path)
    pq.write_table(pq.read_table(inputs["orders"]), inputs["orders"], row_group_size=1_000, write_statistics=False)
    found = asked(SUM, inputs)
    assert "but for" not in explained(found)
    assert asked(SUM, inputs).final()["n"].value == asked(SUM, files(tmp_path)).final()["n"].value
