"""Rows of a large batch on local disk: private, and gone however the task ends."""

import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import sooner.spark.arrivals
from join_steps import Arriving, plan_of
from queries import numbered
from sooner.spark.arrivals import Arrivals

LEFT, RIGHT = numbered(500, 50, 1, "a"), numbered(500, 50, 2, "b")
KILLED_WORKER = """
import os, signal, sys
from sooner.runs.private_directory import PrivateDirectory
directory = PrivateDirectory("staging", sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_staged_rows_are_private_and_go_and_so_do_those_of_killed_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.arrivals, "LEAST_HELD_BYTES", 2**10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED_WORKER, str(tmp_path)])
    [of_the_killed] = tmp_path.iterdir()
    plan = plan_of(LEFT.schema, RIGHT.schema, tmp_path / "elsewhere", memory_bytes=2**10)
    with Arrivals(plan, Arriving(LEFT, RIGHT).batches(plan, seed=1)) as arrivals:
        [directory] = tmp_path.iterdir()
        assert directory != of_the_killed
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert any(path.suffix == ".arrows" for path in directory.iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
        assert sum(left.num_rows for left, _ in arrivals.pieces(2**12)) == LEFT.num_rows
    assert list(tmp_path.iterdir()) == []
