"""The invariants hold for a join that is well, and find damage of every kind."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joins import arrive, end, new_join, perform, react, rows
from schedules import ROW_BYTES, RowPairs
from sooner.errors import StreamTooLong
from sooner.operators.tasks.parts import Begun
from sooner.operators.tasks.task import Scan
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import SETTLING, SILENT, DiskDisk
from sooner.runs.run import STILL_HERE, Run
from sooner.sides import LEFT, RIGHT
from sooner.testing.invariants import check_invariants

Damage = Callable[[TwoWayJoin[RowPairs]], object]


def busy_join(directory: Path) -> TwoWayJoin[RowPairs]:
    """Rows in memory, runs on disk, and some of them have met."""
    join = new_join(directory, "xjoin", budget_rows=60, partitions=2)
    for step in range(12):
        arrive(join, rows([(7 * step + n) % 40 for n in range(15)]), rows([(5 * step + n) % 40 for n in range(12)]))
        if step == 5:
            perform(join, DiskDisk(0, fan_in=10))
    assert (join.statistics.resident_rows > 1).any()
    assert (join.statistics.spilled_runs > 1).all()
    assert join._state.ledger.cells[0].to_plain()
    return join


def test_a_join_that_is_well_keeps_them_from_begin_to_end(tmp_path: Path) -> None:
    check_invariants(new_join(tmp_path))
    join = busy_join(tmp_path)
    check_invariants(join)
    react(join, SILENT)
    check_invariants(join)
    while join.has_work(SETTLING):
        react(join, SETTLING)
        check_invariants(join)
    end(join)
    check_invariants(join)


@pytest.mark.parametrize("act", [lambda join: arrive(join, rows([1]), rows([1])), lambda join: react(join, SILENT)])
def test_a_join_whose_ticks_are_used_up_says_so_before_stamps_overflow(act: Damage, tmp_path: Path) -> None:
    join = busy_join(tmp_path)
    join._state.shell.tick = STILL_HERE - 1
    with pytest.raises(StreamTooLong, match="begin anew"):
        act(join)


# Damage


def resident_place(join: TwoWayJoin[RowPairs]) -> tuple[int, int]:
    """A side and a partition with several rows in memory."""
    side, p = np.unravel_index(int(join.statistics.resident_rows.argmax()), join.statistics.resident_rows.shape)
    return int(side), int(p)


def change_a_run(change: Callable[[Run], Run]) -> Damage:
    """In memory, with nothing said to anybody."""

    def damage(join: TwoWayJoin[RowPairs]) -> None:
        side, p = resident_place(join)
        resident = join.inputs[side].partitions[p].resident
        at = max(range(len(resident)), key=lambda n: len(resident._runs[n]))
        resident._runs[at] = change(resident._runs[at])

    return damage


def miscount(name: str, by: int) -> Damage:
    def damage(join: TwoWayJoin[RowPairs]) -> None:
        getattr(join.statistics, name)[(*resident_place(join),)] += by

    return damage


def more_open_than_there_is(join: TwoWayJoin[RowPairs]) -> None:
    join.statistics.unmet_on_disk[0] = float(np.prod(join.statistics.spilled_rows[:, 0])) + 1


def open_although_all_has_met(join: TwoWayJoin[RowPairs]) -> None:
    while join.has_work(SETTLING):
        react(join, SETTLING)
    check_invariants(join)
    join.statistics.unmet_on_disk[0] = 1


def spilled_runs_with_one_number(join: TwoWayJoin[RowPairs]) -> None:
    runs = join.inputs[LEFT].partitions[0].spilled
    runs[1] = replace(runs[1], number=runs[0].number)


def two_tasks_in_one_partition(join: TwoWayJoin[RowPairs]) -> None:
    join._tasks = [Scan(join._state, Begun.now(join._state, 1), side) for side in (LEFT, RIGHT)]


DAMAGE: dict[str, Damage] = {
    "less is counted than is in memory": lambda join: join.account.release(1),
    "more is counted than there may be": lambda join: join.account.take(60 * ROW_BYTES),
    "a row more in memory": miscount("resident_rows", 1),
    "a byte less in memory": miscount("resident_bytes", -1),
    "a row less on disk": miscount("spilled_rows", -1),
    "a byte more on disk": miscount("spilled_bytes", 1),
    "a run more on disk": miscount("spilled_runs", 1),
    "a row more has arrived": miscount("arrived_rows", 1),
    "a pair more to meet the disk": miscount("unmet_with_disk", 1),
    "a pair more open on disk than there is": more_open_than_there_is,
    "a pair open although all has met": open_although_all_has_met,
    "a cell of a run that is gone": lambda join: join._state.ledger.cells[0].cover([1000], [1000]),
    "a run on disk that is gone": lambda join: join.inputs[LEFT].partitions[0].spilled.pop(),
    "two runs of one number": spilled_runs_with_one_number,
    "a number that is to be given again": lambda join: setattr(join.inputs[LEFT].partitions[0], "next_number", 1),
    "a run that is not sorted": change_a_run(lambda run: run.take(np.arange(len(run))[::-1])),
    "a run without its last row": change_a_run(lambda run: run.slice(0, len(run) - 1)),
    "a row from the future": change_a_run(lambda run: replace(run, arrived=10**6)),
    "a meeting in the future": lambda join: join._state.ledger._met_disk[LEFT].__setitem__(0, 10**6),
    "two tasks in one partition": two_tasks_in_one_partition,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_found(damage: Damage, tmp_path: Path) -> None:
    join = busy_join(tmp_path)
    check_invariants(join)
    damage(join)
    with pytest.raises(AssertionError):
        check_invariants(join)
