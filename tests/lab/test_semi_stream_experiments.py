"""SSBJ's experiments in small: what they claim, and that claims can fail."""

from functools import cache

import pytest

from sooner.lab.experiment import Histories
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.experiments.semi_stream import (
    LETTER,
    MESHJOIN,
    SSBJ,
    answered_share,
    best_of_any_placement,
    contestant,
    disk_rate,
    service_rate,
)
from sooner.lab.experiments.semi_stream_figure_5 import MEMORIES
from sooner.lab.history import History
from sooner.lab.races import semi_stream_values
from sooner.lab.races.semi_stream import SemiStreamRace

SCALE = 100
FEW, GROWTH = 200, 1.2  # values that are taken one by one, and how groups of others grow


@cache
def small(race: SemiStreamRace) -> History:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semi_stream_values, "ONE_BY_ONE", FEW)
        patch.setattr(semi_stream_values, "GROUP_GROWTH", GROWTH)
        return race.run(SCALE, 1).thinned()


def histories(name: str, mutant: str = "") -> Histories:
    experiment = EXPERIMENTS[name]
    return {
        contestant: small(race)  # type: ignore[arg-type]
        for contestant, race in (experiment.mutated(mutant) if mutant else experiment.races).items()
    }


def verdict(name: str, what: str, mutant: str = "") -> str:
    [claim] = [claim for claim in EXPERIMENTS[name].claims if claim.what == what]
    return claim.quantity.read(histories(name, mutant)).verdict


def test_every_figure_is_an_experiment() -> None:
    of_paper = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "SSBJ"}
    assert of_paper == {f"ssbj-{one}" for one in ("4a", "4b", *(f"5{x}" for x in "abcdef"), *(f"6{x}" for x in "abcd"))}


@pytest.mark.parametrize("name", ["ssbj-4b", "ssbj-5a", "ssbj-5d"])
def test_an_experiment_judges_each_of_its_claims(name: str) -> None:
    experiment = EXPERIMENTS[name]
    report = experiment.report(SCALE, {1: histories(name)}, {}, code="")
    assert len(report.claims) == len(experiment.claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
    assert all(told.get("why", "a reason") != "unexplained" for told in report.claims)


@pytest.mark.parametrize(
    ("name", "what", "mutant"),
    [
        ("ssbj-4b", "SSBJ uses less memory each time", "ssbj: nothing moves into the cache"),
        ("ssbj-5a", "SSBJ is faster with each memory", "ssbj: cache inequality reversed"),
        ("ssbj-5a", "The more memory, the larger the advantage", "meshjoin: it has SSBJ's cache"),
        ("ssbj-5c", "Without skew SSBJ to the letter is as fast as MESHJOIN", "meshjoin: chunks stay for two cycles"),
        ("ssbj-5c", "The more skew, the larger SSBJ's advantage", "ssbj: nothing moves into the cache"),
        (
            "ssbj-5c",
            "MESHJOIN does not exploit skew: with 1 it is about as fast as with none",
            "meshjoin: it has SSBJ's cache",
        ),
        (
            "ssbj-6a",
            "With no switching factor but 1 SSBJ is faster than with 1",
            "ssbj: the switching factor is ignored",
        ),
        (
            "ssbj-6b",
            "There is a best size of the disk buffer: with smaller and with larger ones the disk phase is slower",
            "ssbj: seeks cost nothing",
        ),
        ("ssbj-6d", "An iteration of SSBJ takes as long as by the model", "ssbj: disk half as fast"),
        ("ssbj-6d", "An iteration of MESHJOIN takes as long as by the model", "meshjoin: chunks stay for two cycles"),
    ],
)
def test_a_claim_holds_and_fails_on_a_mutant(name: str, what: str, mutant: str) -> None:
    assert verdict(name, what) == "holds"
    assert verdict(name, what, mutant) != "holds"


def test_a_cache_that_is_never_emptied_holds_more() -> None:
    race = MEMORIES["10%"]
    held = [small(one).columns["cached_values"][-1] for one in (race, race.mutated("ssbj: nothing leaves the cache"))]
    assert held[0] < held[1]


def test_no_cache_makes_a_join_faster_than_what_it_answers_allows() -> None:
    """By equation 1: in the same memory as many rows wait at most, so all others were answered by the cache."""
    for name in (SSBJ, LETTER):
        for at in MEMORIES:
            ssbj, meshjoin = (histories("ssbj-5a")[contestant(one, at)] for one in (name, MESHJOIN))
            assert service_rate(ssbj) / service_rate(meshjoin) <= 1 / (1 - answered_share(ssbj))
            assert disk_rate(ssbj) <= 1.001 * service_rate(meshjoin)


def test_no_placement_has_room_for_less_than_ours() -> None:
    found = histories("ssbj-5a")
    for at, race in MEMORIES.items():
        ours = service_rate(found[contestant(SSBJ, at)]) / service_rate(found[contestant(MESHJOIN, at)])
        assert 1 < ours < best_of_any_placement(at, race).measure(found)
