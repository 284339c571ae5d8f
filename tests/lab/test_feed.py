"""Where simulated rows come from: pushed and pulled inputs, silences of each and of all, devices that are read."""

from dataclasses import replace

import numpy as np
import pytest

from sooner.lab.feed import Feed, Scan
from sooner.lab.resources import Disk, Machine
from sooner.lab.simulator import Laboratory, simulate
from sooner.lab.subject import ROW_BYTES
from sooner.lab.traces import Pushed, Silences, Trace, silent_together
from sooner.named_algorithms import ALGORITHMS
from sooner.policies.view import BUSY

DISK = Disk(page_bytes=100, seek_seconds=10.0, read_seconds=1.0, write_seconds=1.0)
TABLE = replace(DISK, name="table")
NOTHING = Trace.of_inputs([Pushed(np.empty(0), np.empty(0, np.int32), 1.0)] * 2, domain=4, partitions=1)


def keys(*values: int):
    return np.array(values, np.int32)


def two_inputs() -> Trace:
    """The first is silent from 3 to 10, the second from 5 to 8 and, when its last row has come, from 10 on."""
    first = Pushed(np.array([0.0, 1.0, 2.0, 10.0]), keys(0, 1, 2, 3), silence_seconds=1.0)
    second = Pushed(np.array([0.5, 2.0, 3.0, 8.0]), keys(0, 1, 2, 3), silence_seconds=2.0)
    return Trace.of_inputs([first, second], domain=4, partitions=2)


def test_inputs_that_know_nothing_of_each_other_make_one_trace() -> None:
    trace = two_inputs()
    assert trace.seconds.tolist() == [0.0, 0.5, 1.0, 2.0, 2.0, 3.0, 8.0, 10.0]
    assert trace.of_input.tolist() == [0, 1, 0, 0, 1, 1, 1, 0]
    assert trace.keys.tolist() == [0, 0, 1, 2, 1, 2, 3, 3]


def test_all_are_silent_when_each_input_is_by_its_own_patience() -> None:
    trace = two_inputs()
    assert trace.silences.noticed_seconds.tolist() == [5.0]
    assert trace.silences.over_seconds.tolist() == [8.0]


def test_the_end_of_one_silence_is_not_the_begin_of_another() -> None:
    one, other = (Silences(np.array([begin]), np.array([end])) for begin, end in ((0.0, 5.0), (5.0, 9.0)))
    assert len(silent_together([one, other], until_seconds=10.0)) == 0


def test_an_operator_sees_who_waits() -> None:
    feed = Feed(two_inputs(), (), chunk_rows=100)
    assert feed.around(0.0, silent=False).waiting_rows == (1, 0)
    assert feed.around(2.0, silent=False).waiting_rows == (3, 2)


def test_with_nobody_waiting_there_is_nothing_to_see() -> None:
    feed = Feed(two_inputs(), (), chunk_rows=100)
    feed.take(0.0)
    assert feed.around(0.0, silent=False) is BUSY


def test_a_scan_is_read_block_by_block_and_a_seek_is_paid_when_the_head_moves() -> None:
    scans = [Scan(which, keys(*range(4)), TABLE, row_bytes=50, block_rows=2) for which in (0, 1)]
    feed = Feed(NOTHING, scans, chunk_rows=100)
    chunk = feed.take(0.0)
    assert [some.tolist() for some in chunk.keys] == [[0, 1], [0, 1]]
    assert chunk.reading == [("table", 11.0), ("table", 11.0)]
    assert not chunk.ended
    assert feed.take(0.0).ended == [0, 1]
    assert feed.is_over


def test_one_scan_alone_moves_the_head_once() -> None:
    feed = Feed(NOTHING, [Scan(0, keys(*range(6)), TABLE, 50, block_rows=2)], chunk_rows=100)
    assert [feed.take(0.0).reading for _ in range(3)] == [[("table", 11.0)], [("table", 1.0)], [("table", 1.0)]]


def test_how_many_rows_there_will_be_is_known_of_tables() -> None:
    scans = [Scan(which, keys(*range(4)), TABLE, 50, block_rows=2) for which in (0, 1)]
    assert Feed(NOTHING, scans, chunk_rows=100).expected_rows == 8
    assert Feed(two_inputs(), scans[:1], chunk_rows=100).expected_rows is None
    assert Feed(two_inputs(), (), chunk_rows=100).expected_rows is None


def test_the_clean_up_of_tables_comes_after_their_last_row() -> None:
    table = np.arange(200, dtype=np.int32)
    scans = tuple(Scan(which, table, TABLE, 50, block_rows=20) for which in (0, 1))
    machine = Machine(DISK, memory_bytes=100 * ROW_BYTES, comparison_seconds=0.0)
    laboratory = Laboratory(machine, chunk_rows=50, scans=scans)
    history = simulate(replace(NOTHING, domain=200), ALGORITHMS["pmj"], laboratory)
    assert history.clean_up_seconds > 0
    assert history.results_at(history.last_arrival_seconds) == pytest.approx(history.early_results)


def test_rows_that_are_pulled_come_at_the_speed_of_their_device() -> None:
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, 20, 200).astype(np.int32) for _ in range(2)]
    slow, fast = (replace(TABLE, read_seconds=seconds) for seconds in (2.0, 1.0))

    def seconds(device: Disk, **more) -> float:
        scans = tuple(Scan(which, table, device, 50, block_rows=20) for which, table in enumerate(tables))
        machine = Machine(DISK, memory_bytes=1000 * ROW_BYTES, comparison_seconds=1.0, **more)
        trace = replace(NOTHING, domain=20)
        history = simulate(trace, ALGORITHMS["symmetric_hash"], Laboratory(machine, chunk_rows=50, scans=scans))
        left, right = (np.bincount(table, minlength=20) for table in tables)
        assert history.total_results == left @ right
        assert history.last_arrival_seconds <= history.end_seconds
        return history.end_seconds

    reading = 20 * (10 + 10)  # blocks, each a seek and ten pages
    assert seconds(fast) - reading == pytest.approx(seconds(slow) - reading - 200)
    assert seconds(fast, overlap="at once") < seconds(fast)
