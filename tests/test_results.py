"""The results page is of this code: each experiment and benchmark has a file, none is stale, and no failure is without
a reason.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sooner.lab.code_version import code_version
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.tolerances import tolerances
from sooner.ui.paper_pictures import FOLDER, pictures_of
from sooner.ui.result_files import read_reports
from sooner.ui.results_page import results_page

HOUSE = Path(__file__).parents[1]
RESULTS, PAGE = HOUSE / "docs" / "results", HOUSE / "docs" / "results.md"
BENCHMARKS = sorted({file.stem for file in (HOUSE / "benchmarks").glob("*.py")} - {"report", "reasons"})
CURE = "run `make recheck` if no curve should change, else `make results`, or the benchmark, and commit what it writes"
marked = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="marks are of code as Python 3.11 writes it")


def result_of(name: str) -> dict[str, Any]:
    file = RESULTS / f"{name}.json"
    assert file.exists(), f"{name} has no file in {RESULTS}; {CURE}"
    return json.loads(file.read_text())


def benchmark_report() -> ModuleType:
    folder = HOUSE / "benchmarks"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("report", folder / "report.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


@marked
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_a_result_of_this_code_at_the_papers_size(name: str) -> None:
    result, experiment = result_of(name), EXPERIMENTS[name]
    assert result["code"] == code_version(experiment), f"{name} is of other code than this; {CURE}"
    assert "the paper's size; seeds 0, 1" in result["machine"]
    assert [claim["what"] for claim in result["claims"]] == [claim.what for claim in experiment.claims]


@marked
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_has_a_result_of_this_script(name: str) -> None:
    result = result_of(name)
    assert result["code"], "it names no code"
    assert result["script"] == benchmark_report().mark_of(name), f"{name}.py measures something else by now; {CURE}"


def test_there_is_no_result_of_something_that_is_not_there() -> None:
    assert {file.stem for file in RESULTS.glob("*.json")} == {*EXPERIMENTS, *BENCHMARKS}


def test_every_claim_that_does_not_hold_has_its_reason() -> None:
    without = [
        f"{result['name']}: {claim['what']}"
        for result in read_reports([RESULTS])
        for claim in result["claims"]
        if not claim["holds"] and not claim.get("why")
    ]
    assert without == []


def test_every_claim_that_holds_was_seen_to_fail_with_a_mutant() -> None:
    never = [
        f"{result['name']}: {claim['what']}"
        for result in read_reports([RESULTS])
        for claim in result["claims"]
        if "paper" in result and claim["holds"] and not claim["fails_on"]
    ]
    assert never == []


def test_every_claim_of_a_paper_says_where_it_stands_and_what_it_is_about() -> None:
    for result in read_reports([RESULTS]):
        for claim in result["claims"] if "paper" in result else ():
            assert claim["section"].startswith(("sec. ", "ours")), claim
            assert claim["quantity"]
            assert claim["tolerance"]


def test_every_tolerance_that_a_claim_names_is_in_the_table() -> None:
    named = {claim.get("tolerance") for result in read_reports([RESULTS]) for claim in result["claims"]}
    assert named - {None, *tolerances()} == set()


def test_the_pictures_of_the_page_are_those_of_the_papers() -> None:
    pictures = {picture.file_name for picture in pictures_of(read_reports([RESULTS]))}
    assert pictures == {"rpj.svg", "diner.svg", "pr-join.svg", "ssbj.svg"}
    assert {file.name for file in (PAGE.parent / FOLDER).iterdir()} == pictures, f"docs/{FOLDER} is stale; {CURE}"


def test_the_page_is_generated_from_these_files() -> None:
    assert PAGE.read_text() == results_page(read_reports([RESULTS])), f"docs/results.md is stale; {CURE}"
