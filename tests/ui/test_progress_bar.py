"""The bar of long work: how much is done, how long it may take, and silence where nobody watches."""

import sys

import pytest

from sooner.ui.progress_bar import ProgressBar, line


def test_it_tells_the_share_the_time_and_what_was_done() -> None:
    assert line(0.5, 30.0, "rpj-8a hmj") == f"[{'#' * 15}{'.' * 15}]  50%, about 30 s left: rpj-8a hmj"
    assert "about 9 min left" in line(0.1, 60.0, "x")
    assert "no time known yet" in line(0.0, 0.0, "starting")


def test_a_file_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar.tell(0.5, "half")
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_one_line_which_is_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressBar() as bar:
        bar.tell(0.5, "half")
    written = capsys.readouterr().err
    assert "half" in written
    assert "\n" not in written
    assert written.endswith("\r\x1b[2K")
