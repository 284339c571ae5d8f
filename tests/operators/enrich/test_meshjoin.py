"""MESHJOIN: how long a row waits, and what happens when many do (SSBJ sec. 2)."""

from pathlib import Path

import numpy as np
import pytest

from lookups import HOWS, MASTER_ROWS, Lookup, go_through_a_stream, master_keys
from queries import refused
from sooner.errors import BudgetTooSmall
from sooner.operators.enrich.plan import MannerName
from sooner.testing.subject import require_same

ONE_BLOCK = 1  # of a quantum as small as can be


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("how", HOWS)
def test_each_stream_row_gets_the_answer_of_a_nested_loop(how: str, colliding: bool, seed: int, tmp_path: Path) -> None:
    go_through_a_stream(tmp_path, "meshjoin", how, colliding, seed)


def begun(folder: Path, how: str = "inner") -> Lookup:
    return Lookup(folder, "meshjoin", how).has_master(master_keys())


def blocks_of(lookup: Lookup) -> int:
    return sum(len(segment.blocks) for run in lookup.master.spilled for segment in run.segments)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", HOWS)
def test_no_row_waits_longer_than_one_cycle(how: str, seed: int, tmp_path: Path) -> None:
    """Each call of work reads a block. What comes out of a row by itself does so when it has met all of them."""
    dice, lookup = np.random.default_rng(seed), begun(tmp_path, how)
    cycle, came, waits = blocks_of(lookup), dict[int, int](), list[int]()
    step = asked = 0
    while step < 2 * cycle or lookup.has_work:
        if step < 2 * cycle and dice.random() < 0.05:
            keys = dice.integers(0, 1_500, dice.integers(1, 4))  # a third of them is absent
            came |= dict.fromkeys(range(asked, asked + len(keys)), step)
            asked += len(keys)
            assert lookup.ask(keys) == []
        for _, row, *_ in lookup.work(ONE_BLOCK):
            waits.append(step + 1 - came[row])
        step += 1
    assert asked > 20
    assert max(waits) <= cycle
    if how in ("semi", "anti"):
        assert min(waits) == cycle
    lookup.end()


def test_a_full_queue_blocks_its_port_until_the_oldest_have_met_all(tmp_path: Path) -> None:
    lookup = begun(tmp_path)
    for _ in range(100):
        if not lookup.is_ready:
            break
        lookup.ask(range(10))
        lookup.work(ONE_BLOCK)
    waiting = lookup.waiting_rows
    assert not lookup.is_ready
    assert waiting * 28 > lookup.operator.account.share_bytes / 2
    for _ in range(blocks_of(lookup)):
        lookup.work(ONE_BLOCK)
    assert lookup.is_ready
    assert lookup.waiting_rows < waiting
    lookup.end()


def test_after_a_burst_the_queue_drains(tmp_path: Path) -> None:
    lookup = begun(tmp_path, "anti")
    lookup.ask(range(900, 1_180))
    assert not lookup.is_ready
    for _ in range(2 * blocks_of(lookup)):  # rows come on, as few as can be kept up with
        lookup.work(ONE_BLOCK)
        if lookup.is_ready:
            lookup.ask([1])
    assert lookup.waiting_rows <= blocks_of(lookup) + 1, "no more than came in one cycle"
    lookup.settle()
    assert lookup.is_ready
    assert lookup.waiting_rows == 0
    assert lookup.operator.account.used_bytes == 0, "rows that have met all there is are gone"
    lookup.end()


def test_rows_that_wait_go_to_disk_when_memory_is_less_and_are_answered(tmp_path: Path) -> None:
    """None may come until they are through."""
    lookup = begun(tmp_path, "left")
    lookup.ask(range(950, 1_150))
    lookup.work(3_000)
    lookup.cut(memory_rows=100)
    assert lookup.operator.account.free_bytes >= 0
    assert lookup.waiting_rows == 200
    assert not lookup.is_ready
    lookup.settle(3_000)
    assert lookup.found == lookup.answer()
    assert lookup.is_ready
    lookup.end()


def test_rows_that_have_met_all_there_is_meet_nothing_more(tmp_path: Path) -> None:
    """They leave memory when they are many: until then they lie in one run with others who wait."""
    lookup = begun(tmp_path)
    half = blocks_of(lookup) // 2
    lookup.ask(range(10))
    for begin in range(10, 210, 10):
        if begin == 20:
            for _ in range(half):
                lookup.work(ONE_BLOCK)
        lookup.ask(range(begin, begin + 10))
    for _ in range(blocks_of(lookup) - half):
        lookup.work(ONE_BLOCK)
    assert lookup.waiting_rows == 190
    assert lookup.operator.inputs[0].partitions[0].resident.n_rows == 210
    lookup.settle(ONE_BLOCK)
    assert max(lookup.found.values()) == 1
    lookup.end()


def test_progress_counts_rows_that_have_met_all_there_is(tmp_path: Path) -> None:
    lookup = begun(tmp_path)
    lookup.ask(range(100))
    assert lookup.operator.progress().covered_fraction == 0.0
    lookup.settle()
    assert lookup.operator.progress().covered_fraction == 1.0
    lookup.end()


def test_a_master_in_memory_answers_at_once(tmp_path: Path) -> None:
    lookup = Lookup(tmp_path, "meshjoin", "left").has_master(range(200))
    assert len(lookup.ask(range(150, 250))) == 100
    assert not lookup.has_work
    lookup.end()


def test_a_batch_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    lookup = begun(tmp_path)
    lookup.ask(range(10))
    with refused(BudgetTooSmall, "more do not fit", "raise `memory`"):
        lookup.ask(range(310))
    lookup.operator.close()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("algorithm", ["meshjoin", "ssbj"])
def test_rows_for_which_there_is_no_room_may_wait_on_disk(algorithm: MannerName, how: str, tmp_path: Path) -> None:
    """They take turns: whoever comes while some wait there waits behind them."""
    dice = np.random.default_rng(5)
    lookup = Lookup(tmp_path, algorithm, how, queue="spill").has_master(range(MASTER_ROWS))
    for _ in range(12):
        assert lookup.is_ready
        lookup.ask(dice.integers(0, MASTER_ROWS + 200, 60))
    assert lookup.operator.progress().spilled_rows_by_side[0]
    lookup.cut()
    lookup.work(3_000)
    lookup.ask(dice.integers(0, MASTER_ROWS + 200, 60))
    lookup.settle(quantum_bytes=5_000)
    require_same(lookup.found, lookup.answer())
    lookup.end()
