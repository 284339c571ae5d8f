"""The ticker: something new in every batch, and the same again when a batch runs again."""

from pathlib import Path

import pytest

from join_steps import QUERY, Arriving, nothing, plan_of, run
from queries import numbered
from sooner.policies.view import LEFT, RIGHT
from sooner.spark.step import Attempt, run_step
from sooner.spark.ticks import IDLE_TICKS, TickReader, Ticks, finish_side, finished_sides


def test_every_read_is_one_tick_further(tmp_path: Path) -> None:
    reader = TickReader(str(tmp_path / "state"), 1)
    offset = reader.initialOffset()
    for number in range(1, 4):
        rows, offset = reader.read(offset)
        assert list(rows) == [(number, 0)]
        assert offset == {"tick": number, "ended": 0}


@pytest.mark.parametrize(("sides", "bits"), [([], 0), ([LEFT], 1), ([RIGHT], 2), ([RIGHT, LEFT, LEFT], 3)])
def test_a_side_that_has_ended_is_in_the_next_tick(sides: list[int], bits: int, tmp_path: Path) -> None:
    state = str(tmp_path / "not there yet")
    reader = TickReader(state, 1)
    for side in sides:
        finish_side(state, side)
    assert finished_sides(state) == bits
    rows, offset = reader.read(reader.initialOffset())
    assert list(rows) == [(1, bits)]
    assert offset["ended"] == bits


def test_a_tick_that_is_read_again_knows_what_was_known_then(tmp_path: Path) -> None:
    state = str(tmp_path)
    reader = TickReader(state, 1)
    _, first = reader.read(reader.initialOffset())
    finish_side(state, LEFT)
    _, second = TickReader(state, 1).read(first)
    assert list(TickReader(state, 1).readBetweenOffsets(reader.initialOffset(), first)) == [(1, 0)]
    assert list(TickReader(state, 1).readBetweenOffsets(first, second)) == [(2, 1)]


def test_what_has_ended_stays_ended_even_if_the_word_is_lost(tmp_path: Path) -> None:
    _, offset = TickReader(str(tmp_path), 1).read({"tick": 4, "ended": 2})
    assert offset == {"tick": 5, "ended": 2}


def test_spark_gets_a_schema_and_a_reader(tmp_path: Path) -> None:
    ticks = Ticks({"state": str(tmp_path), "partitions": "1"})
    assert ticks.schema() == "number long, ended int"
    assert isinstance(ticks.simpleStreamReader(None), TickReader)


def test_a_query_that_is_to_stop_by_itself_gets_ticks_until_batches_bring_nothing(tmp_path: Path) -> None:
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    plan = plan_of(left.schema, right.schema, tmp_path)
    reader = TickReader(plan.state, 1)
    reader.prepareForTriggerAvailableNow()
    offset, ticks = reader.initialOffset(), 0
    for version in range(20):
        rows, offset = reader.read(offset)
        if not list(rows):
            break
        ticks += 1
        run(plan, version, Arriving(left, right) if version < 4 else nothing(plan))
    assert 4 + IDLE_TICKS <= ticks < 20


def test_ticks_that_no_longer_count_batches_stop_too(tmp_path: Path) -> None:
    """Batches without a tick have passed before: a query that runs whenever there is something new ends every time."""
    left, right = numbered(50, 10, 1, "a"), numbered(50, 10, 2, "b")
    plan = plan_of(left.schema, right.schema, tmp_path)
    run(plan, 0, Arriving(left, right))
    reader, offset, ticks = TickReader(plan.state, 1), {"tick": 1, "ended": 0}, 0
    reader.prepareForTriggerAvailableNow()
    for version in range(5, 25):
        rows, offset = reader.read(offset)
        if not list(rows):
            break
        ticks += 1
        list(run_step(plan, Attempt(version, QUERY), nothing(plan).batches(plan, offset["tick"])))
    assert ticks < 20
