"""The bar of a query: rows of how many, how far, how fast, how long still; on a terminal, and as plain HTML."""

import sys
import threading

import pyarrow as pa
import pytest

import sooner
from patience import until
from queries import numbered
from sooner.local.running import QueryProgress
from sooner.ui.dashboard.time_left import TimeLeft
from sooner.ui.query_bar import html_of, in_words, share_of

LEFT, RIGHT = numbered(20_000, 4_000, seed=1, name="a"), numbered(10_000, 4_000, seed=2, name="b")


def half_way(expected: tuple[int | None, int | None] = (4000, 2000)) -> QueryProgress:
    told = ("arriving", (2000, 1000), (1000, 500), 1, 1, (1000, 500), 1, (0, 0), 700, 10.0, 4.0)
    return QueryProgress(*told, expected_rows=expected, seconds=3.0)  # type: ignore[arg-type]


def test_a_query_says_of_how_many_rows() -> None:
    query = sooner.join(LEFT, RIGHT, on="k")
    assert query.progress.expected_rows == (20_000, 10_000)
    assert query.progress.read_fraction == 0.0
    query.to_table()
    assert query.progress.read_fraction == 1.0
    seconds = query.progress.seconds
    assert seconds > 0
    assert query.progress.seconds == seconds  # it has ended
    unknown = sooner.join(LEFT.to_reader(), RIGHT, on="k")
    assert unknown.progress.expected_rows == (None, 10_000)
    assert unknown.progress.read_fraction is None


def test_what_it_says() -> None:
    said = in_words(half_way(), TimeLeft(3.0, 0.5), 1000.0)
    assert said == (
        "arriving, 3,000 of 6,000 rows, 40% of their pairs, 700 results, 1,000 rows/s, about 3.0 s left (± 0.5 s)"
    )
    assert in_words(half_way((None, 2000)), None, 0.0) == "arriving, 3,000 rows, 40% of their pairs, 700 results"
    assert share_of(half_way(), TimeLeft(9.0, None)) == 0.25
    assert share_of(half_way(), None) == 0.5
    assert share_of(half_way((None, None)), None) is None


def test_as_html_it_is_only_text() -> None:
    assert html_of(0.25, "<b>") == '<div><progress max="1" value="0.2500"></progress> <span>&lt;b&gt;</span></div>'
    assert html_of(None, "x") == '<div><progress max="1"></progress> <span>x</span></div>'


def test_a_terminal_gets_a_line_until_the_query_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "150")
    query = sooner.join(LEFT, RIGHT, on="k")
    bar = query.progress_bar()
    table: pa.Table = query.to_table()
    bar.close()
    written = capsys.readouterr().err
    assert f"] 100%, done, 30,000 of 30,000 rows, 100% of their pairs, {table.num_rows:,} results" in written
    assert written.endswith("\r\x1b[2K")
    until(lambda: not any(thread.name == "sooner-bar" for thread in threading.enumerate()))
