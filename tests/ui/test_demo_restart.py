"""The demo's second act, with drivers that only say how far they are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sooner.ui import demo_restart
from sooner.ui.demo_restart import DriverFailed, results_when_killed
from sooner.ui.interrupts import Interrupts

DRIVER = """
import time
for results in (0, 20):
    print(results, flush=True)
time.sleep(600)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    def run(program: str) -> int:
        (tmp_path / "made_up_driver.py").write_text(program)
        return results_when_killed([str(tmp_path / "pid")], Interrupts())

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(demo_restart, "PROGRAM", "made_up_driver")
    return run


def test_a_driver_is_killed_once_it_has_results(run: Callable[[str], int], tmp_path: Path) -> None:
    says_who_it_is = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))"
    assert run(says_who_it_is + DRIVER) == 20
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_driver_that_has_ended_by_then_is_an_error(run: Callable[[str], int]) -> None:
    with pytest.raises(DriverFailed, match="ended before it could be killed"):
        run("print(0)")


def test_a_driver_that_fails_says_why(run: Callable[[str], int]) -> None:
    with pytest.raises(DriverFailed, match="no such table"):
        run("raise SystemExit('no such table')")
