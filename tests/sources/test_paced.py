"""Replays by the clock, with a clock that the tests move: no test here waits for long."""

import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from patience import HANG_SECONDS
from sooner.errors import InvalidCall
from sooner.sources import (
    Exponential,
    Fixed,
    Fragments,
    ParetoBursts,
    Pauses,
    Source,
    ZipfGaps,
    arrival_times,
    checked,
    close_source,
    paced,
)

# A clock starts anywhere; what counts is the time since the source was asked for rows.
CLOCK_START = 1_000.0


class FakeClock:
    """Waiting takes no time and moves the clock exactly as far as asked."""

    def __init__(self) -> None:
        self.seconds = CLOCK_START
        self.waits = 0

    def now(self) -> float:
        return self.seconds

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        self.waits += 1
        if woken.is_set():
            return True
        self.seconds += max(seconds, 0.0)
        return False


def numbered(rows: int) -> pa.Table:
    return pa.table({"row": np.arange(rows)})


def replay(source: Source, clock: FakeClock) -> tuple[np.ndarray, np.ndarray]:
    """The rows as they came, and for each the seconds after which it came."""
    rows, times = [np.empty(0, int)], [np.empty(0)]
    for batch in source.batches():
        rows.append(batch.column("row").to_numpy())
        times.append(np.full(batch.num_rows, clock.now() - CLOCK_START))
    return np.concatenate(rows), np.concatenate(times)


@pytest.mark.parametrize(
    "pattern",
    [
        Fixed(0.0),
        Fixed(0.001),
        Fixed(3.0),
        Exponential(0.002),
        ZipfGaps(),
        ParetoBursts(mean_burst_rows=50),
        Fragments(rows_per_fragment=700, mean_gap_seconds=0.003, delay_share=0.5),
        Pauses(Fixed(0.0001), every_rows=1_000, seconds=5.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("speed", [1.0, 20.0])
def test_rows_come_in_order_never_early_and_at_most_10_ms_late(pattern: object, speed: float) -> None:
    clock = FakeClock()
    # More rows than the first batch of a table, so that the schedule goes on from batch to batch.
    rows, times = replay(paced(numbered(20_000), pattern, seed=3, speed=speed, clock=clock), clock)
    np.testing.assert_array_equal(rows, np.arange(20_000))
    late = times - arrival_times(pattern, 20_000, seed=3) / speed
    assert late.min() > -1e-9
    assert late.max() < 0.010 + 1e-9


def test_sparse_rows_come_one_by_one_on_the_dot() -> None:
    clock = FakeClock()
    sizes_and_times = [
        (batch.num_rows, clock.now() - CLOCK_START) for batch in paced(numbered(4), Fixed(2.0), clock=clock).batches()
    ]
    assert sizes_and_times == [(1, 0.0), (1, 2.0), (1, 4.0), (1, 6.0)]


def test_dense_rows_share_a_wait() -> None:
    clock = FakeClock()
    replay(paced(numbered(100_000), Fixed(0.00001), clock=clock), clock)
    # One second of rows: about a hundred waits of 10 ms, plus one for each batch of the table.
    assert 90 <= clock.waits <= 110


def test_overdue_rows_come_at_once_after_a_slow_consumer() -> None:
    clock = FakeClock()
    batches = paced(numbered(100), Fixed(1.0), clock=clock).batches()
    assert next(batches).num_rows == 1
    clock.seconds += 40.5
    assert next(batches).column("row").to_pylist() == list(range(1, 41))
    assert clock.now() == CLOCK_START + 40.5
    assert next(batches).column("row").to_pylist() == [41]
    assert clock.now() == CLOCK_START + 41


def test_every_reading_starts_its_schedule_anew() -> None:
    clock = FakeClock()
    source = paced(numbered(50), Exponential(1.0), clock=clock)
    _, first = replay(source, clock)
    clock.seconds = CLOCK_START
    _, second = replay(source, clock)
    np.testing.assert_allclose(first, second)


def test_anything_that_can_be_opened_can_be_paced(tmp_path: Path) -> None:
    arrow_parquet.write_table(numbered(10), tmp_path / "rows.parquet")
    source = paced(tmp_path / "rows.parquet", Fixed(0.0), name="orders")
    assert isinstance(source, Source)
    assert source.name == "orders"
    assert source.schema.names == ["row"]
    assert sum(batch.num_rows for batch in source.batches()) == 10


def test_a_closed_source_gives_no_more_rows() -> None:
    clock = FakeClock()
    source = paced(numbered(100), Fixed(1.0), clock=clock)
    batches = source.batches()
    next(batches)
    close_source(source)
    assert list(batches) == []
    assert clock.now() == CLOCK_START


def test_a_closed_source_asks_for_no_more_rows() -> None:
    class Counting:
        name = "counting"
        schema = numbered(0).schema
        asked = 0

        def batches(self) -> Iterator[pa.RecordBatch]:
            for _ in range(5):
                self.asked += 1
                yield from numbered(2).to_batches()

    counting = Counting()
    source = paced(counting, Fixed(1.0), clock=FakeClock())
    batches = source.batches()
    next(batches)
    close_source(source)
    assert list(batches) == []
    assert counting.asked == 1


def test_close_wakes_a_source_that_sleeps_for_hours_by_the_real_clock() -> None:
    source = checked(paced(numbered(2), Fixed(10_000.0)))
    received: list[int] = []
    first_came = threading.Event()

    def consume() -> None:
        for batch in source.batches():
            received.append(batch.num_rows)
            first_came.set()

    consumer = threading.Thread(target=consume, daemon=True)
    consumer.start()
    assert first_came.wait(HANG_SECONDS)
    time.sleep(0.05)  # the consumer is asleep by now, or about to be: either way close must end it
    assert consumer.is_alive()
    close_source(source)
    consumer.join(HANG_SECONDS)
    assert not consumer.is_alive()
    assert received == [1]


def test_close_reaches_the_source_that_is_replayed() -> None:
    class Blocking:
        name = "blocking"
        schema = pa.schema([("row", pa.int64())])

        def __init__(self) -> None:
            self._closed = threading.Event()

        def batches(self) -> Iterator[pa.RecordBatch]:
            assert self._closed.wait(HANG_SECONDS), "close() did not arrive"
            yield from numbered(1).to_batches()

        def close(self) -> None:
            self._closed.set()

    source = paced(Blocking(), Fixed(0.0))
    close_source(source)
    assert list(source.batches()) == []


def test_the_real_clock_takes_real_time() -> None:
    started = time.monotonic()
    source = paced(numbered(11), Fixed(0.2), speed=20)
    assert sum(batch.num_rows for batch in source.batches()) == 11
    assert time.monotonic() - started >= 0.1


@pytest.mark.parametrize("speed", [0, -1, math.nan, math.inf])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(InvalidCall, match="speed is"):
        paced(numbered(1), Fixed(1.0), speed=speed)


def test_what_is_no_pattern_is_refused_before_rows_are_asked_for() -> None:
    with pytest.raises(InvalidCall, match=r"the arrival pattern is 0\.5; give an arrival pattern"):
        paced(numbered(1), 0.5)


def test_what_cannot_be_opened_is_refused_by_name() -> None:
    with pytest.raises(InvalidCall, match="orders is an int; give"):
        paced(5, Fixed(1.0), name="orders")
