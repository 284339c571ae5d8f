"""Rows that are probed wait for each other while more of them come, and are answered in one pass."""

from pathlib import Path

import numpy as np
import pytest

from lookups import MASTER_ROWS, Lookup
from sooner.policies.view import SILENT, Surroundings
from sooner.testing.subject import require_same

MORE_WAIT = Surroundings(waiting_rows=(500, 0))


def test_rows_wait_while_others_come_and_no_longer(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe", gathers=True).has_master(range(MASTER_ROWS))
    lookup.settle()
    assert lookup.ask(range(50)) == []
    assert not lookup.operator.has_work(MORE_WAIT)
    assert lookup.operator.has_work(Surroundings(waiting_rows=(0, 0)))
    assert lookup.operator.has_work(SILENT)
    assert lookup.operator.progress().waiting_rows == 50
    assert len(lookup.settle()) == 50
    assert lookup.operator.progress().waiting_rows == 0
    lookup.end()


def test_those_that_are_enough_wait_no_longer_and_nobody_comes_to_them(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "probe", gathers=True).has_master(range(MASTER_ROWS))
    lookup.settle()
    while lookup.is_ready:
        lookup.ask(range(0, MASTER_ROWS, 20))
    assert lookup.operator.has_work(MORE_WAIT)
    while lookup.operator.has_work(MORE_WAIT):
        lookup.work(500)
    assert lookup.is_ready
    lookup.end()


def test_a_pass_reads_the_master_once_for_many_calls(tmp_path: Path) -> None:
    dice = np.random.default_rng(3)
    read = {}
    for gathers in (False, True):
        (folder := tmp_path / str(gathers)).mkdir()
        lookup = Lookup(folder, "probe", gathers=gathers).has_master(range(MASTER_ROWS))
        lookup.settle()
        for _ in range(8):
            lookup.ask(dice.integers(0, MASTER_ROWS, 10))
        lookup.settle(quantum_bytes=2_000)
        read[gathers] = lookup.operator.progress().read_bytes
        lookup.end()
    assert read[True] < read[False]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_each_row_is_answered_once_whatever_comes_between(how: str, colliding: bool, seed: int, tmp_path: Path) -> None:
    """Calls, quanta of a pass, snapshots, and less memory, by chance."""
    dice = np.random.default_rng(seed)
    lookup = Lookup(tmp_path, "probe", how, colliding=colliding, gathers=True)
    lookup.has_master(dice.integers(0, 600, MASTER_ROWS))
    for _ in range(40):
        match dice.integers(0, 5):
            case 0 | 1 if lookup.is_ready:
                lookup.ask(dice.integers(0, 700, 25))
            case 2 | 3 if lookup.has_work:
                lookup.work(int(dice.integers(1, 3_000)))
            case 4:
                lookup.cut(int(dice.integers(200, 400)))
    lookup.settle()
    require_same(lookup.found, lookup.answer())
    lookup.end()
