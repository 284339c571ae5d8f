"""Rows that come out by themselves: when they do, what they leave behind, and what must not be lost on the way."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joins import PLENTY, WHOLE_TASK, arrive, end, flat, new_join, react, rows
from schedules import RowPairs
from sooner.operators.events import Event, Merged
from sooner.operators.two_way.join import TwoWayJoin
from sooner.policies.view import BUSY, SETTLING, SILENT, EvictAll, EvictUpTo, Surroundings
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.testing.invariants import check_invariants

FOUR_PARTITIONS = range(4)
KEYS = 60


def some_rows(seed: int, n_rows: int, first: int = 0, low: int = 0) -> pa.RecordBatch:
    drawn = np.random.default_rng(seed).integers(low, KEYS, n_rows).tolist()
    return rows(drawn, range(first, first + n_rows))


def answer(how: str, left: list[pa.RecordBatch], right: list[pa.RecordBatch]) -> Counter[tuple[int, int]]:
    lefts, rights = (
        [row for batch in some for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
        for some in (left, right)
    )
    keys = [{key for key, _ in some} for some in (lefts, rights)]
    pairs = Counter((a, b) for key, a in lefts for other, b in rights if key == other)
    left_alone = Counter((a, -1) for key, a in lefts if (key in keys[RIGHT]) == (how == "semi"))
    right_alone = Counter((-1, b) for key, b in rights if key not in keys[LEFT])
    return {
        "left": pairs + left_alone,
        "right": pairs + right_alone,
        "full": pairs + left_alone + right_alone,
        "semi": left_alone,
        "anti": left_alone,
    }[how]


def work_on(join: TwoWayJoin[Any], around: Any) -> RowPairs:
    found: RowPairs = []
    while join.has_work(around):
        found += flat(join.work(WHOLE_TASK, around))
        check_invariants(join)
    return found


# When it is certain


@pytest.mark.parametrize("how", ["left", "full", "anti", "semi"])
def test_rows_in_memory_are_decided_right_after_the_end_of_the_other_side_and_forgotten(
    how: str, tmp_path: Path
) -> None:
    join = new_join(tmp_path, partitions=4, how=how)
    left, right = some_rows(1, 100), some_rows(2, 30, low=30)
    found = Counter(arrive(join, left, right))
    assert not join.has_work(BUSY)
    join.end(RIGHT)
    found += Counter(work_on(join, BUSY))
    expected = answer(how, [left], [right])
    assert Counter({pair: n for pair, n in found.items() if pair[1] == -1}) == Counter(
        {pair: n for pair, n in expected.items() if pair[1] == -1}
    )
    assert join.statistics.resident_rows[LEFT].sum() == 0
    assert join.progress().forgotten_rows_by_side[LEFT] == 100
    assert found + Counter(end(join)) == expected


@pytest.mark.parametrize("how", ["left", "anti", "semi"])
def test_while_rows_come_the_disk_is_read_once_for_as_many_rows_as_are_there_and_the_state_does_not_grow(
    how: str, tmp_path: Path
) -> None:
    """An endless side and one that has ended with rows on disk: never silent, and yet rows come out and go."""
    join = new_join(tmp_path, "xjoin", budget_rows=200, how=how, crowd=4)
    right = rows(list(range(40, 190)))
    found = Counter(arrive(join, None, right))
    join.evict([EvictUpTo(RIGHT, 0, at_most_bytes=3000)])
    join.end(RIGHT)
    on_disk = int(join.statistics.spilled_rows[RIGHT].sum())
    assert 50 < on_disk < 150
    lefts, kept, worked = [], [], []
    for number in range(40):
        lefts.append(some_rows(10 + number, 20, 20 * number))
        found += Counter(arrive(join, lefts[-1], None))
        before = join.worked_bytes
        found += Counter(work_on(join, BUSY))
        worked.append(join.worked_bytes > before)
        kept.append(int(join.statistics.spilled_rows[LEFT].sum() + join.statistics.resident_rows[LEFT].sum()))
    assert max(kept) < 150 + 3 * 20
    assert 4 <= sum(worked) <= 40 * 20 // on_disk + 1
    certain = answer(how, lefts[:30], [right])
    assert certain <= found
    assert found + Counter(end(join)) == answer(how, lefts, [right])


def test_rows_of_a_full_join_that_are_decided_are_not_read_again(tmp_path: Path) -> None:
    """They must be kept, since what they match of the other side is on disk and cannot be noted there."""
    join = new_join(tmp_path, "pmj", how="full")
    right = some_rows(1, 50, low=30)
    found = Counter(arrive(join, None, right))
    join.evict([EvictAll(RIGHT, 0)])
    join.end(RIGHT)
    lefts, worked = [], []
    for number in range(12):
        lefts.append(some_rows(10 + number, 60, 60 * number))
        found += Counter(arrive(join, lefts[-1], None))
        join.evict([EvictAll(LEFT, 0)])
        before = join.worked_bytes
        found += Counter(work_on(join, SILENT))
        worked.append(join.worked_bytes - before)
    assert max(worked) < 1.5 * min(worked)
    unmatched = answer("left", lefts, [right])
    assert unmatched <= found
    assert found + Counter(end(join)) == answer("full", lefts, [right])


def test_in_a_silence_rows_are_decided_at_once(tmp_path: Path) -> None:
    join = new_join(tmp_path, "pmj", how="left")
    right, left = some_rows(1, 50, low=30), some_rows(2, 20)
    found = Counter(arrive(join, None, right))
    join.evict([EvictAll(RIGHT, 0)])
    join.end(RIGHT)
    found += Counter(arrive(join, left, None))
    assert not join.has_work(BUSY)
    assert join.has_work(SILENT)
    found += Counter(work_on(join, SILENT))
    assert found == answer("left", [left], [right])
    assert join.statistics.resident_rows[LEFT].sum() == 0


# What must not be lost


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("evicted", [False, True])
@pytest.mark.parametrize("how", ["right", "full"])
def test_what_forgotten_rows_have_matched_is_known_in_the_end(
    how: str, evicted: bool, saved: bool, tmp_path: Path
) -> None:
    """The right ends and is all in memory: left rows meet it and are not kept. Who they matched must stay known when
    the right leaves memory, is merged, or is written down and read again.
    """
    join = new_join(tmp_path, partitions=4, how=how)
    right = some_rows(1, 80)
    found = Counter(arrive(join, None, right))
    join.end(RIGHT)
    lefts = [some_rows(2 + number, 40, 40 * number, low=20) for number in range(4)]
    for number, left in enumerate(lefts):
        found += Counter(arrive(join, left, None))
        if saved:
            plain = json.loads(json.dumps(join.snapshot()))
            join = new_join(tmp_path, partitions=4, how=how)
            join.restore(plain)
        if evicted and number == 1:
            join.evict([EvictUpTo(RIGHT, p, at_most_bytes=300) for p in FOUR_PARTITIONS])
        if evicted and number == 2:
            join.evict([EvictAll(side, p) for side in SIDES for p in FOUR_PARTITIONS])
    assert join.statistics.forgotten_rows[LEFT].sum() > 0
    assert found + Counter(end(join)) == answer(how, lefts, [right])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("how", ["left", "full", "semi", "anti"])
def test_rows_that_leave_memory_while_they_are_decided_come_out_once(how: str, tmp_path: Path) -> None:
    """After each quantum of a pass some rows of either side leave memory, and more arrive."""
    for seed in range(8):
        dice = np.random.default_rng(seed)
        join = new_join(tmp_path / str(seed), "xjoin", how=how, block_bytes=100)
        (tmp_path / str(seed)).mkdir()
        right, lefts = some_rows(seed, 60, low=20), [some_rows(100 + seed, 60)]
        found = Counter(arrive(join, lefts[0], None))
        join.evict([EvictUpTo(LEFT, 0, at_most_bytes=int(dice.integers(1, 1500)))])
        found += Counter(arrive(join, None, right))  # it has not met all of the left
        join.evict([EvictUpTo(RIGHT, 0, at_most_bytes=int(dice.integers(1, 1500)))])
        join.end(RIGHT)
        for number in range(12):
            found += Counter(flat(join.work(300, SILENT)))
            check_invariants(join)
            join.evict([EvictUpTo(int(dice.integers(2)), 0, int(dice.integers(1, 400)), "highest")])
            lefts.append(some_rows(200 + number, 5, 60 + 5 * number))
            found += Counter(arrive(join, lefts[-1], None))
        assert found + Counter(end(join)) == answer(how, lefts, [right]), f"seed {seed}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", ["left", "right", "full", "semi", "anti"])
def test_rows_that_leave_memory_in_the_clean_up_come_out_once(how: str, tmp_path: Path) -> None:
    for seed in range(8):
        dice = np.random.default_rng(seed)
        (tmp_path / str(seed)).mkdir()
        join = new_join(tmp_path / str(seed), "pmj", how=how, block_bytes=100)
        left, right = [some_rows(100 + seed, 60), some_rows(200 + seed, 60, 60)], some_rows(seed, 60, low=20)
        found = Counter(arrive(join, left[0], right))
        join.evict([EvictUpTo(side, 0, at_most_bytes=int(dice.integers(1, 1500))) for side in SIDES])
        found += Counter(arrive(join, left[1], None))
        for side in SIDES:
            join.end(side)
        while join.phase != "done":
            found += Counter(flat(join.work(300, SILENT)))
            if join.phase != "done":
                join.evict([EvictUpTo(int(dice.integers(2)), 0, int(dice.integers(1, 400)), "highest")])
        assert found == answer(how, left, [right]), f"seed {seed}"


# Joins that give no pairs


def test_left_rows_that_match_leave_memory_in_time_and_the_disk_with_the_next_task(tmp_path: Path) -> None:
    join = new_join(tmp_path, "xjoin", how="semi")
    left = rows(list(range(40)))
    arrive(join, left, None)
    join.evict([EvictUpTo(LEFT, 0, at_most_bytes=20 * 28)])
    spilled = int(join.statistics.spilled_rows[LEFT].sum())
    assert 0 < spilled < 40
    found = Counter(arrive(join, None, rows(list(range(40)))))
    assert join.statistics.resident_rows[LEFT].sum() == 0, "all of them have matched"
    assert len(found) == 40 - spilled
    found += Counter(react(join))
    assert found == Counter((number, -1) for number in range(40))
    assert join.statistics.spilled_rows[LEFT].sum() == 0
    assert join.progress().forgotten_rows_by_side[LEFT] == 40
    assert end(join) == []


def test_a_few_rows_that_have_matched_stay_until_they_are_worth_it(tmp_path: Path) -> None:
    join = new_join(tmp_path, how="semi")
    arrive(join, rows(list(range(100))), None)
    assert len(arrive(join, None, rows([1, 2, 3]))) == 3
    assert join.statistics.resident_rows[LEFT].sum() == 100
    assert arrive(join, None, rows([1, 2, 3])) == [], "they are out"
    assert len(arrive(join, None, rows(list(range(40))))) == 37
    assert join.statistics.resident_rows[LEFT].sum() == 60
    assert join.account.used_bytes == join.inputs[LEFT].resident_bytes + join.inputs[RIGHT].resident_bytes


def test_rows_that_have_matched_do_not_go_to_disk(tmp_path: Path) -> None:
    join = new_join(tmp_path, how="anti")
    arrive(join, rows(list(range(100))), None)
    arrive(join, None, rows([1, 2, 3]))
    join.evict([EvictAll(LEFT, 0)])
    assert join.statistics.spilled_rows[LEFT].sum() == 97
    assert join.progress().forgotten_rows_by_side[LEFT] == 3
    assert Counter(end(join)) == Counter((number, -1) for number in range(100) if number not in (1, 2, 3))


def test_memory_that_is_full_of_rows_that_have_matched_has_room(tmp_path: Path) -> None:
    """Nothing has to go to disk for that, and nothing can with this algorithm."""
    row_bytes = 8 + 8 + 12 + 1
    join = new_join(tmp_path, "symmetric_hash", how="semi", budget_bytes=130 * row_bytes)
    arrive(join, rows(list(range(100))), None)
    arrive(join, None, rows(list(range(20))))
    assert join.statistics.resident_rows[LEFT].sum() == 100
    arrive(join, rows(list(range(1000, 1025))), None)
    assert join.statistics.resident_rows[LEFT].sum() == 105


def test_a_hot_key_of_the_right_gives_each_left_row_once(tmp_path: Path) -> None:
    join = new_join(tmp_path, "hmj", how="semi", budget_rows=PLENTY)
    assert arrive(join, rows([7] * 50), rows([7] * 20_000)) == [(number, -1) for number in range(50)]
    assert join.statistics.resident_rows[LEFT].sum() == 0


@pytest.mark.parametrize(
    ("how", "around", "task"), [("inner", SETTLING, "rest"), ("semi", SETTLING, "winnow"), ("left", BUSY, "parting")]
)
def test_each_kind_of_task_is_told_by_its_own_name(how: str, around: Surroundings, task: str, tmp_path: Path) -> None:
    events: list[Event] = []
    join = new_join(tmp_path, "hmj", budget_rows=200, partitions=4, how=how, listener=events.append)
    for step in range(6):
        arrive(join, some_rows(step, 60, first=60 * step), some_rows(50 + step, 60, first=60 * step, low=30))
    told = [event.task for event in events if isinstance(event, Merged)]
    assert told == []
    if task == "parting":
        join.end(RIGHT)
    work_on(join, around)
    assert {event.task for event in events if isinstance(event, Merged)} == {task}
    events.clear()
    end(join)
    assert {event.task for event in events if isinstance(event, Merged)} == {"clean-up"}
