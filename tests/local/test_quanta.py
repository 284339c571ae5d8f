"""In a silence the engine looks after every quantum of disk work: a row that comes, or a stop, is served at once; but a
few rows wait if the react policy would rather go on.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sooner
import sooner.local.running
from patience import ENDLESS_SECONDS
from queries import numbered, soon
from sooner.policies.view import SILENT
from sooner.sources import Source

QUANTUM_BYTES = 64 * 2**10
EARLY_ROWS = 60_000


class Pausing:
    """A source that is silent after its first rows, until it is told to give a few more; then it may end."""

    name = "left"

    def __init__(self, late_rows: int = 1) -> None:
        self.go_on, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self._rows = numbered(EARLY_ROWS, 20_000, seed=1, name="a")
        self._late = numbered(late_rows, 20_000, seed=3, name="a")
        self.schema = self._rows.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._rows.to_batches()
        self.go_on.wait(ENDLESS_SECONDS)
        yield from self._late.to_batches()
        self.may_end.wait(ENDLESS_SECONDS)


class Recorded:
    """An operator whose calls are counted; `at_work` is called within the first quantum of a silence."""

    def __init__(self, operator: Any, at_work: Any) -> None:
        self.calls: list[str] = []
        self.open_pairs: list[float] = []  # on disk, when rows arrived
        self._operator = operator
        self._at_work = at_work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def arrive(self, *arguments: Any) -> Iterator[Any]:
        self.calls.append("arrive" if not self._operator.has_work(SILENT) else "arrive in the middle of work")
        self.open_pairs.append(float(self._operator.view(SILENT).unmet_on_disk.sum()))
        yield from self._operator.arrive(*arguments)

    def work(self, quantum_bytes: int, around: Any) -> Iterator[Any]:
        self.calls.append(f"{'silent' if around.silent else 'busy'} work")
        if around.silent and self.calls.count("silent work") == 1:
            self._at_work()
        yield from self._operator.work(quantum_bytes, around)


def query_with_much_on_disk(
    monkeypatch: pytest.MonkeyPatch, source: Source, folder: Path, algorithm: str = "hmj"
) -> sooner.Query:
    monkeypatch.setattr(sooner.local.running, "QUANTUM_BYTES", QUANTUM_BYTES)
    right = numbered(60_000, 20_000, seed=2, name="b")
    return sooner.join(source, right, on="k", memory="1MB", algorithm=algorithm, workers=1, spill_dir=folder)


def wait_for(condition: Any) -> None:
    while not condition():
        time.sleep(0.001)


def test_a_row_that_comes_is_taken_in_after_the_quantum_in_which_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Pausing()
    query = query_with_much_on_disk(monkeypatch, source, tmp_path)

    def at_work() -> None:
        source.go_on.set()
        wait_for(lambda: any(query._inbox.waiting_rows))

    recorded = query._operator = Recorded(query._operator, at_work)
    soon(lambda: sum(batch.num_rows for batch in query))
    first = recorded.calls.index("silent work")
    assert recorded.calls[first + 1] == "arrive in the middle of work"


@pytest.mark.parametrize(
    ("late_rows", "ends_at_once", "waits"), [(1000, False, True), (1001, False, False), (5, True, False)]
)
def test_a_few_rows_wait_until_a_nested_loop_is_through_but_not_many_nor_an_end(
    late_rows: int, ends_at_once: bool, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DINER sec. 3.4, Point 4."""
    source = Pausing(late_rows)
    if not ends_at_once:
        source.may_end.clear()
    query = query_with_much_on_disk(monkeypatch, source, tmp_path, "diner")

    def at_work() -> None:
        source.go_on.set()
        wait_for(lambda: sum(query._inbox.waiting_rows) == late_rows)
        if ends_at_once:
            wait_for(lambda: any(queue.end for queue in query._inbox._queues))

    def let_it_end() -> None:
        wait_for(lambda: query.progress.arrived_rows[0] > EARLY_ROWS)
        source.may_end.set()

    recorded = query._operator = Recorded(query._operator, at_work)
    threading.Thread(target=let_it_end, daemon=True).start()
    soon(lambda: sum(batch.num_rows for batch in query))
    first = recorded.calls.index("silent work")
    following = recorded.calls[first + 1 :]
    arrivals_before = sum(call.startswith("arrive") for call in recorded.calls[:first])
    assert (recorded.open_pairs[arrivals_before] == 0) == waits
    assert following[0] == ("busy work" if waits else "arrive in the middle of work")


def test_a_stop_is_seen_within_a_quantum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Pausing()
    query = query_with_much_on_disk(monkeypatch, source, tmp_path)

    def at_work() -> None:
        stopping = threading.Thread(target=query.stop, daemon=True)
        stopping.start()
        wait_for(lambda: query._stopped)

    recorded = query._operator = Recorded(query._operator, at_work)
    soon(lambda: list(query))
    assert recorded.calls[-1] == "silent work"
    assert recorded.calls.count("silent work") == 1
    wait_for(lambda: not list(tmp_path.iterdir()))
    source.go_on.set()
