"""Races of several experiments: each is run once, on one processor or several, with the same files in the end."""

import json

import pytest

from sooner.lab.code_version import code_version, meaning, version_of
from sooner.lab.experiments import EXPERIMENTS, rpj
from sooner.lab.experiments.rpj import RpjRace
from sooner.lab.running import run_experiments

CHOSEN = [EXPERIMENTS["rpj-8b"], EXPERIMENTS["rpj-9b"]]


@pytest.fixture(autouse=True)
def short_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpj, "ROWS", 50_000)


def reports_of(workers: int, told=lambda *_: None) -> dict[str, str]:
    reports = run_experiments(CHOSEN, 250, range(2), workers, told)
    return {report.name: json.dumps(report.to_plain()) for report in reports}


def test_one_processor_and_several_give_the_same() -> None:
    assert reports_of(workers=1) == reports_of(workers=2)


def test_each_race_is_run_once_and_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[RpjRace, int]] = []
    run = RpjRace.run

    def counted(self: RpjRace, scale: int, seed: int):
        runs.append((self, seed))
        return run(self, scale, seed)

    monkeypatch.setattr(RpjRace, "run", counted)
    shares: list[float] = []
    reports_of(1, lambda share, _: shares.append(share))
    assert len(runs) == len({*runs}) == 2 * (5 + 9 - 3)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_the_version_of_the_code_changes_with_the_code_and_not_with_its_comments() -> None:
    code = 'def f(x: int) -> int:\n    """Says."""\n    return x + 1\n'
    assert meaning(code) == meaning('"""Module."""\n\n# why\ndef f(x: int) -> int:\n    return (x + 1)\n')
    assert meaning(code) != meaning(code.replace("+ 1", "+ 2"))
    assert code_version(EXPERIMENTS["rpj-8a"]) == code_version(EXPERIMENTS["rpj-8b"])
    assert code_version(EXPERIMENTS["rpj-8a"]) != version_of(("rpj",))
