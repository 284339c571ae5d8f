"""`sooner dashboard`, `--dashboard` of other commands."""

import argparse
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import sooner
from dashboards import Page
from queries import numbered, refused
from sooner.ui.command_line import main
from sooner.ui.dashboard.comparing import Comparison
from sooner.ui.dashboard.recorded import RecordedQuery
from sooner.ui.dashboard.server import PAGE, Server
from sooner.ui.dashboard.subject import DONE
from sooner.ui.dashboard_command import subject_of
from sooner.ui.dashboard_option import add_dashboard_option, shown
from sooner.ui.exit_codes import FAILED

LEFT, RIGHT = numbered(20_000, 4_000, seed=1, name="a"), numbered(20_000, 4_000, seed=2, name="b")
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.jsonl"
    sooner.join(LEFT, RIGHT, on="k", memory="400kB", algorithm="xjoin", trace=file).to_table()
    return file


def test_the_command_shows_a_trace_until_it_is_interrupted(trace: Path) -> None:
    command = [sys.executable, "-m", "sooner", "dashboard", str(trace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        page = Page(running.stdout.readline().strip())
        told = page.news()
        assert told["state"]["results"] == LEFT.join(RIGHT, "k", join_type="inner").num_rows
        assert told["over"] == "a trace that was kept"
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0
        assert running.stderr is not None
        assert running.stderr.read() == ""


def test_a_kept_trace_ends_as_the_query_did(trace: Path) -> None:
    kept = RecordedQuery(trace)
    frames = kept.about()["frames"]
    results = [frame["results"] for frame in frames]
    assert results == sorted(results)
    assert frames[-1]["phase"] == "done"
    assert sum(frames[-1]["rectangles"][0]["shares"]) == pytest.approx(1.0, abs=1e-6)
    assert frames[-1]["rows"] == [20_000, 20_000]
    assert 0 < kept.early_results < results[-1]


def test_several_traces_are_compared(trace: Path) -> None:
    compared = subject_of([str(trace), str(trace)])
    assert isinstance(compared, Comparison)
    first, second = compared.about()["runs"]
    assert first["name"] == "xjoin (trace.jsonl)"
    assert first["early"] == second["early"]


def test_races_of_a_report_of_the_lab_are_compared_each_with_the_bound_of_its_setting() -> None:
    compared = subject_of([str(RESULTS / "rpj-8a.json")])
    assert isinstance(compared, Comparison)
    races = {one["name"]: one for one in compared.about()["runs"]}
    rpj, bound = races["rpj"], races["clairvoyant"]
    assert rpj["of_bound"] == rpj["early"] / bound["early"] < bound["of_bound"] == 1
    assert rpj["series"]["rows"][-1][:2] == (2110.403, 123_556_132)
    of_many = {one["name"]: one for one in Comparison.of_report(RESULTS / "miner-20.json").about()["runs"]}
    for memory in ("20%", "10%", "5%"):
        miner, bound = of_many[f"miner, 2 inputs, {memory}"], of_many[f"clairvoyant, {memory}"]
        assert miner["of_bound"] == pytest.approx(miner["early"] / bound["early"])


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]\n")
    for file in (tmp_path / "other.json", RESULTS / "local.json"):
        with refused(sooner.InvalidCall, "has no races in it; give what `sooner lab run --json` wrote"):
            subject_of([str(file)])
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "other.jsonl").write_text("[]\n")
    with refused(sooner.InvalidCall, "is empty; give a trace"):
        subject_of([str(tmp_path / "empty.jsonl")])
    with refused(sooner.InvalidCall, "is not of a trace that this version reads"):
        subject_of([str(tmp_path / "other.jsonl")])


def test_what_cannot_be_served_or_is_not_there_is_said_in_a_sentence(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = Server(RecordedQuery(trace))
    for arguments, said in (
        (["--port", "99999"], "--port 99999 is no port; give a number up to 65,535"),
        (["--port", str(urlsplit(taken.url).port)], "is not to be had: Address already in use; leave it out for any."),
        (["nothing"], "there is no trace at nothing; give what trace= named."),
    ):
        assert main(["dashboard", str(trace), *arguments]) == FAILED
        assert said in capsys.readouterr().err
    taken.close()


def test_a_command_may_show_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_dashboard_option(parser)
    for arguments, links in (([], 0), (["--dashboard"], 1)):
        query = sooner.join(LEFT, RIGHT, on="k")
        with shown(query, parser.parse_args(arguments)):
            printed = capsys.readouterr().err
            found = re.findall(r"dashboard: (http://127\.0\.0\.1:\d+/\S+/)\n", printed)
            assert len(found) == links
            pages = [Page(url) for url in found]
            query.to_table()
            assert [page.last()["over"] for page in pages] == [DONE] * links


def test_the_page_goes_into_the_wheel() -> None:
    package = ROOT / "src" / "sooner"
    taken = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    data = {file for pattern in taken["sooner"] for file in package.glob(pattern)}
    page = {*(package / "ui" / "dashboard" / "page").iterdir()}
    assert page <= data
    assert {file.name for file in page} == {name for name, _ in PAGE.values()} | {"uPlot-LICENSE.txt"}
