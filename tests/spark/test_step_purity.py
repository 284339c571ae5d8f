"""A step is a pure function of a state and a set of rows: whoever runs it, however often, in whatever order."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import sooner.spark.step.delivery
from join_steps import (
    Arriving,
    Lane,
    Pairs,
    meaning,
    new_step,
    nothing,
    pairs_in,
    plan_of,
    run,
    same,
    summary_of,
    versions_of,
    with_packs,
)
from joins import DISTINCT, OTHER_JOINS
from sooner.errors import StateCorrupted
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.sides import SIDES
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Step
from step_schedules import StepSchedule, step_schedule

SEEDS = range(2)
MANY_SEEDS = range(100, 160)


def plan_for(schedule: StepSchedule, folder: Path, algorithm: str, how: str) -> StepPlan:
    return plan_of(
        schedule.left.schema,
        schedule.right.schema,
        folder,
        schedule.keys,
        schedule.keys,
        algorithm=algorithm,
        memory_bytes=schedule.memory_bytes,
        how=how,
        near=schedule.near,
    )


def some_way(plan: StepPlan, dice: random.Random) -> StepPlan:
    """Rows of no, one or both sides come packed, and the others as Spark's rows: it makes no difference."""
    return with_packs(plan, *(side for side in SIDES if dice.random() < 0.5))


def seed_for(algorithm: str, seed: int) -> int:
    return seed + 1000 * list(ALGORITHMS).index(algorithm)


def several_attempts(algorithm: str, seed: int, folder: Path, how: str = "inner", *, ranged: bool = False) -> None:
    """Results are taken from one attempt, the state from another one, which got its rows in another order and way."""
    schedule, dice = step_schedule(seed, ranged=ranged), random.Random(seed)
    plan = plan_for(schedule, folder, algorithm, how)
    lane = Lane(plan)
    for arriving in schedule.steps:
        lane.plan = some_way(plan, dice)
        version, found = lane.version, lane.step(arriving)
        first = meaning(plan, version)
        for _ in range(dice.randrange(3)):
            if dice.random() < 0.4:
                shutil.rmtree(folder / "shared-memory", ignore_errors=True)
            again = run(some_way(plan, dice), version, arriving, seed=dice.randrange(10**6))
            assert same(pairs_in(again), found), f"seed {seed}"
            assert meaning(plan, version) == first, f"seed {seed}"
    assert same(lane.end(), schedule.expected(how)), f"seed {seed}"
    schedule.require_values(lane.results)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_results_and_states_depend_on_the_set_of_rows_only(algorithm: str, seed: int, tmp_path: Path) -> None:
    several_attempts(algorithm, seed_for(algorithm, seed), tmp_path)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("algorithm", "how"),
    [(a, h) for i, a in enumerate(DISTINCT) for j, h in enumerate(OTHER_JOINS) if (i + j) % 3 == 0],
)
def test_so_it_is_with_every_join(algorithm: str, how: str, tmp_path: Path) -> None:
    """A third of them, in one way or the other; all of them, and variants of others, in both ways in the long set."""
    seed = seed_for(algorithm, 10 + OTHER_JOINS.index(how))
    try_it = several_attempts if list(ALGORITHMS).index(algorithm) % 4 < 2 else zombies_and_restarts
    try_it(algorithm, seed, tmp_path, how)


def test_matches_that_a_task_found_in_memory_are_not_forgotten_with_the_rows(tmp_path: Path) -> None:
    """In a full join by PR-Join, of which the right has ended and whose left rows are decided while they wait."""
    several_attempts("pr_join", 11205, tmp_path, "full")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("algorithm", DISTINCT)
def test_so_it_is_with_ranges(algorithm: str, tmp_path: Path) -> None:
    """Each algorithm with one join; all of them, in both ways, are in the long set."""
    number = list(ALGORITHMS).index(algorithm)
    how = list(KINDS)[number % len(KINDS)]
    try_it = several_attempts if number % 4 < 2 else zombies_and_restarts
    try_it(algorithm, seed_for(algorithm, 20), tmp_path, how, ranged=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(20, 30))
def test_batches_that_are_staged_on_disk_are_no_exception(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.spark.step.delivery, "LEAST_HELD_BYTES", 2**10)
    algorithm, how = list(ALGORITHMS)[1 + seed % (len(ALGORITHMS) - 1)], list(KINDS)[seed % len(KINDS)]
    several_attempts(algorithm, seed, tmp_path, how, ranged=seed % 5 == 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 220))
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_so_it_is_with_every_join_for_long(algorithm: str, how: str, seed: int, tmp_path: Path) -> None:
    several_attempts(algorithm, seed_for(algorithm, seed), tmp_path / "attempts", how)
    zombies_and_restarts(algorithm, seed_for(algorithm, seed), tmp_path / "zombies", how)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 310))
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_so_it_is_with_ranges_for_long(algorithm: str, how: str, seed: int, tmp_path: Path) -> None:
    several_attempts(algorithm, seed_for(algorithm, seed), tmp_path / "attempts", how, ranged=True)
    zombies_and_restarts(algorithm, seed_for(algorithm, seed), tmp_path / "zombies", how, ranged=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_results_and_states_depend_on_the_set_of_rows_only_for_long(algorithm: str, seed: int, tmp_path: Path) -> None:
    several_attempts(algorithm, seed_for(algorithm, seed), tmp_path)


class Zombies:
    """Attempts that have begun and are slow: each goes on, from where it stands, at some later time."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._waiting: list[tuple[Step, Pairs, bool]] = []

    def begin(self, step: Step, expected: Pairs) -> None:
        self._waiting.append((step, expected, False))

    def let_some_go_on(self) -> None:
        waiting, self._waiting = self._waiting, []
        for step, expected, joined in waiting:
            if self._dice.random() < 0.5:
                self._waiting.append((step, expected, joined))
                continue
            try:
                self._go_on(step, expected, joined)
            except StateCorrupted:
                continue  # files that only it would need are gone: it fails, and nobody listens

    def _go_on(self, step: Step, expected: Pairs, joined: bool) -> None:
        if joined:
            step.publish()
            return
        assert same(pairs_in(step.results()), expected)
        self._waiting.append((step, expected, True))


def zombies_and_restarts(algorithm: str, seed: int, folder: Path, how: str = "inner", *, ranged: bool = False) -> None:
    """A batch may run again as long as the next one has not begun; attempts at older ones may write at any time."""
    schedule, dice = step_schedule(seed, ranged=ranged), random.Random(seed)
    plan = plan_for(schedule, folder, algorithm, how)
    lane, zombies = Lane(plan), Zombies(dice)
    for arriving in schedule.steps:
        version = lane.version
        slow = [new_step(plan, version, arriving, seed=dice.randrange(10**6)) for _ in range(dice.randrange(3))]
        found = lane.step(arriving)
        for step in slow:
            zombies.begin(step, found)
        zombies.let_some_go_on()
        if dice.random() < 0.3:
            assert same(pairs_in(run(plan, version, arriving, seed=dice.randrange(10**6))), found), f"seed {seed}"
            zombies.let_some_go_on()
    assert same(lane.end(), schedule.expected(how)), f"seed {seed}"


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_attempts_that_write_late_change_nothing(algorithm: str, seed: int, tmp_path: Path) -> None:
    zombies_and_restarts(algorithm, seed_for(algorithm, seed), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_attempts_that_write_late_change_nothing_for_long(algorithm: str, seed: int, tmp_path: Path) -> None:
    zombies_and_restarts(algorithm, seed_for(algorithm, seed), tmp_path)


# Other circumstances


def wide_rows(n_rows: int, name: str, seed: int) -> pa.Table:
    """Few keys, texts of many lengths."""
    dice = random.Random(seed)
    texts = ["x" * dice.randrange(60) if dice.random() < 0.9 else None for _ in range(n_rows)]
    keys = pa.array([dice.randrange(3) for _ in range(n_rows)], pa.int64())
    return pa.table({"k": keys, name: pa.array(range(n_rows), pa.int64()), f"text_{name}": pa.array(texts)})


@pytest.mark.one_in(4)
@pytest.mark.parametrize("memories", [(2**13, 2**16), (2**16, 2**13)])
@pytest.mark.parametrize("algorithm", ["rpj", "hmj", "xjoin", "pmj"])
def test_memory_may_change_from_one_step_to_the_next(algorithm: str, memories: tuple[int, int], tmp_path: Path) -> None:
    left, right = wide_rows(400, "a", 1), wide_rows(300, "b", 2)
    plan = plan_of(left.schema, right.schema, tmp_path, algorithm=algorithm)
    lane = Lane(plan)
    for step in range(4):
        lane.plan = replace(plan, memory_bytes=memories[step // 2])
        lane.step(Arriving(left.slice(step * 100, 100), right.slice(step * 75, 75)))
    keys = [table.column("k").to_numpy() for table in (left, right)]
    assert len(lane.end()) == int((keys[0][:, None] == keys[1][None, :]).sum())


def test_a_copy_of_a_row_has_not_arrived_nor_is_it_late(tmp_path: Path) -> None:
    left, right = wide_rows(400, "a", 1), wide_rows(300, "b", 2)
    plan = plan_of(left.schema, right.schema, tmp_path, memory_bytes=2**20)
    arriving = Arriving(left, right, left_copies=100)
    for version, some in enumerate((arriving, arriving, nothing(plan, ended=(True, False)), arriving)):
        run(plan, version, some, seed=version)
    told = summary_of(plan, 3)
    assert told["progress"]["arrived_rows"] == [600, 900]
    assert told["progress"]["copied_rows"] == 200
    assert told["late_rows"] == [300, 0]


def test_what_spilled_rows_weigh_does_not_depend_on_their_order(tmp_path: Path) -> None:
    """The policies look at it."""
    left, right = wide_rows(600, "a", 1), wide_rows(600, "b", 2)
    weights = []
    for seed in (1, 2):
        plan = plan_of(left.schema, right.schema, tmp_path / str(seed), algorithm="pmj", memory_bytes=2**16)
        for version in range(6):
            run(plan, version, Arriving(left, right), seed=seed)
        weights.append(versions_of(plan).load(5)[1]["operator"]["statistics"]["spilled_bytes"])
    assert sum(map(sum, weights[0])) > 0
    assert weights[0] == weights[1]
