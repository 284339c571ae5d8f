"""Which disk work each react policy picks, on views small enough to check by hand."""

from dataclasses import replace

import numpy as np
import pytest

from sooner.errors import InvalidJoin
from sooner.named_algorithms import ALGORITHMS
from sooner.policies.react.best_rate import BestRate
from sooner.policies.react.growth import Growth
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.react.nested_loop import ReactiveNestedLoop
from sooner.policies.react.never import Never
from sooner.policies.react.ripple import Ripple
from sooner.policies.view import (
    BUSY,
    DeviceCosts,
    DiskDisk,
    JoinView,
    MemoryDisk,
    NestedLoop,
    ReactPolicy,
    Surroundings,
)
from sooner.sides import LEFT, RIGHT
from views import view_of

# Easy numbers: a page is 100 bytes, a random access takes 10 seconds, a sequential one takes 1.
EASY = DeviceCosts(page_bytes=100, random_seconds=10.0, sequential_seconds=1.0)


def test_memory_disk_takes_the_largest_partition_that_has_something_to_meet() -> None:
    view = view_of([[9, 3, 4], [2, 5, 8]], unmet_with_disk=[[0.0, 7.0, 1.0], [1.0, 2.0, 0.0]])
    assert LargestMemoryDisk().choose(view) == MemoryDisk(RIGHT, 1)


def test_merge_takes_the_partition_that_waited_longest_and_has_something_to_meet() -> None:
    view = view_of([[0] * 4, [0] * 4], unmet_on_disk=[1.0, 900.0, 5.0, 0.0], last_merge=[30, 20, 10, 1])
    assert Merge(fan_in=3).choose(view) == DiskDisk(2, fan_in=3)


@pytest.mark.parametrize("policy", [a.react for a in ALGORITHMS.values()], ids=list(ALGORITHMS))
def test_no_policy_works_when_all_that_is_there_has_met(policy: ReactPolicy) -> None:
    busy_but_met = view_of([[5, 5], [5, 5]], spilled_rows=[[3, 3], [3, 3]], spilled_runs=[[1, 1], [1, 1]])
    assert policy.choose(busy_but_met) is None


IN_SILENCE = {a.name: a.react for a in ALGORITHMS.values() if not isinstance(a.react, Growth | Ripple)}


@pytest.mark.parametrize("policy", IN_SILENCE.values(), ids=IN_SILENCE.keys())
def test_other_policies_work_only_in_silence(policy: ReactPolicy) -> None:
    much_to_do = tasks_of(with_disk=1000.0, on_disk=1000.0)
    assert (policy.choose(much_to_do) is None) == isinstance(policy, Never)
    assert policy.choose(replace(much_to_do, around=BUSY)) is None
    assert policy.choose(replace(much_to_do, around=Surroundings(waiting_rows=(5, 0)))) is None


def test_a_nested_loop_has_the_smaller_side_as_its_outer_one_where_something_waits_longest() -> None:
    view = view_of(
        [[0] * 3, [0] * 3],
        unmet_on_disk=[0.0, 5.0, 900.0],
        last_merge=[1, 10, 20],
        spilled_bytes=[[9, 900, 10], [1, 300, 700]],
    )
    loop = ReactiveNestedLoop(max_outer_bytes=77)
    assert loop.choose(view) == NestedLoop(1, RIGHT, 77)
    assert loop.choose(replace(view, last_merge=np.array([1, 30, 20]))) == NestedLoop(2, LEFT, 77)


@pytest.mark.parametrize(("waiting", "goes_on"), [((0, 0), True), ((600, 400), True), ((600, 401), False)])
def test_a_nested_loop_goes_on_until_too_many_rows_wait(waiting: tuple[int, int], goes_on: bool) -> None:
    """DINER sec. 3.4, Point 4: but it does not begin while rows come."""
    view = tasks_of(with_disk=0.0, on_disk=9.0)
    in_its_middle = Surroundings(waiting_rows=waiting, after_silence=True)
    assert (ReactiveNestedLoop().choose(replace(view, around=in_its_middle)) is not None) == goes_on
    assert ReactiveNestedLoop().choose(replace(view, around=Surroundings(waiting_rows=waiting))) is None


@pytest.mark.parametrize("numbers", [(-1, 10), (5, 0)])
def test_a_nested_loop_that_could_never_work_is_refused(numbers: tuple[int, int]) -> None:
    with pytest.raises(InvalidJoin, match="can never work"):
        ReactiveNestedLoop(*numbers)


def test_never_does_nothing_even_if_there_is_work() -> None:
    assert Never().choose(tasks_of(with_disk=1000.0, on_disk=1000.0)) is None


def tasks_of(with_disk: float, on_disk: float, selectivity: float = 0.5) -> JoinView:
    """A view with one memory-disk task in partition 0 and one disk-disk task in partition 1.

    The memory-disk task (left in memory) scans 2 runs of 1000 bytes together: 2 * 10 + (10 - 2) * 1 = 28 seconds.
    The disk-disk task merges 3 and 1 runs of 300 and 200 bytes, with a fan-in of 2 in two passes:
    2 * 10 * (3 + 2) * 2 = 200 seconds.
    """
    return view_of(
        [[4, 0], [0, 0]],
        spilled_runs=[[0, 3], [2, 1]],
        spilled_bytes=[[0, 300], [1000, 200]],
        unmet_with_disk=[[with_disk, 0.0], [0.0, 0.0]],
        unmet_on_disk=[0.0, on_disk],
        selectivity=[selectivity, selectivity],
        device=EASY,
    )


def test_best_rate_takes_memory_with_disk_when_its_rate_is_better() -> None:
    # 56 / 28 = 2 a second against 398 / 200 = 1.99, each times the same selectivity.
    assert BestRate(fan_in=2).choose(tasks_of(with_disk=56.0, on_disk=398.0)) == MemoryDisk(LEFT, 0)


def test_best_rate_takes_disk_with_disk_when_its_rate_is_better() -> None:
    # 56 / 28 = 2 a second against 402 / 200 = 2.01.
    assert BestRate(fan_in=2).choose(tasks_of(with_disk=56.0, on_disk=402.0)) == DiskDisk(1, fan_in=2)


def test_fewer_passes_make_disk_with_disk_cheaper() -> None:
    # A fan-in of 3 needs one pass for 3 runs: 202 / 100 = 2.02.
    assert BestRate(fan_in=3).choose(tasks_of(with_disk=56.0, on_disk=202.0)) == DiskDisk(1, fan_in=3)


def test_best_rate_counts_results_and_not_pairs() -> None:
    # 1 pair a second against 2, but in partition 0 pairs match ten times as often.
    view = tasks_of(with_disk=28.0, on_disk=400.0)
    assert BestRate(fan_in=2).choose(view) == DiskDisk(1, fan_in=2)
    picky = tasks_of(with_disk=28.0, on_disk=400.0)
    picky.selectivity[:] = [0.5, 0.05]
    assert BestRate(fan_in=2).choose(picky) == MemoryDisk(LEFT, 0)


def test_best_rate_can_be_held_to_one_kind_of_task() -> None:
    disk_is_better = tasks_of(with_disk=1.0, on_disk=10_000.0)
    assert BestRate(fan_in=2, tasks="memory-disk").choose(disk_is_better) == MemoryDisk(LEFT, 0)
    memory_is_better = tasks_of(with_disk=10_000.0, on_disk=1.0)
    assert BestRate(fan_in=2, tasks="disk-disk").choose(memory_is_better) == DiskDisk(1, fan_in=2)
    assert BestRate(tasks="memory-disk").choose(tasks_of(with_disk=0.0, on_disk=9.0)) is None
    assert BestRate(tasks="disk-disk").choose(tasks_of(with_disk=9.0, on_disk=0.0)) is None
