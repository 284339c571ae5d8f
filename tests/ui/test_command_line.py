"""The command `sooner`: tables, experiments, files, and sentences instead of tracebacks."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as arrow_parquet
import pytest

from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.races import rpj
from sooner.named_algorithms import ALGORITHMS
from sooner.ui import demo
from sooner.ui.command_line import main

PNG = b"\x89PNG\r\n"


@pytest.fixture(autouse=True)
def short_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpj, "ROWS", 200_000)
    monkeypatch.setenv("COLUMNS", "200")


def test_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list"]) == 0
    listed = capsys.readouterr().out
    lines = dict(zip(EXPERIMENTS, listed.splitlines()[1:], strict=True))
    assert all(lines[name].startswith(name) and one.title in lines[name] for name, one in EXPERIMENTS.items())
    assert all(lines[name].endswith(f" {one.seconds:.0f} s") for name, one in EXPERIMENTS.items())


def test_the_algorithms_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms"]) == 0
    listed = capsys.readouterr().out
    assert all(a.name in listed and a.summary in listed for a in ALGORITHMS.values())
    assert listed.splitlines()[1].startswith("auto ")


def test_an_experiment_prints_claims_and_writes_json_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report_file, picture = tmp_path / "8a.json", tmp_path / "8a.png"
    arguments = ["--scale", "250", "--seed", "7", "--json", str(report_file), "--plot", str(picture)]
    assert main(["lab", "run", "rpj-8a", *arguments]) == 0
    printed = capsys.readouterr().out
    report = json.loads(report_file.read_text())
    assert list(report) == ["name", "paper", "title", "machine", "code", "seeds", "claims", "measurements", "series"]
    assert report["name"] == "rpj-8a"
    assert "seed 7" in report["machine"]
    for claim in report["claims"]:
        assert claim.keys() >= {"section", "what", "quantity", "expected", "tolerance", "ours", "seeds", "verdict"}
        assert claim["ours"] in printed
    for measured in report["measurements"]:
        assert measured["ours"] in printed
    assert len(report["series"]["rpj"]["results"]) == 200
    assert picture.read_bytes().startswith(PNG)


def test_what_is_kept_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SystemExit):
        main(["lab", "run", "rpj-9b", "--kept", str(file)])
    assert "cannot be a folder: File exists" in capsys.readouterr().err
    assert main(["lab", "run", "rpj-9b", "--scale", "250", "--kept", str(tmp_path / "new" / "folder")]) == 0
    assert list((tmp_path / "new" / "folder").iterdir())


def test_a_picture_in_a_folder_has_the_name_of_its_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "run", "rpj-9b", "--scale", "250", "--plot", "."]) == 0
    assert (tmp_path / "rpj-9b.png").read_bytes().startswith(PNG)


def test_a_picture_of_costs_can_be_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "9b.png"
    assert main(["lab", "run", "rpj-9b", "--scale", "250", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(PNG)


def test_the_same_seed_writes_the_same_json(tmp_path: Path) -> None:
    files = [tmp_path / "first.json", tmp_path / "again.json"]
    for file in files:
        assert main(["lab", "run", "rpj-9a", "--scale", "250", "--json", str(file)]) == 0
    assert files[0].read_text() == files[1].read_text()


def test_several_experiments_run_at_once_and_write_a_file_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--scale", "250", "--seeds", "2", "--json", str(tmp_path), "--plot", str(tmp_path)]
    assert main(["lab", "run", "rpj-8[bc]", "flush-a", *arguments]) == 0
    names = {"rpj-8b", "rpj-8c", "flush-a"}
    assert {file.name for file in tmp_path.iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("json", "png")
    }
    printed = capsys.readouterr().out
    assert all(f"{name}: {EXPERIMENTS[name].title}" in printed for name in names)
    assert "seeds 0, 1" in printed


def test_several_experiments_cannot_write_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "all", "--json", str(tmp_path / "one.json")]) == 2
    assert "give --json and --plot a folder that is there" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--seeds", "--workers"])
def test_nothing_cannot_be_run(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "rpj-8a", option, "0"]) == 2
    assert "must be 1 or more" in capsys.readouterr().err


def test_an_unknown_experiment_is_answered_with_the_nearest_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "rpj8a"]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.startswith("sooner: there is no experiment 'rpj8a'; did you mean rpj-8")
    assert answer.err.count("\n") == 1


def test_an_experiment_unlike_any_other_is_answered_with_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "zzz"]) == 2
    assert "`sooner lab list`" in capsys.readouterr().err


def test_what_sooner_refuses_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "run", "rpj-8a", "--scale", "0"]) == 1
    answer = capsys.readouterr().err
    assert answer.startswith("sooner: --scale 0 is not possible")
    assert answer.count("\n") == 1


def test_a_file_that_could_not_be_written_is_refused_before_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["lab", "run", "rpj-8a", "--json", "/no/such/directory/8a.json"])
    assert stop.value.code == 2
    assert "there is no directory '/no/such/directory'" in capsys.readouterr().err


@pytest.mark.parametrize("picture", ["x.foo", "x", "x.png.", "/no/such/directory/x.png"])
def test_a_picture_that_could_not_be_drawn_is_refused_before_the_work(
    picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["lab", "run", "rpj-8a", "--plot", picture])
    assert stop.value.code == 2
    answer = capsys.readouterr().err
    assert answer.startswith("sooner lab run: argument --plot: ")
    assert answer.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


REPORT = {"name": "mine", "machine": {"cores": 2}, "claims": [{"what": "w", "expected": "e", "ours": 1, "holds": True}]}


def test_a_page_of_results_is_written_from_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, page = tmp_path / "report.json", tmp_path / "page.md"
    report.write_text(json.dumps(REPORT))
    assert main(["results", str(report), "--to", str(page)]) == 0
    assert "| w | e | 1 | holds |" in page.read_text()
    assert {*tmp_path.iterdir()} == {report, page}
    assert capsys.readouterr().out == f"wrote {page}\n"


def test_the_pictures_of_a_page_are_written_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    curve = {"seconds": [0, 1], "results": [0, 5], "total_results": 20, "last_arrival_seconds": 1}
    report = REPORT | {"name": "rpj-8a", "paper": "RPJ", "series": dict.fromkeys(("rpj", "hmj", "xjoin"), curve)}
    (tmp_path / "8a.json").write_text(json.dumps(report))
    page = tmp_path / "page.md"
    for _ in range(2):  # the folder may be there
        assert main(["results", str(tmp_path), "--to", str(page)]) == 0
    assert [file.name for file in (tmp_path / "pictures").iterdir()] == ["rpj.svg"]
    assert "](pictures/rpj.svg)" in page.read_text()
    assert capsys.readouterr().out == f"wrote {page}, with 1 picture in {tmp_path / 'pictures'}\n" * 2


def test_a_page_of_a_folder_has_a_summary_with_reasons_and_the_experiments_of_papers_first(tmp_path: Path) -> None:
    failing = {"what": "f", "expected": "e", "ours": 2, "holds": False, "verdict": "does not hold", "why": "because"}
    tie = failing | {"what": "t", "verdict": "tie", "why": "both rest"}
    paper = REPORT | {"name": "rpj-8a", "paper": "RPJ", "title": "progress", "code": "abc", "claims": [failing, tie]}
    paper |= {"measurements": [{"what": "m", "ours": "5%"}]}
    (tmp_path / "a.json").write_text(json.dumps(REPORT))
    (tmp_path / "z.json").write_text(json.dumps(paper))
    page = tmp_path / "page.md"
    assert main(["results", str(tmp_path), "--to", str(page)]) == 0
    text = page.read_text()
    assert "| [rpj-8a](#rpj-8a) | f | 2 | because |\n| [rpj-8a](#rpj-8a) | t | 2 | both rest |" in text
    assert "| f | e | 2 | **does not hold**: because |\n| t | e | 2 | tie: both rest |" in text
    assert "| m | 5% |" in text
    assert "code abc" in text
    assert text.index("## rpj-8a") < text.index("## mine")


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (None, "cannot be read: No such file"),
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("\x00\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "not with a name, a machine and claims"),
        ('"text"', "not with a name, a machine and claims"),
        (json.dumps(REPORT | {"claims": 5}), "not with a name, a machine and claims"),
        (json.dumps(REPORT | {"claims": ["w"]}), "not with a name, a machine and claims"),
        (json.dumps(REPORT | {"claims": [{"what": "w"}]}), "not with a name, a machine and claims"),
        (json.dumps(REPORT | {"machine": 5}), "not with a name, a machine and claims"),
    ],
    ids=["missing", "empty", "cut", "binary", "deep", "list", "text", "number", "words", "half a claim", "machine"],
)
def test_results_of_a_missing_or_odd_file_are_refused_in_one_line_and_nothing_is_written(
    content: str | None, mentions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd, page = tmp_path / "odd.json", tmp_path / "page.md"
    if content is not None:
        odd.write_bytes(content.encode("latin-1"))
    assert main(["results", str(odd), "--to", str(page)]) == 1
    answer = capsys.readouterr().err
    assert answer.startswith(f"sooner: {odd} ")
    assert mentions in answer
    assert answer.count("\n") == 1
    assert not page.exists()


@pytest.mark.parametrize("arguments", [[], ["lab"], ["no-such-command"]])
def test_a_command_that_is_not_understood_has_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("same", "exit_code"), [(True, 0), (False, 1)])
def test_a_demo_whose_answer_differs_has_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, same: bool, exit_code: int
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda *_: same)
    assert main(["demo"]) == exit_code


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["--speed", "0"], "'0' is not a finite number above 0"),
        (["--speed", "abc"], "argument --speed: 'abc' is not a finite number above 0"),
        (["--scale", "nan"], "'nan' is not a finite number above 0"),
        (["--seed", "-1"], "'-1' is not a whole number from 0 on"),
        (["--seed", "9" * 5000], "is not a whole number from 0 on"),
        (["--picture", "x.foo"], "'x.foo' is no picture"),
    ],
)
def test_a_demo_that_cannot_be_is_refused_before_anything_starts(
    arguments: list[str], mentions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["demo", *arguments])
    assert stop.value.code == 2
    answer = capsys.readouterr().err
    assert mentions in answer
    assert answer.count("\n") == 1


def test_a_demo_without_spark_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "sooner.ui.demo")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert main(["demo"]) == 1
    answer = capsys.readouterr().err
    assert answer == "sooner: The demo needs pyspark; run: pip install '.[demo]' (in the checkout of sooner)\n"


def test_an_interrupted_command_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_demo", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "sooner: interrupted\n"


def test_a_table_is_shuffled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text("\n".join(["n", *map(str, range(1_000))]))
    output = tmp_path / "out.parquet"
    assert main(["shuffle", str(tmp_path / "in.csv"), str(output), "--seed", "3", "--memory", "16MB"]) == 0
    assert capsys.readouterr().out == f"wrote {output}: 1,000 rows in random order\n"
    numbers = arrow_parquet.read_table(output)["n"].to_pylist()
    assert sorted(numbers) == list(range(1_000)) != numbers
    assert main(["shuffle", str(tmp_path / "none.csv"), str(output)]) == 1
    assert "there is no file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["shuffle", str(tmp_path / "in.csv"), str(output), "--memory", "much"])
    assert "is not a size" in capsys.readouterr().err
