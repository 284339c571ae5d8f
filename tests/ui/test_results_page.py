"""The results page: what holds of each paper, what does not and why, tolerances, details, and pictures beside it."""

import re
from pathlib import Path
from typing import Any

import pytest

from sooner.lab import tolerances
from sooner.lab.tolerances import Entry
from sooner.ui.paper_pictures import PLANS, SWEEPS, pictures_of
from sooner.ui.plots import draw_paper
from sooner.ui.results_page import results_page

Report = dict[str, Any]


def claim(verdict: str = "holds", what: str = "a is ahead of b", why: str = "", **more: object) -> Report:
    judged = {"what": what, "expected": "ahead", "ours": "1.2 times", "holds": verdict == "holds", "verdict": verdict}
    return judged | ({"why": why} if why else {}) | more


def fails(what: str = "a is ahead of b", why: str = "", **more: object) -> Report:
    return claim("does not hold", what, why, **more)


def experiment(name: str, *claims: Report, paper: str = "RPJ", **more: object) -> Report:
    return {"name": name, "paper": paper, "title": "progress", "machine": "simulated", "claims": [*claims], **more}


def benchmark(*claims: Report) -> Report:
    return {"name": "mine", "machine": "2 cores", "claims": [*claims]}


def section(page: str, heading: str) -> list[str]:
    """The lines below a heading, to the next of its kind."""
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()


# What holds


def test_the_first_table_counts_the_claims_of_each_paper_and_a_line_those_of_benchmarks() -> None:
    rpj = experiment("rpj-8a", claim(), claim("tie"), fails(why="code: slow"), fails(why="unexplained"))
    page = results_page(
        [rpj, experiment("rpj-8b", claim()), experiment("x", claim(), paper="DINER"), benchmark(claim())]
    )
    head = page.split("\n## ")[0].splitlines()
    assert "| [RPJ](#rpj) | 5 | 2 | 1 | 2 | 1 | 40% |" in head
    assert "| [DINER](#diner) | 1 | 1 | 0 | 0 | 0 | 100% |" in head
    assert "Of our own [benchmarks](#benchmarks), which repeat no paper, 1 of 1 claims hold." in head
    assert sum(line.startswith("| [") for line in head) == 2


def test_it_says_over_how_many_seeds_verdicts_are() -> None:
    few, all_of_them = experiment("a", claim()) | {"seeds": [0, 1]}, experiment("b", claim()) | {"seeds": [*range(15)]}
    assert "over 15 seeds: experiments were built with 0 to 4" in results_page([all_of_them])
    assert "over 15 seeds in 1 of 2 experiments so far, and over 2 in the others." in results_page([few, all_of_them])


def test_a_failure_without_a_word_is_unexplained_and_a_tie_without_one_is_a_tie() -> None:
    page = results_page([experiment("rpj-8a", fails(), claim("tie", what="c"))])
    assert "| [RPJ](#rpj) | 2 | 0 | 1 | 1 | 1 | 0% |" in page
    assert "| [rpj-8a](#rpj-8a) | a is ahead of b | 1.2 times | **unexplained** |" in page
    assert "| [rpj-8a](#rpj-8a) | c | 1.2 times | a tie |" in page


# What does not hold


def test_what_fails_in_several_figures_for_one_reason_has_one_row() -> None:
    a = experiment("rpj-10a", fails(why="code: seeks", ours="90%", seeds="2 of 15"))
    b = experiment("rpj-10b", fails(why="code: seeks", ours="91%", seeds="0 of 15"), fails(why="data: other"))
    rows = [line for line in section(results_page([a, b]), "What does not hold, and why") if "rpj-10" in line]
    assert rows == [
        "| [rpj-10a](#rpj-10a), [rpj-10b](#rpj-10b) | a is ahead of b | "
        "rpj-10a: 90% (holds with 2 of 15)<br>rpj-10b: 91% (holds with 0 of 15) | code: seeks |",
        "| [rpj-10b](#rpj-10b) | a is ahead of b | 1.2 times | data: other |",
    ]


def test_what_is_the_same_in_all_figures_is_said_once() -> None:
    page = results_page([experiment(name, fails(why="code: seeks")) for name in ("rpj-10a", "rpj-10b")])
    assert "| [rpj-10a](#rpj-10a), [rpj-10b](#rpj-10b) | a is ahead of b | 1.2 times | code: seeks |" in page


def test_the_unexplained_comes_first_within_its_paper() -> None:
    whys = ["code: a", "unexplained: why b?", "data: c", "unexplained"]
    rpj = experiment("rpj-8a", *(fails(f"claim {number}", why) for number, why in enumerate(whys)))
    diner = experiment("diner-8", fails("claim 4", "unexplained"), paper="DINER")
    rows = section(results_page([rpj, diner]), "What does not hold, and why")
    assert re.findall(r"\| (?:claim \d|\*\*RPJ|\*\*DINER)", "\n".join(rows)) == [
        *("| **RPJ", "| claim 1", "| claim 3", "| claim 0", "| claim 2"),
        *("| **DINER", "| claim 4"),
    ]
    assert [line.rpartition(" | ")[2] for line in rows if "claim 1" in line] == ["**unexplained**: why b? |"]


def test_where_all_holds_there_is_no_table_of_failures() -> None:
    assert "All claims hold." in section(results_page([experiment("a", claim())]), "What does not hold, and why")


def test_the_reason_of_a_benchmark_is_in_its_own_section() -> None:
    page = results_page([benchmark(fails(why="slow disk")), experiment("a", claim())])
    assert "slow disk" not in "".join(section(page, "What does not hold, and why"))
    assert "| a is ahead of b | ahead | 1.2 times | **does not hold**: slow disk |" in section(page, "Benchmarks")


# Tolerances


def test_tolerances_in_force_are_a_table_and_their_changes_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Entry("2026-01-01", "a tie", 0.005, "half a percent")
    monkeypatch.setattr(tolerances, "LOG", (before,))
    lines = section(results_page([]), "Tolerances")
    assert "| a tie | 0.005 | half a percent |" in lines and "Changes: none yet." in lines

    monkeypatch.setattr(tolerances, "LOG", (before, Entry("2026-02-01", "a tie", 0.01, "seeds | differ")))
    lines = section(results_page([]), "Tolerances")
    assert r"| a tie | 0.01 | seeds \| differ |" in lines
    assert r"| 2026-02-01 | a tie | 0.005 → 0.01 | seeds \| differ |" in lines
    assert "Changes: none yet." not in lines and not any("half a percent" in line for line in lines)


# Details


def test_an_experiment_has_all_of_its_claims_and_measurements() -> None:
    whole = claim(section="sec. 6.1", quantity="results out", tolerance="a tie", seeds="15 of 15", fails_on="no flush")
    one = experiment("rpj-8a", whole, code="abc", measurements=[{"what": "m", "ours": "5%"}])
    details = section(results_page([one]), "Details")
    assert "progress; 1 of 1 claims hold." in details and "*simulated; code abc*" in details
    assert "| section | claim | quantity | expected | ours | seeds | verdict | fails on |" in details
    cells = ("sec. 6.1", "a is ahead of b", "results out", "ahead ([a tie](#tolerances))", "1.2 times", "15 of 15")
    assert f"| {' | '.join(cells)} | holds | no flush |" in details
    assert "| m | 5% |" in details


def test_a_report_of_before_has_the_columns_that_it_knows() -> None:
    details = section(results_page([experiment("rpj-8a", claim())]), "Details")
    assert "| claim | expected | ours | verdict |" in details
    assert "| a is ahead of b | ahead | 1.2 times | holds |" in details


def test_links_lead_to_headings_as_github_names_them() -> None:
    name = "How often 95% intervals hold (1,000 seeds)"
    page = results_page([experiment(name, fails(why="data: few"))])
    assert f"[{name}](#how-often-95-intervals-hold-1000-seeds)" in page
    assert f"\n#### {name}\n" in page


# Pictures

CURVE: Report = {"seconds": [0, 1, 2.5], "results": [0, 5, 10], "total_results": 20, "last_arrival_seconds": 2}


def all_curves(plan_number: int) -> list[Report]:
    """Reports with all that a picture shows."""
    return [
        experiment(panel.experiment, series=dict.fromkeys(panel.contestants.values(), CURVE))
        for panel in PLANS[plan_number].panels
    ]


@pytest.mark.parametrize("number", range(len(PLANS)), ids=[plan.paper for plan in PLANS])
def test_a_picture_is_drawn_the_same_each_time_and_the_page_shows_it(number: int, tmp_path: Path) -> None:
    reports = all_curves(number)
    [picture] = pictures_of(reports)
    for name in ("a.svg", "b.svg"):
        draw_paper(picture, tmp_path / name)
    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes() and drawn.startswith(b"<?xml")
    assert f"](pictures/{picture.file_name})" in results_page(reports)


STREAM: Report = {"seconds": [0, 1, 2, 4], "stream_rows": [0, 5, 10, 30]}  # ten a second, when warm


def all_rates() -> list[Report]:
    [sweep] = SWEEPS
    return [
        experiment(
            panel.experiment,
            series={
                f"{name}, {set_up}": dict(STREAM)
                for name in sweep.contestants.values()
                for set_up in panel.set_ups.values()
            },
        )
        for panel in sweep.panels
    ]


def test_a_sweep_is_drawn_the_same_each_time_and_the_page_shows_it(tmp_path: Path) -> None:
    reports = all_rates()
    [picture] = pictures_of(reports)
    for name in ("a.svg", "b.svg"):
        draw_paper(picture, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "![SSBJ: stream rows a second](pictures/ssbj.svg)" in results_page(reports)


def test_a_sweep_tells_how_much_faster_the_papers_own_is_at_both_ends() -> None:
    reports = all_rates()
    reports[0]["series"]["ssbj, 10%"]["stream_rows"] = [0, 5, 10, 60]
    [picture] = pictures_of(reports)
    assert "SSBJ is 1.00 to 2.50 times as fast as MESHJOIN in ssbj-5a (skew 1)" in picture.caption


@pytest.mark.parametrize(
    "spoilt", [None, {}, STREAM | {"stream_rows": [0, 5]}, STREAM | {"seconds": [0, 1, 2, 2]}, {"seconds": [0, 1]}]
)
def test_a_sweep_has_no_panel_without_all_of_its_points(spoilt: object) -> None:
    reports = all_rates()
    reports[0]["series"]["meshjoin, 1%"] = spoilt
    [picture] = pictures_of(reports)
    assert [panel.title.split()[0] for panel in picture.panels] == ["ssbj-5c"]
    assert pictures_of(reports[:1]) == []


def test_a_caption_tells_what_was_out_at_its_moment_and_not_after() -> None:
    reports = all_curves(0)
    reports[0]["series"]["rpj"] = CURVE | {"results": [0, 8, 10]}
    [picture] = pictures_of(reports)
    assert "RPJ 40% of all results, HMJ 25%, XJoin 25% in rpj-8a (reliable network)" in picture.caption


@pytest.mark.parametrize(
    "spoilt",
    [
        None,
        [],
        {},
        {"seconds": [0], "results": []},
        CURVE | {"results": [0, 5]},
        CURVE | {"seconds": ["0", "1", "2"]},
        CURVE | {"results": [0, 5, float("nan")]},
        CURVE | {"total_results": 0},
    ],
    ids=["nothing", "a list", "empty", "half", "shorter", "text", "no number", "no results"],
)
def test_there_is_no_panel_without_all_of_its_curves(spoilt: object) -> None:
    first, second = all_curves(0)
    first["series"]["hmj"] = spoilt
    assert pictures_of([first]) == []
    [picture] = pictures_of([first, second])
    assert len(picture.panels) == 1
    assert pictures_of([experiment("rpj-8a"), experiment("rpj-8a", series=[])]) == []
