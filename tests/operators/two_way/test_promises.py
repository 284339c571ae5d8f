"""What a two-way join promises beyond the right pairs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from joins import arrive, end, flat, new_join, react, rows
from schedules import SCHEMA
from sooner.errors import BudgetTooSmall
from sooner.kernels.keys import plan_keys
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.events import Event, Flushed
from sooner.operators.order import by_hashes
from sooner.policies.view import SILENT, EvictUpTo
from sooner.sides import LEFT, RIGHT, SIDES

SPILLING = [name for name in ALGORITHMS if name != "symmetric_hash"]


# Purity


def random_batches(seed: int, steps: int = 12, n_rows: int = 40) -> list[tuple[pa.RecordBatch, pa.RecordBatch]]:
    dice = np.random.default_rng(seed)
    return [
        tuple(rows(dice.integers(0, 60, n_rows).tolist(), range(step * n_rows, (step + 1) * n_rows)) for _ in SIDES)
        for step in range(steps)
    ]


def shuffled(batch: pa.RecordBatch, seed: int) -> pa.RecordBatch:
    return batch.take(pa.array(np.random.default_rng(seed).permutation(batch.num_rows)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPILLING)
def test_the_order_of_rows_within_a_batch_changes_nothing(name: str, tmp_path: Path) -> None:
    joins = [new_join(tmp_path, name, budget_rows=200, partitions=4) for _ in range(2)]
    results: list[Counter[tuple[int, int]]] = [Counter(), Counter()]
    for step, batches in enumerate(random_batches(seed=1)):
        orders = batches, [shuffled(batch, step) for batch in batches]
        for join, found, (left, right) in zip(joins, results, orders, strict=True):
            found.update(arrive(join, left, right, float(step)))
        assert results[0] == results[1]
        assert as_text(joins[0].statistics.to_plain()) == as_text(joins[1].statistics.to_plain())
    assert joins[0].statistics.spilled_rows.sum() > 0
    assert Counter(end(joins[0])) == Counter(end(joins[1]))


def as_text(plain: dict[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True)


def test_rows_in_several_batches_are_rows_in_one(tmp_path: Path) -> None:
    """What waits together is joined together, however it was cut."""
    whole, cut = (new_join(tmp_path, "rpj", budget_rows=200, partitions=4) for _ in range(2))
    for left, right in random_batches(seed=2):
        pieces = [left.slice(0, 7), left.slice(7, 0), left.slice(7)]
        assert Counter(flat(whole.arrive([[left], [right]], 0.0))) == Counter(flat(cut.arrive([pieces, [right]], 0.0)))
    assert as_text(whole.statistics.to_plain()) == as_text(cut.statistics.to_plain())


def test_a_large_batch_is_joined_by_several_workers_as_by_one(tmp_path: Path) -> None:
    dice = np.random.default_rng(3)

    def pair_numbers(bundle: Any) -> np.ndarray:
        return np.concatenate([numbers_of(pairs) for pairs in bundle])

    def numbers_of(pairs: Any) -> np.ndarray:
        left, right = (run.rows.column("row").to_numpy() for run in (pairs.left, pairs.right))
        return left[pairs.at_left] * 10**6 + right[pairs.at_right]

    joins = [
        new_join(tmp_path, "rpj", 200_000, 8, block_bytes=2**16, result_of=pair_numbers, workers=workers)
        for workers in (1, 3)
    ]
    for _ in range(3):
        batches = [
            pa.record_batch([pa.array(dice.integers(0, 60_000, 70_000)), pa.array(np.arange(70_000))], schema=SCHEMA)
            for _ in SIDES
        ]
        alone, crew = (np.sort(np.concatenate(list(join.arrive([batches[:1], batches[1:]], 0.0)))) for join in joins)
        np.testing.assert_array_equal(alone, crew)
    for name in ("resident_rows", "resident_bytes", "spilled_rows", "unmet_with_disk", "matched_pairs"):
        np.testing.assert_array_equal(getattr(joins[0].statistics, name), getattr(joins[1].statistics, name))
    assert joins[0].statistics.spilled_rows.sum() > 0


# One call at a time


def test_results_must_be_read_to_the_end_before_the_next_call(tmp_path: Path) -> None:
    join = new_join(tmp_path)
    arrive(join, rows([1, 2, 3]), None)
    unread = join.arrive([[], [rows([1, 2, 3])]], 0.0)
    next(unread)
    with pytest.raises(RuntimeError, match="not read to their end"):
        arrive(join, rows([4]), None)
    with pytest.raises(RuntimeError, match="not read to their end"):
        join.snapshot()
    list(unread)
    assert arrive(join, rows([3], [9]), None) == [(9, 2)]


# Concurrent flushing (RPJ sec. 2.2)


@pytest.mark.parametrize("name", ["hmj", "hmj_all", "hmj_smallest", "hmj_largest", "pmj"])
def test_hmj_flushes_both_sides_of_a_partition_together(name: str, tmp_path: Path) -> None:
    events: list[Event] = []
    join = new_join(tmp_path, name, budget_rows=200, partitions=4, listener=events.append)
    for left, right in random_batches(seed=4):
        before = join.statistics.resident_rows.copy()
        events.clear()
        arrive(join, left, right)
        flushed = {(event.side, event.partition) for event in events if isinstance(event, Flushed)}
        for side in SIDES:
            left_alone = {p for s, p in flushed if s == side} - {p for s, p in flushed if s != side}
            assert all(before[1 - side, p] == 0 for p in left_alone), "the other side of the pair stayed in memory"
    assert join.statistics.spilled_rows.sum() > 0


@pytest.mark.parametrize("name", ["hmj_all", "pmj"])
def test_flush_all_leaves_memory_empty(name: str, tmp_path: Path) -> None:
    join = new_join(tmp_path, name, budget_rows=200, partitions=4)
    flushes = 0
    for left, right in random_batches(seed=5):
        spilled = join.statistics.spilled_rows.sum()
        arrive(join, left, right)
        if join.statistics.spilled_rows.sum() > spilled:
            flushes += 1
            assert join.statistics.resident_rows.sum() == left.num_rows + right.num_rows
    assert flushes


# Memory


def test_a_batch_that_fits_is_taken_even_if_merged_runs_weigh_more(tmp_path: Path) -> None:
    """A null among rows without one gives all of them a validity bitmap as soon as their runs are merged.

    With any limit between what arrives and what it weighs when merged, something must be flushed, and nothing refused.
    """
    schema = SCHEMA.append(pa.field("note", pa.int64()))
    keys = plan_keys(schema, schema, ["key"], ["key"])

    def batch(some_keys: list[int], notes: list[int | None]) -> pa.RecordBatch:
        columns = [
            pa.array(some_keys, pa.int64()),
            pa.array(range(len(some_keys)), pa.int64()),
            pa.array(notes, pa.int64()),
        ]
        return pa.record_batch(columns, schema=schema)

    codes, _ = by_hashes(keys).coders[LEFT](batch(list(range(100)), list(range(100))))
    low, high = ([int(key) for key in np.flatnonzero((codes < 2**63) == half)] for half in (True, False))
    arrivals = [batch(low[:16], list(range(16)))] * 3 + [batch(low[:16] + high[:10], [None, *range(25)])]

    def feed(budget_bytes: int) -> int:
        join = new_join(tmp_path, "xjoin", partitions=2, schema=schema, budget_bytes=budget_bytes)
        for arrived in arrivals:
            arrive(join, arrived, None)
        return join.account.used_bytes

    merged_bytes = feed(budget_bytes=10**6)
    for budget_bytes in range(merged_bytes - 30, merged_bytes + 1):
        assert feed(budget_bytes) <= budget_bytes


def test_a_batch_that_does_not_fit_is_refused_in_one_sentence(tmp_path: Path) -> None:
    join = new_join(tmp_path, "rpj", budget_rows=10)
    with pytest.raises(BudgetTooSmall, match="of rows arrived at once"):
        arrive(join, rows(list(range(20))), None)


def test_an_algorithm_that_does_not_spill_says_which_ones_do(tmp_path: Path) -> None:
    join = new_join(tmp_path, "symmetric_hash", budget_rows=10)
    arrive(join, rows(list(range(8))), None)
    with pytest.raises(BudgetTooSmall, match=r"'symmetric_hash' does not spill.*'rpj'"):
        arrive(join, None, rows(list(range(8))))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPILLING)
def test_one_hot_key_beyond_the_memory_still_gives_every_pair(name: str, tmp_path: Path) -> None:
    """No flush can split a code, and no slab can hold it: it is joined piece by piece."""
    join = new_join(tmp_path, name, budget_rows=60, partitions=2)
    found: Counter[tuple[int, int]] = Counter()
    for step in range(10):
        numbers = range(step * 20, (step + 1) * 20)
        found.update(arrive(join, rows([7] * 20, numbers), rows([7] * 20, numbers)))
        while step % 4 == 3 and join.has_work(SILENT):
            found.update(react(join))
    found.update(end(join))
    assert found == Counter((a, b) for a in range(200) for b in range(200))


# Saving and going on


@pytest.mark.parametrize("name", ["xjoin", "hmj", "rpj"])
def test_a_restored_join_goes_on_where_the_saved_one_was(name: str, tmp_path: Path) -> None:
    batches = random_batches(seed=6)
    straight, saved = (new_join(tmp_path, name, budget_rows=200, partitions=4) for _ in range(2))
    for left, right in batches[:6]:
        arrive(straight, left, right)
        arrive(saved, left, right)
    restored = new_join(tmp_path, name, budget_rows=200, partitions=4)
    restored.restore(json.loads(json.dumps(saved.snapshot())))
    for left, right in batches[6:]:
        assert Counter(arrive(restored, left, right)) == Counter(arrive(straight, left, right))
    assert Counter(end(restored)) == Counter(end(straight))


def test_ending_one_side_lets_its_partners_go_first(tmp_path: Path) -> None:
    """RPJ sec. 4.2: nothing more comes to meet the rows of the left, so that they are what is flushed."""
    events: list[Event] = []
    join = new_join(tmp_path, "rpj", budget_rows=200, partitions=4, listener=events.append)
    for left, right in random_batches(seed=7, steps=2):
        arrive(join, left, right)
    join.evict([EvictUpTo(RIGHT, p, at_most_bytes=1) for p in range(4)])  # else rows of the left would not be kept
    events.clear()
    join.end(RIGHT)
    resident_left = int(join.statistics.resident_rows[LEFT].sum())
    arrive(join, rows(list(range(60))), None)
    flushed = [event for event in events if isinstance(event, Flushed)]
    assert flushed
    assert {event.side for event in flushed} == {LEFT}
    assert sum(event.n_rows for event in flushed) <= resident_left
