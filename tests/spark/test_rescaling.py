"""A state gets other partitions between two runs of its query: no pair is lost, and none comes twice."""

import errno
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

import sooner.spark.states.contents
import sooner.spark.states.rescaling
import sooner.spark.step.in_use
from join_steps import same
from joins import OTHER_JOINS
from queries import refused
from rescaled_joins import PlacedLane, plan_for
from sooner.errors import InvalidJoin, StateCorrupted
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.runs.formats.versions import FORMAT, Versions
from sooner.spark.states.contents import UsedState, segments_in
from sooner.spark.states.rescaling import divide_ahead, rescale
from sooner.spark.step.in_use import alone, note_in_use
from sooner.spark.step.layout import enough_partitions, partition_directory
from step_schedules import StepSchedule, step_schedule

SEEDS = range(2)
MANY_SEEDS = range(100, 140)


def rescaled_on_the_way(algorithm: str, seed: int, folder: Path, how: str = "inner", *, ranged: bool = False) -> int:
    """2 to 8 to 3, or others, after any steps. How often it was rescaled: not in the middle of a key."""
    schedule, dice, dice_ahead = step_schedule(seed, ranged=ranged), random.Random(seed), random.Random(~seed)
    plan = plan_for(schedule, folder, algorithm, how, dice.choice([1, 2, 3]))
    lane = PlacedLane(plan, [schedule.left.schema, schedule.right.schema])
    wanted, rescaled = [8, 3, 5, 2], 0
    for arriving in schedule.steps:
        lane.step(arriving)
        if wanted and dice_ahead.random() < 0.5:
            with suppress(InvalidJoin):  # in the middle of rows of a key, as below
                divide_ahead(lane.plan.state, wanted[0])
        if wanted and dice.random() < 0.5:
            before = lane.arrived_rows()
            try:
                lane.rescale(wanted[0])
            except InvalidJoin as error:
                assert "in the middle of rows" in str(error)
                continue
            wanted.pop(0)
            rescaled += 1
            assert lane.arrived_rows() == before
    assert same(lane.end(), schedule.expected(how)), f"seed {seed}"
    schedule.require_values(lane.results)
    return rescaled


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_pair_is_lost_or_doubled(algorithm: str, seed: int, tmp_path: Path) -> None:
    rescaled_on_the_way(algorithm, seed + 1000 * list(ALGORITHMS).index(algorithm), tmp_path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", OTHER_JOINS)
def test_nor_is_a_row_by_itself(how: str, tmp_path: Path) -> None:
    rescaled_on_the_way("rpj", 31 + list(KINDS).index(how), tmp_path, how)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", KINDS)
def test_nor_is_a_pair_within_a_range(how: str, tmp_path: Path) -> None:
    """Rows that are copied may be in two parts."""
    rescaled_on_the_way("rpj", 62 + list(KINDS).index(how), tmp_path, how, ranged=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_no_join_loses_or_doubles_anything(seed: int, tmp_path: Path) -> None:
    how, algorithm = list(KINDS)[seed % len(KINDS)], list(ALGORITHMS)[seed % len(ALGORITHMS)]
    for ranged in (False, True):
        rescaled_on_the_way(algorithm, seed, tmp_path / str(ranged), how, ranged=ranged)


# Killed in the middle


class Killed(BaseException):
    """As if the process ended there: nothing is mended on the way out."""


class DyingFiles:
    """A local filesystem whose user is killed before the n-th change of it."""

    def __init__(self, changes: int) -> None:
        self._files = pafs.LocalFileSystem()
        self.changes_left = changes

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._files, name)
        if not name.startswith(("open_output", "move", "delete", "create")):
            return method
        return lambda *given, **named: self._change(method, *given, **named)

    def _change(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        self.changes_left -= 1
        if self.changes_left < 0:
            raise Killed
        return method(*given, **named)


@contextmanager
def dying_after(changes: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[DyingFiles]:
    files = DyingFiles(changes)
    with monkeypatch.context() as patched:
        patched.setattr(sooner.spark.states.contents, "open_state", lambda state: (files, state))
        yield files


def half_joined(folder: Path, how: str = "full", partitions: int = 2) -> tuple[StepSchedule, PlacedLane]:
    """Half of the steps of a join, with rows in memory and on disk."""
    schedule = step_schedule(3)
    plan = plan_for(schedule, folder, "hmj", how, partitions)
    lane = PlacedLane(plan, [schedule.left.schema, schedule.right.schema])
    for arriving in schedule.steps[: len(schedule.steps) // 2]:
        lane.step(arriving)
    return schedule, lane


def copied(lane: PlacedLane, folder: Path) -> PlacedLane:
    """It goes on by itself, from the same state."""
    shutil.copytree(lane.plan.state, folder / "state")
    plan = replace(lane.plan, state=str(folder / "state"), shared_memory=folder / "shared-memory")
    return replace(lane, plan=plan, results=[*lane.results])


def require_right_end(schedule: StepSchedule, lane: PlacedLane, how: str = "full") -> None:
    for arriving in schedule.steps[lane.version :]:
        lane.step(arriving)
    assert same(lane.end(), schedule.expected(how))


@pytest.mark.parametrize("every", [25, pytest.param(3, marks=pytest.mark.long)])
def test_whoever_is_killed_amid_it_leaves_one_state_or_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """At changes of files; then it is tried again, or not, and the join goes on to its end."""
    with dying_after(10**6, monkeypatch) as files:
        half_joined(tmp_path / "whole")[1].rescale(4)
    changes = 10**6 - files.changes_left
    assert changes > 40
    outcomes = set()
    schedule, half = half_joined(tmp_path / "half")
    for killed_at in sorted({*range(0, changes, every), *range(changes - 4, changes)}):
        lane = copied(half, tmp_path / str(killed_at))
        with dying_after(killed_at, monkeypatch), pytest.raises(Killed):
            lane.rescale(4)
        outcomes.add(UsedState.at(lane.plan.state).partitions)
        lane.rescale(4 if killed_at % 2 else 2)
        require_right_end(schedule, lane)
    assert outcomes == {2, 4}
    inside = {path.name for path in (tmp_path / str(changes - 1) / "state").iterdir()}
    assert inside >= {"generation-00001", "layout.json", "partition-00000"}


def part_files(lane: PlacedLane) -> set[str]:
    """Of the generation that counts, or is to."""
    return {path.name for path in Path(lane.plan.state).glob("generation-*/partition-*/*.arrows")}


def test_what_is_divided_ahead_is_not_divided_again(tmp_path: Path) -> None:
    """Nor is it waited for: the query goes on meanwhile, and divided is what it has on disk in the end."""
    schedule, lane = half_joined(tmp_path)
    lane.step(schedule.steps[lane.version])
    assert "now stop the query" in str(divide_ahead(lane.plan.state, 8))
    ahead = part_files(lane)
    lane.step(schedule.steps[lane.version])
    divide_ahead(lane.plan.state, 8)
    assert ahead & part_files(lane)
    lane.rescale(8)
    named = {
        segment["file"]
        for versions in UsedState.at(lane.plan.state).versions()
        for segment in segments_in(versions.load(lane.version - 1)[1])
    }
    assert ahead & named
    assert named - ahead
    require_right_end(schedule, lane)
    assert not [*Path(lane.plan.state).glob("generation-*/ahead-*")]


def test_what_is_divided_ahead_for_other_tasks_does_not_count(tmp_path: Path) -> None:
    schedule, lane = half_joined(tmp_path)
    divide_ahead(lane.plan.state, 8)
    ahead = part_files(lane)
    lane.rescale(4)
    assert ahead
    assert not ahead & part_files(lane)
    require_right_end(schedule, lane)


@pytest.mark.parametrize("every", [18, pytest.param(3, marks=pytest.mark.long)])
def test_whoever_is_killed_while_dividing_ahead_leaves_the_state_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    with dying_after(10**6, monkeypatch) as files:
        divide_ahead(half_joined(tmp_path / "whole")[1].plan.state, 4)
    changes = 10**6 - files.changes_left
    assert changes > 20
    for killed_at in (*range(0, changes, every), changes - 1):
        schedule, lane = half_joined(tmp_path / str(killed_at))
        with dying_after(killed_at, monkeypatch), pytest.raises(Killed):
            divide_ahead(lane.plan.state, 4)
        lane.step(schedule.steps[lane.version])
        divide_ahead(lane.plan.state, 4)
        lane.rescale(4)
        require_right_end(schedule, lane)


def test_a_batch_that_was_cut_off_runs_again_with_other_partitions(tmp_path: Path) -> None:
    schedule, lane = half_joined(tmp_path)
    lane.step(schedule.steps[lane.version], only_tasks=1)
    lane.rescale(8, is_done=False)
    require_right_end(schedule, lane)


def test_fewer_tasks_move_nothing(tmp_path: Path) -> None:
    schedule, lane = half_joined(tmp_path, partitions=8)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*.arrows")}
    assert "no row had to move" in str(lane.rescale(3))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*.arrows")} == before
    assert (lane.plan.partitions, lane.plan.tasks) == (8, 3)
    require_right_end(schedule, lane)


@pytest.mark.parametrize(
    ("partitions", "tasks", "enough"),
    [(2, 8, 8), (8, 3, 8), (3, 8, 15), (3, 2, 6), (8, 8, 8), (5, 7, 20), (1, 1, 1), (64, 1, 64), (4, 1000, 1000)],
)
def test_as_many_partitions_as_tasks_can_share_about_evenly(partitions: int, tasks: int, enough: int) -> None:
    assert enough_partitions(partitions, tasks) == enough


# Refused


def test_a_batch_of_which_nobody_knows_whether_it_is_done_is_no_time_to_divide(tmp_path: Path) -> None:
    _, lane = half_joined(tmp_path)
    with refused(InvalidJoin, "is not known", "with the 2 partitions that it has"):
        lane.rescale(8, is_done=False)
    lane.rescale(1, is_done=False)


def test_a_state_in_use_is_not_rescaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, lane = half_joined(tmp_path)
    monkeypatch.setattr(sooner.spark.step.in_use, "_held", {})
    monkeypatch.setattr(sooner.spark.states.rescaling, "alone", lambda state: alone(state, seconds=0.0))
    note_in_use(lane.plan.state)
    with refused(InvalidJoin, "A query is running", "stop it first"):
        lane.rescale(8)


def test_where_files_cannot_be_locked_nobody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some network filesystems; and the pacemaker, which tries it at every look, does not run out of files."""

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    schedule, lane = half_joined(tmp_path)
    monkeypatch.setattr(sooner.spark.step.in_use, "_held", {})
    monkeypatch.setattr(sooner.spark.step.in_use.fcntl, "flock", flock)
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(10):
        note_in_use(lane.plan.state)
    assert len([*Path("/proc/self/fd").iterdir()]) < before + 10
    lane.rescale(8)
    require_right_end(schedule, lane)


def test_a_running_query_whose_state_was_rescaled_all_the_same_is_refused(tmp_path: Path) -> None:
    schedule, lane = half_joined(tmp_path)
    plan = lane.plan
    lane.rescale(8)
    before = PlacedLane(plan, lane.schemas, lane.version)
    with refused(InvalidJoin, "another number of partitions: 8 there, 2 here"):
        before.step(schedule.steps[lane.version])


def test_an_earlier_release_refuses_what_was_divided(tmp_path: Path) -> None:
    """It looks at the first partition where it was, and knows no layouts."""
    _, lane = half_joined(tmp_path)
    lane.rescale(8)
    [manifest] = Path(partition_directory(lane.plan.state, 0)).iterdir()
    with refused(StateCorrupted, f"format {FORMAT} in generations", f"reads format {FORMAT}"):
        Versions(pafs.LocalFileSystem(), str(manifest.parent)).header(int(manifest.stem))


@pytest.mark.parametrize(
    ("identity", "mention"),
    [
        ({"question": ["n = count(*)"], "left": "", "right": ""}, "an estimate"),
        ({"master": ""}, "an enrichment"),
        ({"inputs": []}, "many inputs"),
        ({"left": "", "right": ""}, "before a query of this release has used it"),
    ],
)
def test_what_cannot_be_divided_says_so_and_takes_fewer_tasks(
    identity: dict[str, Any], mention: str, tmp_path: Path
) -> None:
    _, lane = half_joined(tmp_path)
    for versions in UsedState.at(lane.plan.state).versions():
        header, state = versions.load(lane.version - 1)
        versions.publish(replace(header, identity={"partitions": 2, **identity}), state)
    with refused(InvalidJoin, lane.plan.state, "cannot be divided", mention):
        rescale(lane.plan.state, 8)
    assert rescale(lane.plan.state, 1).tasks == 1


def test_what_nobody_has_used_has_nothing_to_rescale(tmp_path: Path) -> None:
    for give in (rescale, divide_ahead):
        with refused(InvalidJoin, str(tmp_path), "no state that a query has used"):
            give(str(tmp_path), 4)
