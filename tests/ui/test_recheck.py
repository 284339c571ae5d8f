"""Results of older code whose curves are the same count as of this code; others have to be run anew."""

import json
from pathlib import Path
from typing import Any

import pytest

from sooner.lab.code_version import code_version
from sooner.lab.experiments import EXPERIMENTS
from sooner.ui.command_line import main
from sooner.ui.lab_commands import RUN_WITH

NAME, SMALL = "flush-a", ["--scale", "250", "--workers", "1", "-q"]
OLDER = "0123456789ab"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    main(["lab", "run", NAME, *SMALL, "--seed", "3", "--seeds", "2", "--json", str(tmp_path), "--kept", str(tmp_path)])
    return tmp_path


def recheck(folder: Path, *names: str) -> int:
    return main(["lab", "recheck", str(folder), *names, *SMALL, "--kept", str(folder)])


def changed(folder: Path, **values: Any) -> dict[str, Any]:
    file = folder / f"{NAME}.json"
    result: dict[str, Any] = json.loads(file.read_text()) | values
    file.write_text(json.dumps(result))
    return result


def result_in(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / f"{NAME}.json").read_text())
    return result


def test_a_result_with_the_same_curves_gets_the_mark_of_this_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = changed(folder, code=OLDER)
    assert recheck(folder, NAME) == 0
    mark = code_version(EXPERIMENTS[NAME])
    assert result_in(folder) == before | {"code": mark, RUN_WITH: OLDER}
    assert "has the same curves" in capsys.readouterr().out
    changed(folder, code="ba9876543210")
    assert recheck(folder) == 0
    assert result_in(folder)[RUN_WITH] == OLDER  # nothing but that code ran all of its seeds


def test_a_result_with_other_curves_stays_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = result_in(folder)["series"]
    series["hmj"]["results"][-1] += 1
    before = changed(folder, code=OLDER, series=series)
    assert recheck(folder) == 1
    assert result_in(folder) == before
    assert "differs: run it anew" in capsys.readouterr().out


def test_a_result_of_other_claims_stays_as_it_is(folder: Path) -> None:
    claims = result_in(folder)["claims"]
    claims[0]["tolerance"] = "a number of the paper"
    before = changed(folder, code=OLDER, claims=claims)
    assert recheck(folder) == 1
    assert result_in(folder) == before


def test_a_result_of_this_code_is_not_run_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sooner.lab.running._run", None)
    before = (folder / f"{NAME}.json").read_text()
    assert recheck(folder) == 0
    assert (folder / f"{NAME}.json").read_text() == before
    assert "is of this code" in capsys.readouterr().out


def test_what_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck(tmp_path) == 2
    assert "has no results of these experiments" in capsys.readouterr().err
    assert recheck(tmp_path, "flush-x") == 2
    assert "did you mean flush-" in capsys.readouterr().err
