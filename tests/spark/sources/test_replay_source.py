"""`sooner.replay`: rows arrive by the clock, and what was logged is replayed whatever the time."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from pyspark.sql import SparkSession
from stream_reading import Collected, end_offset, reader_of, rows_between, run_to_end, through_json

from patience import until
from sooner.errors import InvalidCall
from sooner.sources import Exponential, Fixed, Fragments, ParetoBursts, Pauses, ZipfGaps, arrival_times
from sooner.spark import sources
from sooner.spark.session.versions import ReadAllAvailable, ReadMaxRows
from sooner.spark.sources.pacing import PIECE_ROWS, DueRows
from sooner.spark.sources.patterns import pattern_from_text, pattern_text
from sooner.spark.sources.replay_source import ReplayDataSource


class HandClock:
    """A clock that is set by hand."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    arrow_parquet.write_table(pa.table({"k": list(range(40))}), path, row_group_size=15)
    return path


# How many rows are due


def test_rows_are_due_as_the_pattern_says() -> None:
    clock = HandClock()
    due = DueRows(100, Pauses(Fixed(1.0), every_rows=2, seconds=10.0), 0, 1.0, clock)
    counts = []
    for _ in range(14):
        counts.append(due.by_now(0))
        clock.now += 1.0
    # Arrivals at 0, 1, 12, 13, 24, ...
    assert counts == [1, *[2] * 11, 3, 4]


def test_speed_divides_the_time() -> None:
    clock = HandClock()
    due = DueRows(100, Fixed(1.0), 0, 10.0, clock)
    assert due.by_now(0) == 1
    clock.now += 1.05
    assert due.by_now(1) == 11


def test_a_new_run_goes_on_at_the_row_reached_as_if_no_time_had_passed() -> None:
    clock = HandClock()
    due = DueRows(100, Fixed(1.0), 0, 1.0, clock)
    assert due.by_now(7) == 8
    clock.now += 2.5
    assert due.by_now(8) == 10


def test_times_are_those_of_the_pattern_across_pieces() -> None:
    rows = 2 * PIECE_ROWS + 100
    times = arrival_times(Exponential(0.01), rows, seed=3)
    clock = HandClock(0.0)
    due = DueRows(rows, Exponential(0.01), 3, 1.0, clock)
    due.by_now(0)
    for clock.now in (times[5], times[PIECE_ROWS - 1], times[PIECE_ROWS], times[-1]):
        assert due.by_now(0) == np.searchsorted(times, clock.now, side="right")


def test_rows_without_gaps_are_all_due_at_once() -> None:
    assert DueRows(3 * PIECE_ROWS, Fixed(0.0), 0, 1.0, HandClock()).by_now(0) == 3 * PIECE_ROWS
    assert DueRows(0, Fixed(0.0), 0, 1.0, HandClock()).by_now(0) == 0


@pytest.mark.parametrize(
    "pattern",
    [
        Fixed(0.5),
        Exponential(0.1),
        ZipfGaps(skew=0.5),
        ParetoBursts(),
        Fragments(10, 0.1, 0.5),
        Pauses(Pauses(Fixed(0.1), 2, 1.0), 4, 2.0),
    ],
    ids=lambda pattern: type(pattern).__name__,
)
def test_patterns_survive_as_text(pattern: Any) -> None:
    assert pattern_from_text(pattern_text(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Fixed", "cannot be read"),
        ('{"pattern": "Sometimes"}', "give a pattern of sooner.sources: Exponential, Fixed"),
        ('{"pattern": "Fixed", "gap": 1}', "unexpected keyword argument 'gap'"),
        ('{"pattern": "Fixed", "gap_seconds": -1}', "Fixed gap_seconds is -1"),
    ],
)
def test_bad_patterns_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidCall, match=message):
        pattern_from_text(text)


def test_bad_arguments_are_refused_at_once(spark: SparkSession, file: Path) -> None:
    with pytest.raises(InvalidCall, match=r"speed is 0\.0; give a finite number above 0"):
        sources.replay(spark, str(file), Fixed(1.0), speed=0.0)
    with pytest.raises(InvalidCall, match="arrivals is 'often'; give a pattern"):
        sources.replay(spark, str(file), "often")  # type: ignore[arg-type]
    with pytest.raises(InvalidCall, match="rows_per_batch is 0"):
        sources.replay(spark, str(file), Fixed(1.0), rows_per_batch=0)


# Offsets and rows


def test_a_batch_ends_with_the_last_row_that_is_due(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    monkeypatch.setattr(time, "monotonic", clock)
    options = {"path": str(file), "arrivals": pattern_text(Fixed(1.0)), "speed": "2"}
    reader = reader_of(ReplayDataSource, options)
    offsets = [through_json(reader.initialOffset())]
    for seconds in (0.0, 4.9, 0.0, 100.0):
        clock.now += seconds
        offsets.append(through_json(reader.latestOffset(offsets[-1], ReadAllAvailable())))
    assert [offset["row"] for offset in offsets] == [0, 1, 10, 10, 40]
    assert [offset["ended"] for offset in offsets] == [False] * 4 + [True]
    # Another run, later and by another clock, reads the same.
    later = reader_of(ReplayDataSource, options)
    assert rows_between(later, offsets[1], offsets[2]) == [(k,) for k in range(1, 10)]


def test_overdue_rows_come_within_the_limit(file: Path) -> None:
    reader = reader_of(ReplayDataSource, {"path": str(file), "arrivals": pattern_text(Fixed(0.0))})
    assert reader.latestOffset(reader.initialOffset(), ReadMaxRows(13))["row"] == 13


def test_spark_replays_by_the_clock_resumes_and_ends(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    # Ten rows at once, then a pause, four times: 40 rows need at least three pauses.
    arrivals = Pauses(Fixed(0.0), every_rows=10, seconds=0.7)
    collected = Collected()

    def start(speed: float) -> Any:
        frame = sources.replay(spark, str(file), arrivals, speed=speed)
        return frame.writeStream.foreachBatch(collected).option("checkpointLocation", str(tmp_path / "check")).start()

    def wait_until(done: Any, query: Any) -> None:
        until(lambda: done() or query.exception() is not None)
        assert query.exception() is None

    query = start(speed=0.0001)
    wait_until(lambda: len(collected.rows) == 10, query)
    query.stop()
    assert len(collected.rows) == 10  # the next ten are due in two hours

    began = time.monotonic()
    query = start(speed=1.0)
    wait_until(lambda: query.lastProgress is not None and end_offset(query)["ended"], query)
    assert time.monotonic() - began >= 1.4
    query.stop()
    assert collected.rows == [(k,) for k in range(40)]
    assert len(collected.batches) >= 3


def test_what_is_available_now_is_everything(spark: SparkSession, file: Path, tmp_path: Path) -> None:
    collected = Collected()
    query = run_to_end(sources.replay(spark, str(file), Fixed(60.0)), tmp_path / "check", collected)
    assert collected.rows == [(k,) for k in range(40)]
    assert end_offset(query)["ended"] is True
