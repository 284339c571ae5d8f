"""Thousands of micro-batches: nothing creeps. The benchmark is the test, in a process and a Java of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "long_run.py"


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2])
def test_time_files_and_memory_are_level_in_the_second_half_of_2000_batches(partitions: int, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    subprocess.run([sys.executable, BENCHMARK, f"--partitions={partitions}", f"--json={found}"], check=True)
    claims = json.loads(found.read_text())["claims"]
    assert len(claims) == 8
    assert [claim for claim in claims if not claim["holds"]] == []
