"""The bar and the line of long work: how much is done, how long it may take, and silence where nobody watches."""

import argparse
import sys
import time

import pytest

from sooner.ui import progress_bar, progress_line
from sooner.ui.progress_bar import Told, line


def test_a_bar_tells_the_share_the_time_and_what_was_done() -> None:
    assert line(0.5, 30.0, "rpj-8a hmj") == f"[{'#' * 15}{'.' * 15}]  50%, about 30 s left: rpj-8a hmj is done"
    assert "about 9 min left" in line(0.1, 540.0, "")


def test_in_between_the_clock_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now)
    told = Told(expected_seconds=40.0)
    now = 110.0
    assert " 25%, about 30 s left" in told.in_words()
    told.tell(0.5, "half")  # twice as fast as expected
    now = 115.0
    assert " 75%, about 5.0 s left: half is done" in told.in_words()
    now = 1_000.0
    assert " 99%, about 0.0 s left" in told.in_words()


def shown(options: argparse.Namespace, capsys: pytest.CaptureFixture[str]) -> str:
    with progress_line.progress_line(options, lambda: "half\x1b"):
        time.sleep(0.1)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("terminal", "quiet", "progress", "is_shown"),
    [(True, False, False, True), (True, True, False, False), (False, False, False, False), (False, False, True, True)],
)
def test_only_a_terminal_has_a_line_or_who_asks_for_it(
    terminal: bool,
    quiet: bool,
    progress: bool,
    is_shown: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(progress_line, "PATIENCE_SECONDS", 0.01)
    written = shown(argparse.Namespace(quiet=quiet, progress=progress), capsys)
    assert ("0:00, half\\x1b" in written) == is_shown
    assert written.endswith("\r\x1b[2K") == (terminal and is_shown)
    assert ("\n" in written) == (is_shown and not terminal)


def test_work_of_less_than_two_seconds_is_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(argparse.Namespace(quiet=False, progress=True), capsys) == ""
