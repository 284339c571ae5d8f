"""What RPJ's paper says of its figures 8 and 10, on small worlds; the experiments themselves take minutes."""

from collections.abc import Sequence

import pytest

from small_worlds import small_history, small_laboratory, small_trace
from sooner.errors import SoonerError
from sooner.lab.experiment import Claim, Experiment, Histories, Report
from sooner.lab.experiments import EXPERIMENTS, rpj_figure_8, rpj_figure_10
from sooner.lab.races import rpj
from sooner.lab.races.mutants import with_reversed_flush
from sooner.lab.races.rpj import COMPETITORS, PANELS, Network, Panel, draw_trace
from sooner.lab.running import run_experiments
from sooner.lab.simulator import simulate
from sooner.named_algorithms import ALGORITHMS

# The others of the table flush as one of these does.
FLUSH_POLICIES = ("rpj", "xjoin", "hmj", "hmj_all", "hmj_smallest", "random", "diner")

every_panel = pytest.mark.parametrize(
    "panel",
    [
        pytest.param(panel, marks=[pytest.mark.long] if "faster" in panel.title else [], id=panel.title)
        for panel in PANELS
    ],
)


def histories_of(names: Sequence[str], panel: Panel, network: Network) -> Histories:
    return {name: small_history(name, panel, network) for name in names}


def failing(claims: Sequence[Claim], histories: Histories) -> list[str]:
    verdicts = [claim.judge([histories], {}) for claim in claims]
    return [f"{verdict['what']}: {verdict['ours']}" for verdict in verdicts if not verdict["holds"]]


@pytest.mark.one_in(2)
@every_panel
def test_no_policy_has_more_early_results(panel: Panel) -> None:
    bound = small_history("clairvoyant", panel, "reliable")
    assert bound.total_results == small_trace(panel, "reliable").join_size()
    early = {name: small_history(name, panel, "reliable").early_results for name in FLUSH_POLICIES}
    assert max(early.values()) <= bound.early_results
    assert early["rpj"] > bound.early_results / 2  # or the bound would say nothing


def test_every_policy_of_the_table_is_held_against_the_bound() -> None:
    """But for DBO's, which is held against SMS (PR-Join, table 2), and those of joins whose rows wait."""
    others = ("symmetric_hash", "dbo")
    spilling = [one for one in ALGORITHMS.values() if one.name not in others and one.waits == "never"]
    compared = {type(ALGORITHMS[name].flush) for name in FLUSH_POLICIES if name in ALGORITHMS}
    assert {type(algorithm.flush) for algorithm in spilling} <= compared


@every_panel
def test_on_a_reliable_network_rpj_is_ahead(panel: Panel) -> None:
    histories = histories_of(("rpj", "hmj", "xjoin"), panel, "reliable")
    assert failing(rpj_figure_8.CLAIMS[:2], histories) == []


@every_panel
def test_on_an_unreliable_network_rpj_is_ahead_and_has_most_before_the_clean_up(panel: Panel) -> None:
    histories = histories_of(("rpj", "hmj", "xjoin"), panel, "unreliable")
    assert failing(rpj_figure_10.CLAIMS[:3], histories) == []


def test_claims_fail_of_an_rpj_that_flushes_in_the_reversed_order() -> None:
    histories = histories_of(("hmj", "xjoin"), PANELS[0], "reliable")
    trace, wrong = small_trace(PANELS[0], "reliable"), with_reversed_flush(COMPETITORS["rpj"])
    planted = {**histories, "rpj": simulate(trace, wrong, small_laboratory("reliable"))}
    assert planted["rpj"].total_results == histories["hmj"].total_results, "it is late, and not wrong"
    assert len(failing(rpj_figure_8.CLAIMS[:2], planted)) == 2


def test_every_panel_of_every_figure_is_an_experiment() -> None:
    families = [*(f"rpj-{figure}" for figure in (8, 9, 10, 11, 12)), "flush-"]
    of_rpj = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "RPJ"}
    assert of_rpj == {f"{family}{letter}" for family in families for letter in "abcd"} | {"rpj-10-why"}


def test_experiments_run_at_the_papers_size_and_the_same_race_is_run_once() -> None:
    assert {race.algorithm for race in EXPERIMENTS["rpj-11a"].races.values()} == {"rpj", "rpj_dd", "rpj_md"}
    assert EXPERIMENTS["rpj-10a"].races["rpj"] == EXPERIMENTS["rpj-12a"].races["rpj"]
    assert EXPERIMENTS["rpj-8b"].races["hmj"] == EXPERIMENTS["rpj-9b"].races["hmj"]
    assert len(draw_trace(PANELS[0], "reliable", scale=1, seed=0)) == 2_000_000


@pytest.mark.parametrize("scale", [0, -1, 251])
def test_a_scale_that_leaves_nothing_is_refused(scale: int) -> None:
    with pytest.raises(SoonerError, match=f"scale={scale}"):
        draw_trace(PANELS[0], "reliable", scale, seed=0)


def small_report(experiment: Experiment) -> Report:
    [report] = run_experiments([experiment], 250, [0], 1, lambda *_: None)
    return report


@pytest.mark.parametrize(
    "name",
    [
        "rpj-11d",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("rpj-8a", "rpj-9b", "rpj-10a", "rpj-12a", "rpj-10-why", "flush-b")
        ),
    ],
)
def test_an_experiment_judges_each_of_its_claims(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpj, "ROWS", 200_000)
    report = small_report(EXPERIMENTS[name])
    assert len(report.claims) == len(EXPERIMENTS[name].claims)
    assert len(report.measurements) == len(EXPERIMENTS[name].measurements)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
    totals = {series["total_results"] for series in report.series.values()}
    assert len(totals) == 1, "all algorithms have the same answer"
