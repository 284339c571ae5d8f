"""Races of several experiments: each is run once, on one processor or several, with the same files in the end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sooner.lab.code_version import c_meaning, code_version, imports_of, meaning, resting_on, version_of
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.races import rpj
from sooner.lab.races.rpj import RpjRace
from sooner.lab.running import run_experiments

CHOSEN = [EXPERIMENTS["rpj-8b"], EXPERIMENTS["rpj-9b"]]


@pytest.fixture(autouse=True)
def short_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpj, "ROWS", 50_000)


def reports_of(workers: int, told=lambda *_: None, kept: Path | None = None) -> dict[str, str]:
    reports = run_experiments(CHOSEN, 250, range(2), workers, told, kept)
    return {report.name: json.dumps(report.to_plain()) for report in reports}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RpjRace, int]]:
    """The races that are run, with their seeds."""
    found: list[tuple[RpjRace, int]] = []
    run = RpjRace.run

    def counted(self: RpjRace, scale: int, seed: int):
        found.append((self, seed))
        return run(self, scale, seed)

    monkeypatch.setattr(RpjRace, "run", counted)
    return found


def test_one_processor_and_several_give_the_same() -> None:
    assert reports_of(workers=1) == reports_of(workers=2)


def test_each_race_is_run_once_and_progress_is_told(runs: list[tuple[RpjRace, int]]) -> None:
    shares: list[float] = []
    reports_of(1, lambda share, _: shares.append(share))
    sound = [job for job in runs if not job[0].mutant]
    assert len(runs) == len({*runs})
    assert len(sound) == 2 * 5, "figure 9 has no race of its own"
    mutants = {race.mutant for race, _ in runs} - {""}
    assert mutants == {name.split(": ")[1] for one in CHOSEN for name in one.mutants}
    assert {seed for race, seed in runs if race.mutant} == {0}, "one seed is enough to see a claim fail"
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_what_was_run_is_kept_and_taken_again_by_whoever_asks(
    runs: list[tuple[RpjRace, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reports_of(1, kept=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(runs)
    runs.clear()
    assert reports_of(1, kept=tmp_path) == first
    assert runs == []
    monkeypatch.setattr("sooner.lab.kept_histories.version_of", lambda *_: "other code")
    assert reports_of(1, kept=tmp_path) == first
    assert len(runs) > 0, "a history is of the code that made it"


def test_the_version_of_the_code_changes_with_the_code_and_not_with_its_comments() -> None:
    code = 'def f(x: int) -> int:\n    """Says."""\n    return x + 1\n'
    assert meaning(code) == meaning('"""Module."""\n\n# why\ndef f(x: int) -> int:\n    return (x + 1)\n')
    assert meaning(code) != meaning(code.replace("+ 1", "+ 2"))
    assert c_meaning("int f(void) /* why */ { return 1; } // so") == c_meaning("int f(void)\n{ return 1; }")
    assert c_meaning("return 1;") != c_meaning("return 2;")
    assert code_version(EXPERIMENTS["rpj-8a"]) == code_version(EXPERIMENTS["rpj-8b"])
    assert code_version(EXPERIMENTS["rpj-8a"]) != code_version(EXPERIMENTS["rpj-9a"])


def test_a_result_depends_on_what_its_experiment_imports() -> None:
    of_pr_join, of_rpj = (resting_on(EXPERIMENTS[name].module) for name in ("pr-join-8", "rpj-8a"))
    assert "sooner.lab.races.pr_join_model" in of_pr_join - of_rpj
    assert {"sooner.lab.simulator", "sooner.named_algorithms", "sooner.runs.ledger", "sooner.kernels.native"} <= of_rpj
    assert not {module for module in of_pr_join if module.startswith(("sooner.spark", "sooner.ui", "sooner.local"))}
    for imported in of_pr_join - {EXPERIMENTS["pr-join-8"].module}:
        assert any(imported in imports_of(module) for module in of_pr_join), f"nothing imports {imported}"


@pytest.fixture
def small_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    house = tmp_path / "sooner"
    (house / "rooms").mkdir(parents=True)
    sources = {
        "rooms/__init__.py": "ALL = 1\n",
        "rooms/one.py": "from sooner.rooms import two\nimport json\n",
        "rooms/two.py": "def f():\n    from sooner.three import x\n    return x\n",
        "three.py": "x = 1\n",
        "beside.py": "y = 1\n",
    }
    for name, source in sources.items():
        (house / name).write_text(source)
    monkeypatch.setattr("sooner.lab.code_version.HOUSE", house)
    version_of.cache_clear()
    imports_of.cache_clear()
    yield house
    version_of.cache_clear()
    imports_of.cache_clear()


def test_a_version_changes_with_a_module_that_is_imported_by_way_of_others(small_house: Path) -> None:
    before = version_of("sooner.rooms.one")
    for name, counts in (("beside", False), ("rooms/__init__", False), ("three", True)):
        (small_house / f"{name}.py").write_text("z = 2\n")
        version_of.cache_clear()
        assert (version_of("sooner.rooms.one") != before) is counts, name


def test_an_unknown_module_is_an_error(small_house: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no module 'sooner\.rooms\.four'"):
        version_of("sooner.rooms.four")
    (small_house / "three.py").write_text("import sooner.gone\n")
    with pytest.raises(ModuleNotFoundError, match=r"no module 'sooner\.gone'"):
        version_of("sooner.rooms.one")
