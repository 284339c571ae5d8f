"""`sooner demo` from the first line to the last: what it shows, what it compares, and that nothing is left of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from patience import HANG_SECONDS
from sooner.runs.custody.shared_memory_directory import SHARED_MEMORY

COMMAND = "import sys; from sooner.ui.command_line import main; sys.exit(main())"
PNG = b"\x89PNG\r\n"


@pytest.mark.long  # three sessions of Spark, a minute and a half
def test_a_small_demo_shows_results_and_the_right_answer_and_leaves_nothing(tmp_path: Path) -> None:
    temporary, picture = tmp_path / "temporary files", tmp_path / "demo.png"
    temporary.mkdir()
    arguments = ["demo", "--scale", "0.003", "--speed", "40", "--seed", "3", "--picture", str(picture)]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        output, errors = demo.communicate(timeout=HANG_SECONDS)
    assert errors == ""
    assert demo.returncode == 0
    assert re.search(r"joins \d\d,\d{3} order lines with 4,500 orders", output)
    assert re.search(r" s  arriving: .* spilled$", output, re.MULTILINE)
    assert re.search(r" s  done: .* 100.0% of their pairs covered", output)
    for mark in ("first", "1%", "10%", "50%", "100%"):
        assert re.search(rf"^ +{mark} +\d+\.\d s", output, re.MULTILINE)
    assert re.search(r"^The last row arrived after \d+\.\d s.* then takes \d+\.\d s", output, re.MULTILINE)
    assert re.search(r"in memory, and [1-9].* on disk only", output), "the memory was not small enough"
    assert "The answer is the same as that of Spark's batch join" in output
    assert re.search(r"^See it in a browser while it runs: http://127\.0\.0\.1:\d+/", output, re.MULTILINE)
    assert re.search(r"revenue of all lines was known to 1% after \d+\.\d s, with \d+% of the rows: [\d,]+ ± ", output)
    assert re.search(r"killed with [1-9][\d,]* results written. .* the answer is the same\.$", output, re.MULTILINE)
    assert "sooner join orders.parquet customers.csv" in output
    assert picture.read_bytes().startswith(PNG)
    assert list(temporary.iterdir()) == []
    assert list(SHARED_MEMORY.glob(f"sooner-demo-{demo.pid}-*")) == []
