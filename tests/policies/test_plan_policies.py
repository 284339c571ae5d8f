"""The worked examples of the paper on AdaptiveGlobalFlush and the State Manager, and what policies make of views."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sooner.operators.statistics.observing import Average, Ewma, Maintenance, Observed, Recent
from sooner.policies.flush.largest import Largest
from sooner.policies.groups import (
    buffer_seconds,
    disk_throughput,
    expected_input,
    expected_local,
    expected_share,
    final_share,
    unmet_results,
)
from sooner.policies.plan_view import GroupsView, MergeGroup, StageView
from sooner.policies.plans.contribution import Contribution
from sooner.policies.plans.each_for_itself import EachForItself
from sooner.policies.plans.global_score import GlobalScore
from sooner.policies.plans.state_manager import StateManager
from sooner.policies.view import BUSY, SILENT, SOLID_STATE, DeviceCosts, EvictAll, Surroundings
from views import unexplained


def numbers(*values: float) -> Any:
    return np.array(values, np.float64)


def test_12_and_10_tuples_are_expected() -> None:
    """Figure 3: N = 2,000 bytes, 6 and 4 of 100 tuples came to group 2, and tuples have 10 and 8 bytes."""
    assert expected_input(2000, numbers(6), 100, 10).tolist() == [pytest.approx(12)]
    assert expected_input(2000, numbers(4), 100, 8).tolist() == [pytest.approx(10)]


def test_260_local_results_are_expected_and_130_global_ones() -> None:
    """Figure 3 again: 100 and 15 tuples are there, and 5 values; half of the local results become global ones."""
    parts = expected_local((numbers(100), numbers(15)), (numbers(12), numbers(10)), numbers(5))
    assert [part.tolist() for part in parts] == [[200], [36], [24]]
    local = sum(parts)
    assert local.tolist() == [260]
    assert (local * final_share(numbers(40), numbers(80))).tolist() == [130]


def test_2280_results_wait_on_disk_at_a_throughput_of_6_33() -> None:
    """Figure 5(b): group 1 of the root has 140 and 10 tuples in memory, 300 and 60 on disk, and 5 values."""
    unmet_pairs = numbers(140 * 60 + 300 * 10)
    local = unmet_results(unmet_pairs, numbers(5))
    assert local.tolist() == [2280]
    [throughput] = disk_throughput(local, final_share(numbers(7), numbers(7)), numbers(300 + 60)).tolist()
    assert round(throughput, 2) == 6.33


@pytest.mark.parametrize(("maintenance", "expected"), [(Recent(), 60), (Average(3), 77), (Ewma(0.2), 63)])
def test_statistics_of_figure_4(maintenance: Maintenance, expected: int) -> None:
    """Four observations: 50, 100, 70 and 60."""
    observed = Observed((1,), maintenance, every_seconds=5)
    total = numbers(0)
    for number, count in enumerate((50, 100, 70, 60), 1):
        total = total + count
        observed.look(total, now=5 * number)
    assert round(float(observed.value(total)[0])) == expected


def test_silent_times_are_observed_too_and_all_of_it_is_saved() -> None:
    one, other = (Observed((1,), Ewma(0.5), 1) for _ in range(2))
    one.look(numbers(8), now=1)
    assert one.value(numbers(8)).tolist() == [8]
    one.look(numbers(8), now=3)
    assert one.value(numbers(8)).tolist() == [2]
    other.load_plain(one.to_plain())
    assert other.value(numbers(8)).tolist() == [2]
    one.look(numbers(8), now=1e9)
    assert one.value(numbers(8))[0] < 1e-15


def test_a_buffer_lasts_as_long_as_what_came_says() -> None:
    assert buffer_seconds(5, 1000, came=100) == 50


def view_of(
    resident: Any, groups: GroupsView, *, spilled: Any = None, unmet: Any = None, around: Surroundings = BUSY
) -> StageView:
    resident = np.array(resident, np.int64)
    spilled = np.zeros_like(resident) if spilled is None else np.array(spilled, np.int64)
    partitions = resident.shape[1]
    unmet_on_disk = np.zeros(partitions) if unmet is None else numbers(*unmet)
    return StageView(
        tick=1, ended=(False, False), around=around, arrived_rows=resident, resident_rows=resident,
        resident_bytes=resident * 10, spilled_rows=spilled, spilled_bytes=spilled * 10,
        spilled_runs=(spilled > 0).astype(np.int64), recent_rows=numbers(1, 1),
        unmet_with_disk=np.zeros((2, partitions)), unmet_on_disk=unmet_on_disk,
        selectivity=np.ones(partitions), last_merge=np.zeros(partitions, np.int64),
        whole_rows=np.zeros(partitions, np.int64), device=SOLID_STATE, memory_bytes=10**6, expected_rows=None,
        groups=groups,
    )  # fmt: skip


def groups(*, came: Any, local: Any, final: Any, contributed: Any = (0, 0), distinct: Any = (5, 5)) -> GroupsView:
    given = (numbers(*some) for some in (local, final, contributed, distinct))
    return GroupsView(np.array(came, float), *given, seconds=5)


ALIKE: Any = [[10, 10], [10, 10]]
BASE = groups(came=[[50, 50], [50, 50]], local=[100, 100], final=[1, 80], contributed=[900, 1])
ROOT = groups(came=[[50, 5], [50, 5]], local=[100, 100], final=[100, 100], contributed=[5, 800])


def test_those_leave_that_are_expected_to_give_the_fewest_final_results() -> None:
    """Of the base the group whose results come to nothing, then of the root the one to which little comes."""
    views = {"base": view_of(ALIKE, BASE), "root": view_of(ALIKE, ROOT)}
    chosen = [unexplained(one) for one in GlobalScore().choose(views, "base", 200)]
    assert chosen[0] == [EvictAll(side, 0, "base") for side in (0, 1)]
    assert chosen[1] == [EvictAll(side, 1, "root") for side in (0, 1)]
    assert len(chosen) == 4
    together = next(GlobalScore().choose(views, "base", 201))
    assert len(together) == 4, "as many as are needed go together"


def test_a_share_is_a_guess_as_long_as_few_results_were_seen() -> None:
    assert expected_share(numbers(0, 0), numbers(0, 0)).tolist() == [1, 1], "all may become final"
    thin, long_without, good = expected_share(numbers(0, 0, 79), numbers(1, 99, 99)).tolist()
    assert long_without < 0.01 < thin < good
    assert (thin, good) == (pytest.approx(0.4 / 2), pytest.approx(79.4 / 100))
    many = numbers(2000, 4000)
    assert expected_share(many, 2 * many) == pytest.approx(final_share(many, 2 * many), rel=0.001)


def test_who_has_given_little_yet_is_kept_before_who_has_given_much_for_nothing() -> None:
    base = groups(came=[[50, 50], [50, 50]], local=[2, 200], final=[0, 0])
    views = {"base": view_of(ALIKE, base), "root": view_of(ALIKE, ROOT)}
    assert unexplained(next(GlobalScore().choose(views, "base", 200))) == [EvictAll(side, 1, "base") for side in (0, 1)]


def test_of_groups_that_are_worth_the_same_the_largest_leaves_first() -> None:
    nothing = groups(came=[[50, 50], [0, 0]], local=[0, 0], final=[0, 0])
    views = {"base": view_of([[10, 30], [0, 0]], nothing), "root": view_of([[20, 10], [0, 0]], nothing)}
    chosen = [*GlobalScore().choose(views, "base", 300), *Contribution().choose(views, "base", 300)]
    assert [(one[0].operator, one[0].partition) for one in chosen[::4]] == [("base", 1)] * 2


def test_of_inputs_that_have_ended_nothing_is_expected() -> None:
    ended = replace(view_of(ALIKE, ROOT), ended=(True, True))
    views = {"base": view_of(ALIKE, BASE), "root": ended}
    assert {one.operator for one in next(GlobalScore().choose(views, "base", 400))} == {"root"}


def test_state_spill_looks_back_only() -> None:
    views = {"base": view_of(ALIKE, BASE), "root": view_of(ALIKE, ROOT)}
    first, second, *_ = map(unexplained, Contribution().choose(views, "base", 1))
    assert first == [EvictAll(side, 1, "base") for side in (0, 1)]
    assert second == [EvictAll(side, 0, "root") for side in (0, 1)]


def test_who_asks_takes_from_its_own_rows_and_then_from_the_largest() -> None:
    larger = [[100, 10], [10, 10]]
    views = {"base": view_of(ALIKE, BASE), "root": view_of(ALIKE, ROOT), "middle": view_of(larger, BASE)}
    own, *others = EachForItself(Largest()).choose(views, "root", 150)
    assert {one.operator for one in own} == {"root"}
    assert [one.operator for one in others[0]] == ["middle"]


WAITING: dict[str, Any] = {"spilled": [[100, 100], [100, 100]], "unmet": [5000, 50_000]}
SLOW = DeviceCosts(page_bytes=10, random_seconds=1, sequential_seconds=1)  # a row a second


def test_the_state_manager_goes_to_disk_from_the_root_down() -> None:
    """A fast disk has more than memory gives: the best group of the join nearest to the root."""
    views = {"base": view_of(ALIKE, BASE, **WAITING), "root": view_of(ALIKE, ROOT, **WAITING)}
    assert StateManager().choose(views) == MergeGroup("root", 1)
    views["root"] = view_of(ALIKE, ROOT)
    assert StateManager().choose(views) == MergeGroup("base", 1)


def test_it_stays_in_memory_while_that_gives_more_and_goes_to_disk_in_a_silence() -> None:
    slow = replace(view_of(ALIKE, ROOT, spilled=WAITING["spilled"], unmet=[5, 10]), device=SLOW)
    assert StateManager().choose({"root": slow}) is None
    assert StateManager().choose({"root": replace(slow, around=SILENT)}) == MergeGroup("root", 1)
    assert StateManager().choose({"root": replace(slow, around=SILENT, unmet_on_disk=numbers(0, 0))}) is None


def test_in_a_silence_a_join_that_promises_something_comes_before_one_nearer_to_the_root_that_does_not() -> None:
    middle = groups(came=[[50, 50], [50, 50]], local=[100, 100], final=[0, 0])
    views = {
        "base": view_of(ALIKE, BASE, **WAITING, around=SILENT),
        "middle": view_of(ALIKE, middle, **WAITING, around=SILENT),
        "root": view_of(ALIKE, ROOT, around=SILENT),
    }
    assert StateManager().choose(views) == MergeGroup("base", 1)
    views["base"] = view_of(ALIKE, BASE, around=SILENT)
    chosen = StateManager().choose(views)
    assert chosen is not None
    assert chosen.operator == "middle", "the time is there, and something may come of it"
    assert StateManager().choose({name: replace(view, around=BUSY) for name, view in views.items()}) is None


def test_a_merge_for_which_the_buffer_is_too_small_is_not_begun() -> None:
    """BufTime > DskTime: 200 rows at a row a second, while 110 come in 5 seconds."""
    slow = replace(view_of(ALIKE, ROOT, spilled=WAITING["spilled"], unmet=[1e9, 1e9]), device=SLOW)
    assert StateManager(buffer_rows=4000).choose({"root": slow}) is None
    assert StateManager(buffer_rows=5000).choose({"root": slow}) == MergeGroup("root", 0)
