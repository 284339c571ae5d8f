"""Phases: which may follow which, and what an operator says when it is asked for the wrong thing."""

from pathlib import Path

import pytest

from joins import arrive, end, new_join, rows
from sooner.operators.phases import NEXT, Phase, PhaseError, Phases
from sooner.policies.view import DiskDisk, MemoryDisk
from sooner.sides import LEFT

ALLOWED = [(now, then) for now, following in NEXT.items() for then in following]
FORBIDDEN = [(now, then) for now in NEXT for then in NEXT if then != now and then not in NEXT[now]]


@pytest.mark.parametrize(("now", "then"), ALLOWED)
def test_a_phase_leads_where_the_table_says(now: Phase, then: Phase) -> None:
    phases = Phases((now,))
    phases.enter(then)
    assert phases.now == then


@pytest.mark.parametrize(("now", "then"), FORBIDDEN)
def test_a_phase_leads_nowhere_else_and_says_how_it_came_there(now: Phase, then: Phase) -> None:
    phases = Phases(("reactive", now))
    with pytest.raises(PhaseError, match=f"from {now} to {then}.*reactive -> {now}"):
        phases.enter(then)
    assert phases.now == now


def test_entering_the_present_phase_changes_nothing() -> None:
    phases = Phases()
    phases.enter("arriving")
    phases.enter("clean-up")
    with pytest.raises(PhaseError, match="through: arriving -> clean-up"):
        phases.enter("arriving")


def test_the_history_stays_short_on_an_endless_stream() -> None:
    phases = Phases()
    for _ in range(1000):
        phases.enter("reactive")
        phases.enter("arriving")
    with pytest.raises(PhaseError) as error:
        phases.require("done")
    assert len(str(error.value)) < 500


def test_nothing_arrives_at_a_join_that_is_done(tmp_path: Path) -> None:
    join = new_join(tmp_path)
    arrive(join, rows([1]), rows([1]))
    end(join)
    with pytest.raises(PhaseError, match="arriving -> clean-up -> done"):
        arrive(join, rows([1]), None)


@pytest.mark.parametrize("task", [MemoryDisk(LEFT, 0), DiskDisk(0, fan_in=2)])
def test_disk_work_is_for_the_time_before_the_clean_up(tmp_path: Path, task: MemoryDisk | DiskDisk) -> None:
    join = new_join(tmp_path)
    end(join)
    with pytest.raises(PhaseError):
        list(join.perform(task))


def test_the_clean_up_waits_for_the_end_of_both_sides(tmp_path: Path) -> None:
    join = new_join(tmp_path)
    join.end(LEFT)
    with pytest.raises(PhaseError):
        list(join.clean_up())
