"""Sources slower than the join, and sources faster than it."""

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

import sooner
from patience import HANG_SECONDS
from queries import Gated, Rows, gated, join_rows, multiset, numbered, soon, wait_for, wait_until
from sooner.sources import Fixed, Pauses, paced

LEFT, RIGHT = numbered(8000, 4000, name="a", seed=1), numbered(8000, 4000, name="b", seed=2)


def whole_answer() -> Rows:
    return multiset(sooner.join(LEFT, RIGHT, on="k").to_table())


@pytest.mark.parametrize("algorithm", ["xjoin", "hmj", "hmj_all", "rpj", "rpj_md", "rpj_dd", "diner"])
def test_results_from_disk_come_while_the_sources_are_silent(algorithm: str) -> None:
    gate = threading.Event()
    sources = [gated(table, wait_for(gate), rows_at_once=250) for table in (LEFT, RIGHT)]
    query = sooner.join(*sources, on="k", memory="64KB", algorithm=algorithm, partitions=4)

    def read() -> tuple[Rows, int]:
        found, from_disk = Rows(), 0
        for batch in query:
            found += multiset([batch])
            if query.progress.phase == "reactive" and not gate.is_set():
                from_disk += batch.num_rows
                gate.set()
        return found, from_disk

    found, from_disk = soon(read)
    assert from_disk > 0
    assert found == whole_answer()


def test_what_can_be_known_in_a_long_silence_is_known_before_it_ends() -> None:
    """RPJ works off everything: memory with disk, and disk with disk."""
    gate = threading.Event()
    sources = [gated(table, wait_for(gate), rows_at_once=250) for table in (LEFT, RIGHT)]
    query = sooner.join(*sources, on="k", memory="64KB")
    reader = threading.Thread(target=lambda: list(query), daemon=True)
    reader.start()
    reached = wait_until(query, lambda p: p.arrived_rows == (4000, 4000) and p.covered_fraction == 1)
    assert reached.spilled_rows > 0
    gate.set()
    reader.join(HANG_SECONDS)
    assert query.progress.phase == "done"


def test_pmj_waits_for_the_end() -> None:
    gate = threading.Event()
    sources = [gated(table, wait_for(gate), rows_at_once=250) for table in (LEFT, RIGHT)]
    query = sooner.join(*sources, on="k", memory="64KB", algorithm="pmj", silence_seconds=0.001)
    threading.Timer(0.5, gate.set).start()
    phases = soon(lambda: {query.progress.phase for _ in query})
    assert "reactive" not in phases
    assert "clean-up" in phases


def test_paced_sources_are_joined_as_they_come() -> None:
    def paced_join(pause_seconds: float) -> sooner.Query:
        pattern = Pauses(Fixed(0.0001), every_rows=500, seconds=pause_seconds)
        named = ((LEFT, "slow"), (RIGHT, "also slow"))
        sources = [paced(table.slice(0, 1500), pattern, name=name) for table, name in named]
        return sooner.join(*sources, on="k", memory="64KB")

    with paced_join(pause_seconds=10_000) as query:
        soon(lambda: next(iter(query)))
        assert query.progress.arrived_rows <= (500, 500), "the others come hours later"
    expected = multiset(sooner.join(LEFT.slice(0, 1500), RIGHT.slice(0, 1500), on="k").to_table())
    assert join_rows(paced_join(pause_seconds=0.1)) == expected


def test_a_fast_source_waits_for_a_slow_consumer() -> None:
    memory_bytes, batch = 256 * 1024, numbered(100, name="a").to_batches()[0]
    stopped = threading.Event()

    class Fountain(Gated):
        def batches(self) -> Iterator[pa.RecordBatch]:
            while not stopped.is_set():
                self.given_rows += batch.num_rows
                yield batch

    fountain = Fountain([], batch.schema, name="fountain")
    query = sooner.join(fountain, numbered(100, name="b"), on="k", memory=memory_bytes)
    with query:
        soon(lambda: next(iter(query)))
        time.sleep(0.3)  # enough for a source that does not wait to give a hundred times the memory
        waiting_rows = fountain.given_rows - query.progress.arrived_rows[0]
        stopped.set()
    assert 0 < waiting_rows * 16 <= memory_bytes
