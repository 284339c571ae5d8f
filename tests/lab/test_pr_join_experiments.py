"""PR-Join's model by its own numbers, and its experiments in small."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sooner.errors import SoonerError
from sooner.lab.experiment import Histories, Quantity
from sooner.lab.experiments import EXPERIMENTS, pr_join_figure_15, pr_join_figures_8_and_9
from sooner.lab.experiments.pr_join_claims import (
    best_early_rate,
    ends_as,
    ends_later,
    ends_sooner,
    follows,
    more_early_results,
    rate_between,
    report_interval,
    reports_more_often,
)
from sooner.lab.history import History
from sooner.lab.races import pr_join
from sooner.lab.races.pr_join import DISK, PARTITIONS, SSD, SSD_4_KB, PrJoinRace
from sooner.lab.races.pr_join_model import (
    Costs,
    block_ripple_rate,
    dbo_rate,
    grace_curve,
    grace_join_rate,
    grace_seconds,
    hash_ripple_rate,
    hash_ripple_seconds,
    pr_join_curve,
    pr_join_rate,
    pr_join_seconds,
    ripple_curve,
    ripple_seconds,
    sms_rate,
    sms_seconds,
    step,
    symmetric_hash_rate,
)
from sooner.lab.races.pr_join_streams import StreamRace
from sooner.lab.races.rpj import PANELS

SCALE = 50  # a megabyte is one row
FEW_PARTITIONS = 8
ROWS = 10_000
TABLE_2 = Costs(3200, 3200, 120, 1.2, 1.0, 1.0, 1.0)  # 64 times as much as memory holds
DISKS = Costs(10_000, 10_000, 500, 1.29, DISK.read_seconds, DISK.write_seconds, DISK.random_read_seconds)


@cache
def small(race: PrJoinRace, seed: int = 0) -> History:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pr_join, "GRACE_PARTITIONS", FEW_PARTITIONS)
        return replace(race, partitions=FEW_PARTITIONS).run(SCALE, seed).thinned()


def figure_9() -> dict[str, History]:
    return {name: small(PrJoinRace(name)) for name in ("pr_join", "ripple", "grace")}


# The model


def in_units_of_c(rate: float) -> float:
    return rate / TABLE_2.unit_rate


def test_rates_are_those_of_table_2() -> None:
    assert in_units_of_c(symmetric_hash_rate(TABLE_2)) == pytest.approx(1)
    assert in_units_of_c(hash_ripple_rate(TABLE_2)) == pytest.approx(0.5)
    assert in_units_of_c(sms_rate(TABLE_2)) == pytest.approx(0.6)
    assert in_units_of_c(dbo_rate(TABLE_2)) == pytest.approx(1.2)
    ripples = [in_units_of_c(block_ripple_rate(TABLE_2, k)) for k in range(1, 6)]
    assert ripples == pytest.approx([1, 1.25, 1.4, 1.5, 1.57], abs=0.005)
    rounds = [in_units_of_c(pr_join_rate(TABLE_2, *step(1.0, j, stagger=0))) for j in range(1, 6)]
    assert rounds == pytest.approx([1, 1.7, 3.2, 6.2, 12.2], abs=0.05)


def test_joins_that_are_staggered_are_no_slower_than_the_first_of_their_round() -> None:
    for j in (1, 2, 3):
        rates = [pr_join_rate(TABLE_2, *step(1.0, j, stagger)) for stagger in (0, 0.5, 0.9)]
        assert rates == sorted(rates)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_equation_13_bounds_what_pr_join_reads(gamma: float) -> None:
    end_seconds = pr_join_curve(DISKS, gamma, partitions=100).end_seconds
    assert grace_seconds(DISKS) < end_seconds < pr_join_seconds(DISKS, gamma)
    extra = pr_join_seconds(DISKS, gamma) - grace_seconds(DISKS)
    assert extra == pytest.approx(DISKS.input_pages * DISKS.read_seconds / gamma)


def test_who_reads_nothing_again_before_the_end_takes_as_long_as_grace_at_most() -> None:
    assert sms_seconds(DISKS) == grace_seconds(DISKS)
    assert 0.98 < hash_ripple_seconds(DISKS) / grace_seconds(DISKS) < 1
    last = grace_curve(DISKS)
    assert last.results[-1] / (last.seconds[-1] - last.seconds[-2]) == pytest.approx(grace_join_rate(DISKS))


def test_curves_end_with_all_results_and_as_late_as_the_equations_say() -> None:
    curves = [grace_curve(TABLE_2), ripple_curve(TABLE_2), pr_join_curve(TABLE_2, 1.0, 64)]
    for curve in curves:
        assert curve.results[-1] == pytest.approx(1)
        assert (np.diff(curve.seconds) >= 0).all()
        assert (np.diff(curve.results) >= 0).all()
    assert curves[1].end_seconds == pytest.approx(ripple_seconds(TABLE_2))


def test_a_ripple_finds_what_its_rate_says() -> None:
    curve = ripple_curve(TABLE_2)
    rates = np.diff(curve.results) / np.diff(curve.seconds)
    assert rates[:4] == pytest.approx(
        [symmetric_hash_rate(TABLE_2), *(block_ripple_rate(TABLE_2, k) for k in (1, 2, 3))]
    )


def test_without_the_stop_constraint_more_is_out_before_the_end_and_it_comes_later() -> None:
    stops, goes_on = (pr_join_curve(DISKS, 1.0, 64, stops_near_the_end=stop) for stop in (True, False))
    assert goes_on.end_seconds > stops.end_seconds
    assert goes_on.results[-65] > 3 * stops.results[-65]


# Races


@pytest.mark.one_in(3)
@pytest.mark.parametrize("algorithm", ["pr_join", "ripple", "grace"])
def test_each_row_finds_its_match(algorithm: str) -> None:
    assert small(PrJoinRace(algorithm)).total_results == ROWS  # type: ignore[arg-type]


def test_with_a_larger_relation_each_row_of_the_smaller_finds_its_match() -> None:
    assert small(PrJoinRace("grace", SSD, gigabytes=(2, 4))).total_results == ROWS // 5


def test_ripples_are_as_wide_as_memory() -> None:
    assert small(PrJoinRace("ripple")).events["Merged"] == pytest.approx(20_000 / (500 / 1.29), rel=0.03)


def test_skewed_keys_have_four_times_the_results_and_a_partition_of_more_than_a_gigabyte() -> None:
    race = PrJoinRace("pr_join", SSD, keys="Zipf")
    assert small(race).total_results == pytest.approx(4 * ROWS, rel=0.1)
    keys, _ = race._keys(10_000, np.random.default_rng(0))
    assert np.bincount(keys % PARTITIONS).max() > 0.1 * ROWS


def test_inputs_are_read_once_at_the_speed_of_their_disk() -> None:
    for race in (PrJoinRace("grace"), PrJoinRace("pr_join")):
        assert small(race).columns["input_seconds"][-1] == pytest.approx(20_000 * DISK.read_seconds)


def test_a_scale_that_leaves_no_row_of_a_megabyte_is_refused() -> None:
    for scale in (0, 3, 100):
        with pytest.raises(SoonerError, match=f"scale={scale}"):
            PrJoinRace("grace").run(scale, 0)


# What is read off them


def test_in_turn_all_three_are_as_the_model_says_and_at_once_they_are_not() -> None:
    for name, curve_of in (("ripple", ripple_curve), ("grace", grace_curve)):
        in_turn = PrJoinRace(name, overlap="in turn")  # type: ignore[arg-type]
        curve = curve_of(in_turn.costs(1.0))
        for quantity in (ends_as("it", curve), follows("it", curve)):
            assert quantity.read({"it": small(in_turn)}).verdict == "holds"
        assert ends_as("it", curve).read({"it": small(PrJoinRace("grace"))}).verdict == "does not hold"


def test_the_model_has_the_joins_that_pr_join_has() -> None:
    race = PrJoinRace("pr_join", overlap="in turn")
    curve = pr_join_curve(race.costs(1.0), 1.0, FEW_PARTITIONS)
    assert ends_as("it", curve).read({"it": small(race)}).verdict == "holds"
    other_gamma = pr_join_curve(race.costs(1.0), 0.3, FEW_PARTITIONS)
    assert ends_as("it", other_gamma).read({"it": small(race)}).verdict == "does not hold"


def test_pr_join_is_between_ripple_and_grace_and_swapped_it_is_not() -> None:
    true = figure_9()
    swapped = {"pr_join": true["ripple"], "ripple": true["pr_join"], "grace": true["grace"]}
    quantities = (
        ends_sooner("pr_join", "ripple", 6.2),
        ends_later("pr_join", "grace", 1.44),
        reports_more_often("pr_join", "ripple"),
    )
    assert [one.read(true).verdict for one in quantities[:2]] == ["holds", "holds"]
    assert [one.read(swapped).verdict for one in quantities] == ["does not hold"] * len(quantities)


@pytest.mark.parametrize(
    ("mutant", "fails"),
    [
        ("pr_join: nothing is joined before the end", ends_later("pr_join", "grace", 1.44)),
        (
            "grace: temporary rows are read at half the speed",
            ends_as("grace", grace_curve(PrJoinRace("grace").costs(1.0))),
        ),
    ],
)
def test_claims_fail_of_a_mutant(mutant: str, fails: Quantity) -> None:
    races = {name: PrJoinRace(name, overlap="in turn") for name in ("pr_join", "grace")}  # type: ignore[arg-type]
    sound, wrong = (
        {name: small(race.mutated(one) if one else race) for name, race in races.items()} for one in ("", mutant)
    )
    assert fails.read(sound).verdict == "holds"
    assert fails.read(wrong).verdict == "does not hold"
    assert {one.total_results for one in wrong.values()} == {ROWS}


@pytest.mark.long
def test_an_ssd_hides_what_pr_join_reads_again_unless_it_is_slow() -> None:
    never_stops = PrJoinRace("pr_join", SSD, stops="never")
    grace = small(PrJoinRace("grace", SSD)).end_seconds
    assert small(never_stops).end_seconds < 1.15 * grace
    assert small(replace(never_stops, storage=SSD_4_KB)).end_seconds > 1.15 * grace


def test_pr_join_has_more_early_results_than_ripple_and_ripple_has_fewer() -> None:
    histories = {
        "pr_join": small(PrJoinRace("pr_join", SSD, stops="never")),
        "ripple": small(PrJoinRace("ripple", SSD)),
    }
    assert more_early_results("pr_join", "ripple").read(histories).verdict == "holds"
    assert more_early_results("ripple", "pr_join").read(histories).verdict == "does not hold"


def test_the_stop_constraint_is_told_how_many_rows_there_are() -> None:
    stops, goes_on = (small(PrJoinRace("pr_join", SSD, stops=stop)) for stop in ("near the end", "never"))
    assert stops.early_share < 0.2 < 0.4 < goes_on.early_share
    assert rate_between(stops, 0.6, 0.9) == 0 < rate_between(goes_on, 0.6, 0.9) <= best_early_rate(goes_on)


def test_a_report_follows_each_join_of_a_partition() -> None:
    ripple = small(PrJoinRace("ripple"))
    assert report_interval(ripple) == ripple.end_seconds / ripple.events["Merged"]


# Experiments


def test_every_figure_is_an_experiment() -> None:
    of_paper = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "PR-Join"}
    streams = {"slow", "fast", "reverse", "one-faster", "unreliable"}
    tables = {"1", "table-2", "8", "9", "10", "11", "11-why", "12", "13", "14", "14-why"}
    figures = tables | {f"15-{name}" for name in streams}
    assert of_paper == {f"pr-join-{figure}" for figure in figures}


@pytest.mark.parametrize("name", ["9", pytest.param("table-2", marks=pytest.mark.long)])
def test_an_experiment_judges_each_of_its_claims(name: str) -> None:
    experiment = EXPERIMENTS[f"pr-join-{name}"]
    histories = {name: small(race) for name, race in experiment.races.items()}
    report = experiment.report(SCALE, {0: histories}, {}, code="")
    assert len(report.claims) == len(experiment.claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
    assert "1/10,000 of the paper's size" in report.machine


def test_claims_of_figure_9_that_fail_have_a_reason() -> None:
    [_, figure] = pr_join_figures_8_and_9.EXPERIMENTS
    judged = [claim.judge([figure_9()], {}) for claim in figure.claims]
    assert [one["verdict"] for one in judged[:2]] == ["holds", "holds"]
    assert judged[2]["verdict"] == "does not hold"
    assert judged[2]["why"]


@cache
def streams(times_as_fast: int) -> Histories:
    race = StreamRace("pr_join", times_as_fast=times_as_fast)
    return {one: replace(race, algorithm=one).run(25, 0) for one in ("pr_join", "rpj")}


@pytest.mark.parametrize("times_as_fast", [100, pytest.param(1, marks=pytest.mark.long)])
def test_on_streams_pr_join_is_ahead_of_rpj_in_the_end_but_not_from_the_beginning(times_as_fast: int) -> None:
    histories = streams(times_as_fast)
    assert histories["pr_join"].total_results == histories["rpj"].total_results
    verdicts = [claim.quantity.read(histories).verdict for claim in pr_join_figure_15.CLAIMS]
    assert verdicts == ["holds", "does not hold", "holds", "holds"]


def test_streams_are_those_of_rpj_with_more_room() -> None:
    machine = StreamRace("rpj", PANELS[1])._laboratory(1).machine
    assert machine.memory_bytes // machine.disk.page_bytes == pytest.approx(1000, abs=2)
