"""Phases: which may follow which, and what an operator says when it is asked for the wrong thing."""

from pathlib import Path

import pytest

from joins import WHOLE_TASK, arrive, end, new_join, rows
from sooner.errors import PhaseError
from sooner.phases import NEXT, Phase, Phases
from sooner.policies.view import BUSY, SETTLING, SILENT, Surroundings
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


AROUND = {"silent": SILENT, "settling": SETTLING, "busy": BUSY}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_a_join_that_is_done_has_nothing_to_do(tmp_path: Path, around: Surroundings) -> None:
    join = new_join(tmp_path, budget_rows=20, crowd=2)
    for _ in range(5):
        arrive(join, rows(list(range(8))), rows(list(range(8))))
    end(join)
    assert not join.has_work(around)
    assert list(join.work(WHOLE_TASK, around)) == []
    assert join.phase == "done"


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_the_clean_up_waits_for_the_end_of_both_sides(tmp_path: Path, around: Surroundings) -> None:
    join = new_join(tmp_path, budget_rows=20, crowd=2)
    for _ in range(5):
        arrive(join, rows(list(range(8))), rows(list(range(8))))
    join.end(LEFT)
    assert join.view().spilled_rows.sum() > 0
    for _ in range(20):
        list(join.work(WHOLE_TASK, around))
        assert join.phase in ("arriving", "reactive")
    assert not join.has_work(around)
    arrive(join, None, rows([1]))
