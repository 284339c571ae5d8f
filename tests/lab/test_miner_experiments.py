"""MINER's data and experiments in small: half of the size that the experiments have."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from sooner.errors import SoonerError
from sooner.lab.experiments import EXPERIMENTS
from sooner.lab.history import History
from sooner.lab.races import miner_rows
from sooner.lab.races.diner import NEVER_HANDS_OVER
from sooner.lab.races.miner import CLAIRVOYANT, FULL_SCALE, LARGEST_SCALE, MinerRace
from sooner.lab.races.miner_rows import Relations, Shape
from sooner.lab.running import run_experiments

SCALE = LARGEST_SCALE * FULL_SCALE
FEW_WAITING = 1_000 // SCALE
SHAPES: tuple[Shape, ...] = ("chain", "star")


@cache
def small(inputs: int, algorithm: str, memory_share: float = 0.05, **more: Any) -> History:
    return MinerRace(inputs, algorithm, memory_share, **more).run(LARGEST_SCALE, 0)


# Data


def test_relations_are_what_the_paper_says() -> None:
    relations = Relations(4, "chain", join_bits=True, scale=1)
    keys = relations.keys(np.random.default_rng(0))
    assert [len(some) for some in keys] == [100_000, 100_000, 10_000, 10_000]
    rows = [relations.batch(which, some) for which, some in enumerate(keys)]
    for batch, columns in zip(rows, (("value", "key"), ("value", "key"), ("key",), ("key",)), strict=True):
        for column in columns:
            values = batch.column(column).to_numpy()
            assert 0 <= values.min() <= values.max() <= 9_999
            counts = np.bincount(values, minlength=10_000)
            if len(columns) == 2:
                assert counts[0] / counts[1] == pytest.approx(2, rel=0.05)
            else:
                assert (counts == 1).all()


def test_there_are_as_many_results_with_more_inputs() -> None:
    results = set()
    for shape in SHAPES:
        for inputs in (2, 3, 4):
            relations = Relations(inputs, shape, join_bits=True, scale=10)
            results.add((shape, relations.results(relations.keys(np.random.default_rng(1)))))
    assert len(results) == len(SHAPES)


def test_in_small_a_hot_value_and_the_hottest_keys_have_the_same_shares() -> None:
    """A tenth of the keys, of which each stands for ten."""
    shares = []
    for scale in (1, 10):
        relations = Relations(4, "chain", join_bits=True, scale=scale)
        value, key = np.divmod(relations.keys(np.random.default_rng(2))[0], relations.n_keys)
        shares.append(((value == 0).mean(), (key < 100 // scale).mean()))
    assert shares[0] == pytest.approx(shares[1], rel=0.1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("algorithm", ["miner", "mjoin"])
def test_rows_of_all_inputs_weigh_the_same(shape: Shape, algorithm: str) -> None:
    """And as much for MINER as for MJoin, which has no join bits: no more rows have room than memory is for."""
    with_bits, without = (Relations(4, shape, join_bits, SCALE) for join_bits in (True, False))
    assert with_bits.row_bytes == without.row_bytes
    history = small(4, algorithm, shape=shape)
    memory_rows = 0.05 * with_bits.n_rows
    most_rows = history.columns["memory_bytes"].max() / with_bits.row_bytes
    assert 0.9 * memory_rows < most_rows <= memory_rows


@pytest.mark.parametrize("scale", [0, LARGEST_SCALE + 1])
def test_a_scale_that_leaves_nothing_is_refused(scale: int) -> None:
    with pytest.raises(SoonerError, match=f"scale={scale}"):
        MinerRace(4, "miner", 0.05).run(scale, 0)


@pytest.mark.parametrize(("inputs", "shape"), [(3, "chain"), pytest.param(4, "star", marks=pytest.mark.long)])
def test_all_results_are_those_that_the_data_has(inputs: int, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the clean-up may be left out, which takes long where memory and flushes are this small."""
    monkeypatch.setattr(miner_rows, "RELATION_ROWS", 10_000)
    monkeypatch.setattr(miner_rows, "VALUES", 1_000)
    race = MinerRace(inputs, "miner", 0.10, shape)
    whole, online = (replace(race, cleans_up=cleans_up).run(1, 0) for cleans_up in (True, False))
    assert whole.total_results == online.total_results
    assert whole.early_results == online.early_results


# What the paper says


def test_more_memory_gives_more_results_online_and_two_inputs_are_near_their_bound() -> None:
    little, much = (small(4, "miner", share).early_share for share in (0.05, 0.20))
    assert much > 1.5 * little
    two, bound = (small(2, name).early_results for name in ("miner", CLAIRVOYANT))
    assert 0.8 * bound < two < 1.05 * bound


def test_little_more_rows_wait_than_it_lets_wait() -> None:
    waited = small(4, "miner", delay_share=0.5).most_buffered_in_reaction
    assert FEW_WAITING < waited < FEW_WAITING + 60
    never = small(4, "miner", delay_share=0.5, mutant=NEVER_HANDS_OVER).most_buffered_in_reaction
    assert never > 2 * waited


def test_delays_are_used() -> None:
    used, unused = (small(2, "miner", delay_share=0.5, mutant=one) for one in ("", "nothing is done in silence"))
    assert used.early_results > 1.1 * unused.early_results
    assert used.events["Looped"] > unused.events["Looped"] == 0


def test_in_a_star_miner_is_far_ahead_of_mjoin() -> None:
    miner_, mjoin = (small(4, name, shape="star").early_results for name in ("miner", "mjoin"))
    assert miner_ > 10 * mjoin > 0


@pytest.mark.parametrize("mutant", ["flush order reversed", "everything is flushed"])
def test_what_leaves_memory_matters(mutant: str) -> None:
    assert small(4, "miner", 0.20, mutant=mutant).early_results < 0.5 * small(4, "miner", 0.20).early_results


def test_each_of_the_papers_figures_is_an_experiment() -> None:
    of_miner = {name for name, experiment in EXPERIMENTS.items() if experiment.paper == "MINER"}
    assert of_miner == {f"miner-{figure}" for figure in (20, 21, 22)}


@pytest.mark.parametrize("name", [pytest.param(f"miner-{n}", marks=pytest.mark.long) for n in (20, 21, 22)])
def test_an_experiment_judges_each_of_its_claims(name: str) -> None:
    [report] = run_experiments([EXPERIMENTS[name]], LARGEST_SCALE, [0], 1, lambda *_: None)
    assert len(report.claims) == len(EXPERIMENTS[name].claims)
    assert all(told["ours"] for told in (*report.claims, *report.measurements))
