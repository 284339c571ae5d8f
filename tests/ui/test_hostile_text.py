"""Whatever is in data, names and paths, the command line shows it as text: no markup, no escape, no traceback."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib.figure
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from rich.console import Console

import sooner
from sooner.lab.experiment import Report
from sooner.lab.experiments import EXPERIMENTS
from sooner.ui.command_line import main
from sooner.ui.live_view import live_view
from sooner.ui.plots import draw
from sooner.ui.results_page import results_page

VALUES = ["[/nope]", "[red]x", "\x1b[31mred", "\x07bell", "two\nlines", "\u202edet", "漢字", "x" * 300, "<b>|`$a$"]
SHOWN = ["[/nope]", "[red]x", r"\x1b[31mred", r"\x07bell", r"two\nlines", r"\u202edet", "漢字", "x" * 300, "<b>|`$a$"]
NAME = "[/c]\x1b[1m\nd"
SHOWN_NAME = r"[/c]\x1b[1m\nd"
COMMAND = [sys.executable, "-m", "sooner"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("[red]\x1b[31m")
    arrow_parquet.write_table(pa.table({"k": range(len(VALUES)), "g": VALUES, NAME: VALUES}), folder / "left.parquet")
    arrow_parquet.write_table(pa.table({"k": range(len(VALUES))}), folder / "[right]\n.parquet")
    return [str(folder / "left.parquet"), str(folder / "[right]\n.parquet")]


def asked(files: Sequence[str], name: str = NAME, by: str = "g") -> list[str]:
    return ["estimate", *files, "--on", "k", "--aggregate", f"{name}=count", "--by", by]


def only_text(printed: str) -> bool:
    return all(line.isprintable() for line in printed.split("\n"))


def test_groups_and_names_are_shown_as_they_are(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(files)) == 0
    printed = capsys.readouterr()
    assert only_text(printed.out + printed.err)
    lines = [line.split() for line in printed.out.splitlines()]
    for value in SHOWN:
        assert [*value.split(), SHOWN_NAME, "1"] in lines


def test_rows_are_shown_as_they_are(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    tables = ["--table", f"a={files[0]}", "--table", f"b={files[1]}"]
    assert main(["sql", "SELECT * FROM a JOIN b ON a.k = b.k", *tables]) == 0
    printed = capsys.readouterr()
    assert only_text(printed.out + printed.err)
    assert SHOWN_NAME in printed.out and all(value in printed.out for value in SHOWN)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["{right}.no", "{left}"], r"[right]\n.parquet.no"),
        (["{left}", "{right}", "--by", "\x1b[31m"], r"\x1b[31m"),
        (["{left}", "{right}", "--where", "\x1b[31m\n"], r"\x1b[31m\n"),
        (["{left}", "{right}", "--\x1b[31m"], r"--\x1b[31m"),
        (["{left}", "{right}", "--memory", "\x1b[31m"], r"\x1b[31m"),
        (["\udcff.parquet", "{right}"], r"\udcff.parquet"),
    ],
)
def test_a_refusal_is_one_line_of_text(
    files: list[str], arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one.format(left=files[0], right=files[1]) for one in arguments]
    try:
        code = main(["estimate", *given, "--on", "k", "--aggregate", "n=count"])
    except SystemExit as end:
        code = int(str(end.code))
    printed = capsys.readouterr()
    assert code in (1, 2)
    assert printed.out == "" and printed.err.count("\n") == 1 and only_text(printed.err)
    assert shown in printed.err


def test_a_name_that_is_not_utf_8_is_refused_in_a_sentence(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet")
    Path(odd).write_bytes(Path(files[0]).read_bytes())
    assert main(asked([odd, files[1]])) == 1
    assert r"\udcff.parquet cannot be read: its name is not UTF-8; rename it" in capsys.readouterr().err
    assert main(["shuffle", files[0], odd]) == 1
    assert r"\udcff.parquet' is not UTF-8; give another name" in capsys.readouterr().err
    with pytest.raises(sooner.errors.InvalidJoin, match=r"spill_dir=.*cannot be followed"):
        sooner.join(files[0], files[1], on="k", spill_dir=odd)


def test_a_file_that_was_written_is_named_as_text(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shuffle", files[0], str(tmp_path / "\x1b[31m.parquet")]) == 0
    assert only_text(capsys.readouterr().out)


def test_a_terminal_a_narrow_encoding_and_a_reader_who_leaves_are_served(files: list[str]) -> None:
    """In processes of their own, at the same time."""
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "400"}
    wide = {**os.environ, "COLUMNS": "400", "TERM": "xterm"}
    outside, inside = pty.openpty()
    living = subprocess.Popen([*COMMAND, *asked(files)], stdout=inside, stderr=inside, stdin=inside, env=wide)
    narrow = subprocess.Popen([*COMMAND, *asked(files)], stdout=-1, stderr=-1, env=ascii_only)
    impatient = subprocess.Popen([*COMMAND, "lab", "list"], stdout=-1, stderr=-1)
    closed = subprocess.Popen(["/bin/sh", "-c", f"{COMMAND[0]} -m sooner algorithms >&-"], stdout=-1, stderr=-1)

    assert impatient.stdout is not None and impatient.stderr is not None
    impatient.stdout.close()
    with impatient.stderr as complaints:
        assert complaints.read() == b"" and impatient.wait() == 1
    assert closed.communicate() == (b"", b"") and closed.returncode == 0

    out, err = narrow.communicate()
    assert narrow.returncode == 0 and err == b""
    assert only_text(out.decode("ascii")) and rb"\u6f22\u5b57" in out

    os.close(inside)
    printed = _all_of(outside).decode()
    assert living.wait() == 0
    assert all(value[:9] in printed for value in SHOWN) and SHOWN_NAME in printed
    assert not any(value in printed for value in VALUES[2:6])


def _all_of(descriptor: int) -> bytes:
    read = b""
    with open(descriptor, "rb", buffering=0) as stream:
        try:
            while piece := stream.read(65_536):
                read += piece
        except OSError:  # of a terminal that nobody has open any more
            pass
    return read


def test_the_title_of_a_live_view_is_text(files: list[str]) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    progress = sooner.join(*files, on="k").progress
    console.print(live_view("[/nope]\x1b[31m", progress, 1.0, 2**20))
    assert r"[/nope]\x1b[31m" in console.export_text()


def test_a_page_of_results_has_no_tag_and_no_cell_that_a_report_made() -> None:
    claim = {"what": "a | b\n| c", "expected": "<script>x</script>", "ours": "&lt; [a](b)", "holds": True}
    document = {"name": "x\n# y", "title": "<b>t", "machine": "m\n|", "claims": [claim]}
    page = results_page([document])
    assert r"| a \| b\n\| c | \<script>x\</script> | \&lt; [a\](b) | holds |" in page.splitlines()
    assert "\n# y" not in page and "\n<" not in page


def test_nothing_of_an_experiment_ends_its_folded_tables_or_makes_a_link() -> None:
    hostile = "a | b\n</details><script>[c](d)&lt;"
    shown = r"a \| b\n\</details>\<script>[c\](d)\&lt;"
    keys = ("section", "what", "quantity", "expected", "tolerance", "ours", "seeds", "why", "fails_on")
    claim = dict.fromkeys(keys, hostile) | {"holds": False, "verdict": "does not hold"}
    document = dict.fromkeys(("name", "paper", "title", "machine", "code"), hostile) | {"claims": [claim]}
    page = results_page([document | {"measurements": [{"what": hostile, "ours": hostile}]}])
    assert page.count(hostile) == 0 and page.count("\n</details>\n") == 1 and "\n<script" not in page
    assert page.count(shown) == page.count("<script>") == page.count("[c") >= 18
    assert f" | {shown} | {shown} (holds with {shown}) | {shown} |\n" in page


def test_dollars_in_a_picture_are_dollars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda self, *_, **__: drawn.append(self))
    experiment = EXPERIMENTS["rpj-8a"]
    curve = {"seconds": [0, 1], experiment.figure.column: [0, 1], "last_arrival_seconds": 1.0}
    report = Report.__new__(Report)
    object.__setattr__(report, "series", {r"$\nope{$\x": curve})
    draw(experiment, report, tmp_path / "a.png")
    [label] = drawn[0].axes[0].get_legend().get_texts()
    assert label.get_text() == r"$\nope{$\x" and not label.get_parse_math()
    drawn[0].canvas.draw()


def test_a_notebook_shows_names_and_groups_as_text(files: list[str]) -> None:
    html = sooner.join(*files, on="k")._repr_html_()
    assert SHOWN_NAME in html and "\x1b" not in html
    estimate = sooner.estimate(*files, on="k", aggregates={NAME: "count"}, by="g").final()
    assert all(only_text(text) for text in (estimate._repr_html_(), str(estimate)))
    assert "&lt;b&gt;" in estimate._repr_html_() and len(str(estimate).splitlines()) == len(VALUES) + 1
    assert json.dumps(VALUES[4])[1:-1] in str(estimate)
