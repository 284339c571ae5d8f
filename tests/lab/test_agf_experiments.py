"""AGF's data and experiments in small: a fifth of the rows and values that the experiments have."""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sooner.errors import SoonerError
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.first_results import seconds_to_first
from sooner.lab.history import History
from sooner.lab.races import agf_rows
from sooner.lab.races.agf import FULL_SCALE, LARGEST_SCALE, WITHOUT_LIMITS, AgfRace
from sooner.lab.races.agf_bound import new_results
from sooner.lab.races.agf_rows import Sources
from sooner.lab.running import run_experiments
from sooner.lab.traces import Pushed, Trace

SMALLER = 5
EARLY = 100_000 // SMALLER
ALL = 2**40


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agf_rows, "SOURCE_ROWS", agf_rows.SOURCE_ROWS // SMALLER)
    monkeypatch.setattr(agf_rows, "VALUES", agf_rows.VALUES // SMALLER)


@cache
def small(algorithm: str, **more: Any) -> History:
    """With large flushes, since a call takes rows of one flush at most."""
    return AgfRace(algorithm, flush_share=0.2, **{"bursty": 2, "first": EARLY, **more}).run(1, 0)


def seconds(algorithm: str, **more: Any) -> float:
    return seconds_to_first(small(algorithm, **more), EARLY)


# Data


def test_each_combination_of_sources_has_as_many_buckets() -> None:
    sources = Sources(4, scale=1)
    keys = sources.keys(np.random.default_rng(0))
    assert [len(some) for some in keys] == [agf_rows.SOURCE_ROWS] * 4
    values = [np.unique(some) for some in keys]
    for some in values:
        assert len(some) == pytest.approx(agf_rows.VALUES / 2, rel=0.1)
    for left, right in combinations(values, 2):
        assert len(np.intersect1d(left, right)) == pytest.approx(agf_rows.VALUES / 4, rel=0.1)
    in_all = set.intersection(*(set(some.tolist()) for some in values))
    assert len(in_all) == pytest.approx(agf_rows.VALUES / 16, rel=0.1)


@pytest.mark.parametrize(("inputs", "buckets"), [(4, 7 * 16), (6, 4 * 64), (7, 4 * 128)])
def test_memory_that_is_full_of_groups_with_results_has_none_that_is_larger_than_a_flush(
    inputs: int, buckets: int
) -> None:
    assert Sources(inputs, scale=1).buckets == buckets
    groups_with_results = (inputs - 1) * buckets // 2**inputs
    assert groups_with_results >= 1 / agf_rows.FLUSH_SHARE


def test_there_are_enough_results_for_the_first_to_be_early_ones() -> None:
    sources = Sources(4, scale=1)
    assert sources.results(sources.keys(np.random.default_rng(1))) > 20 * EARLY


@pytest.mark.parametrize("scale", [0, LARGEST_SCALE + 1])
def test_a_scale_that_leaves_nothing_is_refused(scale: int) -> None:
    with pytest.raises(SoonerError, match=f"scale={scale}"):
        AgfRace("agf").run(scale, 0)


# The bound


def test_without_limits_a_result_is_there_when_the_last_of_its_rows_is() -> None:
    def pushed(seconds: list[float], keys: list[int]) -> Pushed:
        return Pushed(np.array(seconds), np.array(keys, np.int32), silence_seconds=1.0)

    inputs = [pushed([1, 4], [7, 7]), pushed([2, 6], [7, 7]), pushed([3, 5], [7, 8])]
    assert new_results(Trace.of_inputs(inputs, domain=9, partitions=1)).tolist() == [0, 0, 1, 1, 0, 2]


def test_all_results_come_in_the_end_and_none_sooner_than_without_limits() -> None:
    """The disk is written and read, and takes time for it."""
    sources, whole = Sources(4, FULL_SCALE), small("agf", first=ALL)
    results = sources.results(sources.keys(np.random.default_rng((0, 2))))
    assert whole.total_results == small(WITHOUT_LIMITS).total_results == results
    assert seconds_to_first(whole, EARLY) > seconds(WITHOUT_LIMITS)
    assert whole.events["Flushed"] > whole.events["Merged"] > 0
    assert whole.columns["disk_seconds"][-1] > 0


# What the paper says


def test_a_race_is_over_with_the_first_results() -> None:
    part, whole = small("agf"), small("agf", first=ALL)
    assert part.total_results < whole.total_results / 2
    assert seconds("agf") == seconds_to_first(whole, EARLY)


@pytest.mark.parametrize(
    ("other", "lead"),
    [
        ("rpj", 0.4),
        pytest.param("state_spill", 0.3, marks=pytest.mark.long),
        pytest.param("hmj", 0.45, marks=pytest.mark.long),
    ],
)
def test_agf_has_the_first_results_long_before_others_and_without_a_state_manager_it_has_not(
    other: str, lead: float
) -> None:
    theirs = seconds(other, bursty=4)
    assert seconds("agf", bursty=4) < (1 - lead) * theirs
    assert seconds("agf", bursty=4, mutant="no work on disk before the end") > (1 - lead) * theirs


@pytest.mark.parametrize(("bursty", "times_as_long"), [(4, 1.2), pytest.param(2, 3.0, marks=pytest.mark.long)])
def test_agf_takes_longer_if_the_best_groups_leave_the_more_the_fewer_pauses_there_are(
    bursty: int, times_as_long: float
) -> None:
    """In pauses the state manager makes good for a wrong choice."""
    assert seconds("agf", bursty=bursty, mutant="flush order reversed") > times_as_long * seconds("agf", bursty=bursty)


def test_agf_knows_what_to_keep_nearly_as_well_as_who_has_memory_for_everything() -> None:
    assert seconds("agf", bursty=4) < 1.35 * seconds(WITHOUT_LIMITS, bursty=4)


def test_each_of_the_papers_figures_is_an_experiment() -> None:
    of_agf = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "AGF"}
    assert of_agf == {f"agf-{figure}" for figure in (6, 7, 8, 9)}


@pytest.mark.parametrize("name", [pytest.param(f"agf-{n}", marks=pytest.mark.long) for n in (6, 7, 8, 9)])
def test_an_experiment_judges_each_of_its_claims(name: str) -> None:
    [report] = run_experiments([EXPERIMENTS[name]], LARGEST_SCALE, [0], 1, lambda *_: None)
    assert len(report.claims) == len(EXPERIMENTS[name].claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
