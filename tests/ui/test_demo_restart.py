"""The demo's second act, with drivers that only say how far they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sooner.ui import demo_restart
from sooner.ui.demo_restart import DriverFailed, Restart, killed_and_started_again
from sooner.ui.interrupts import Interrupts

# Goes on from what is in its file, and takes its time where it is to be killed.
DRIVER = """
import sys, time
from pathlib import Path
kept = Path(sys.argv[1])
first = int(kept.read_text()) if kept.exists() else 0
for results in range(first, 50, 10):
    kept.write_text(str(results))
    print(results, flush=True)
    time.sleep(600 if first == 0 and results == 20 else 0)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Restart]:
    def run(program: str) -> Restart:
        (tmp_path / "made_up_driver.py").write_text(program)
        return killed_and_started_again([str(tmp_path / "kept")], Interrupts())

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(demo_restart, "PROGRAM", "made_up_driver")
    return run


def test_a_driver_is_killed_with_results_and_another_goes_on(run: Callable[[str], Restart], tmp_path: Path) -> None:
    restart = run(DRIVER)
    assert restart.results_before == 20
    assert restart.seconds_away > 0
    assert (tmp_path / "kept").read_text() == "40"


def test_a_driver_that_has_ended_by_then_was_not_killed(run: Callable[[str], Restart]) -> None:
    assert run(DRIVER.replace("50", "20")) == Restart(10, 0.0, killed=False)


def test_a_driver_that_fails_says_why(run: Callable[[str], Restart]) -> None:
    with pytest.raises(DriverFailed, match="no such table"):
        run("raise SystemExit('no such table')")
