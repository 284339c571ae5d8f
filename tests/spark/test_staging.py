"""Rows of a large batch on local disk: private, and gone however the task ends."""

import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import sooner.operators.order
import sooner.spark.step.delivery
import sooner.spark.step.staging
from join_steps import Arriving, plan_of
from queries import numbered
from sooner.kernels.codes import code_rows
from sooner.spark.step.delivery import deliveries

LEFT, RIGHT = numbered(500, 50, 1, "a"), numbered(500, 50, 2, "b")
KILLED_WORKER = """
import os, signal, sys
from sooner.runs.custody.private_directory import PrivateDirectory
directory = PrivateDirectory("staging", sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_staged_rows_are_private_and_go_and_so_do_those_of_killed_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.step.delivery, "LEAST_HELD_BYTES", 2**10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED_WORKER, str(tmp_path)])
    [of_the_killed] = tmp_path.iterdir()
    plan = plan_of(LEFT.schema, RIGHT.schema, tmp_path / "elsewhere", memory_bytes=2**10)
    with deliveries(plan, Arriving(LEFT, RIGHT).batches(plan, seed=1)) as [arrivals]:
        [directory] = tmp_path.iterdir()
        assert directory != of_the_killed
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert any(path.suffix == ".arrows" for path in directory.iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
        assert sum(left.num_rows for left, _ in arrivals.pieces(2**12)) == LEFT.num_rows
    assert list(tmp_path.iterdir()) == []


def test_a_hot_key_with_more_than_an_array_can_have_comes_in_shares_that_depend_on_the_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.step.delivery, "LEAST_HELD_BYTES", 2**10)
    monkeypatch.setattr(sooner.spark.step.staging, "MOST_AT_ONCE_BYTES", 2**13)
    numbers = [n % 150 for n in range(600)]  # equal rows among them
    left = pa.table({"k": [7] * 600, "a": numbers})
    right = pa.table({"k": [7] * 20, "b": range(20)})
    plan = plan_of(left.schema, right.schema, tmp_path, memory_bytes=2**10)
    seen = []
    for seed in (1, 2, 3):
        with deliveries(plan, Arriving(left, right).batches(plan, seed=seed)) as [arrivals]:
            seen.append(
                [
                    [sorted(side["a" if n == 0 else "b"].to_pylist()) for n, side in enumerate(piece)]
                    for piece in arrivals.pieces(2**20)
                ]
            )
    assert len(seen[0]) > 2
    assert seen[0] == seen[1] == seen[2]
    assert sorted(a for lefts, _ in seen[0] for a in lefts) == sorted(numbers)
    assert sorted(b for _, rights in seen[0] for b in rights) == list(range(20))
    assert all(sum(number in lefts for lefts, _ in seen[0]) > 1 for number in numbers), (
        "equal rows are in several shares"
    )


def test_equal_and_nearly_equal_rows_of_a_hot_key_are_told_apart_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.step.delivery, "LEAST_HELD_BYTES", 2**10)
    monkeypatch.setattr(sooner.spark.step.staging, "MOST_AT_ONCE_BYTES", 2**13)
    left = pa.table({"k": [7] * 600, "a": [0.0, -0.0, None] * 200})
    plan = plan_of(left.schema, left.schema, tmp_path, memory_bytes=2**10)
    seen = []
    for seed in (1, 2, 3):
        with deliveries(plan, Arriving(left, left).batches(plan, seed=seed)) as [arrivals]:
            seen.append([Counter(map(repr, rows["a"].to_pylist())) for rows, _ in arrivals.pieces(2**20)])
    assert len(seen[0]) > 2
    assert seen[0] == seen[1] == seen[2]
    assert all(max(piece.values()) - min(piece.values()) <= 1 for piece in seen[0]), "each share gets its part"


def test_staging_codes_a_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coded: Counter[str] = Counter()

    def counted(batch: pa.RecordBatch, columns: list[str], types: list[pa.DataType]) -> object:
        coded["rows"] += batch.num_rows
        return code_rows(batch, columns, types)

    monkeypatch.setattr(sooner.operators.order, "code_rows", counted)
    monkeypatch.setattr(sooner.spark.step.delivery, "LEAST_HELD_BYTES", 2**10)
    plan = plan_of(LEFT.schema, RIGHT.schema, tmp_path, memory_bytes=2**10)
    with deliveries(plan, Arriving(LEFT, RIGHT).batches(plan, seed=1)) as [arrivals]:
        assert len(list(arrivals.pieces(100))) > 100
    assert coded["rows"] == LEFT.num_rows + RIGHT.num_rows
