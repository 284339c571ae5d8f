"""Queries for tests: oracles, sources that wait for a word, and a limit on how long anything may take."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest

import sooner
from patience import ENDLESS_SECONDS, HANG_SECONDS
from sooner.errors import SoonerError
from sooner.progress import Progress

T = TypeVar("T")

Rows = Counter[tuple[Any, ...]]


def soon(work: Callable[[], T]) -> T:
    """What `work` gives or raises; a failure if it hangs."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if not outcome:
        pytest.fail(f"nothing happened within {HANG_SECONDS} seconds")
    result, error = outcome[0]
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def numbered(n_rows: int, keys: int = 500, seed: int = 0, name: str = "row") -> pa.Table:
    """Rows with a random key and their number."""
    random_keys = np.random.default_rng(seed).integers(0, keys, n_rows)
    return pa.table({"k": random_keys, name: np.arange(n_rows)})


def multiset(batches: Iterable[pa.RecordBatch] | pa.Table) -> Rows:
    rows = batches.to_pylist() if isinstance(batches, pa.Table) else [r for b in batches for r in b.to_pylist()]
    return Counter(tuple(_comparable(value) for value in row.values()) for row in rows)


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return repr(value) if isinstance(value, dict | list) else value


def nested_loop(left: pa.Table, right: pa.Table, left_on: Sequence[str], right_on: Sequence[str]) -> Counter[Any]:
    """Pairs of row numbers by Spark's rules: null equals nothing, NaN equals NaN, -0.0 equals 0.0."""

    def keys(table: pa.Table, columns: Sequence[str]) -> list[Any]:
        return [tuple(_comparable(row[column]) for column in columns) for row in table.to_pylist()]

    places: dict[Any, list[int]] = {}
    for number, key in enumerate(keys(right, right_on)):
        if None not in key:
            places.setdefault(key, []).append(number)
    return Counter((i, j) for i, key in enumerate(keys(left, left_on)) for j in places.get(key, ()))


@dataclass
class Gated:
    """A source that gives its batches, a callable among them being called instead: to wait, to look, to raise."""

    steps: Sequence[pa.RecordBatch | Callable[[], object]]
    schema: pa.Schema
    name: str = "gated"
    given_rows: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for step in self.steps:
            if callable(step):
                step()
            else:
                self.given_rows += step.num_rows
                yield step

    def close(self) -> None:
        self.closed.set()


def gated(table: pa.Table, *steps: Callable[[], object], name: str = "gated", rows_at_once: int = 500) -> Gated:
    """The rows of a table in small batches, with what `steps` do in the middle of them."""
    batches = table.to_batches(max_chunksize=rows_at_once)
    middle = len(batches) // 2
    return Gated([*batches[:middle], *steps, *batches[middle:]], table.schema, name)


def wait_until(query: sooner.Query, reached: Callable[[Progress], bool]) -> Progress:
    """The first progress that is as wanted; from a thread that does not read the query."""

    def look() -> Progress:
        while not reached(progress := query.progress):
            time.sleep(0.001)
        return progress

    return soon(look)


def wait_for(event: threading.Event) -> Callable[[], object]:
    return lambda: event.wait(ENDLESS_SECONDS)


@contextmanager
def refused(kind: type[SoonerError], *mentions: str) -> Iterator[None]:
    """A refusal of this kind, in one line that names all that is mentioned."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert caught.type is kind
    assert message
    assert "\n" not in message
    for mention in mentions:
        assert mention in message, message


def join_rows(query: sooner.Query) -> Rows:
    return soon(lambda: multiset(query))
