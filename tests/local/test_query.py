"""A query as others see it: batches, an Arrow stream, a progress, something that can be stopped."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import sooner
from patience import ENDLESS_SECONDS, HANG_SECONDS
from queries import Gated, gated, join_rows, multiset, nested_loop, numbered, refused, soon, wait_for, wait_until
from sooner.errors import InvalidJoin, MissingLibrary, SoonerError
from sooner.named_algorithms import Algorithm
from sooner.policies.flush.largest import Largest
from sooner.policies.flush.random import Random
from sooner.policies.react.memory_disk import LargestMemoryDisk
from sooner.policies.react.merge import Merge
from sooner.policies.view import FlushPolicy, ReactPolicy

LEFT, RIGHT = numbered(2000, name="a", seed=1), numbered(2000, name="b", seed=2)
N_RESULTS = nested_loop(LEFT, RIGHT, ["k"], ["k"]).total()


def query(**options: object) -> sooner.Query:
    return sooner.join(LEFT, RIGHT, on="k", **options)  # type: ignore[arg-type]


def test_batches_have_the_schema_of_the_query() -> None:
    running = query()
    assert running.schema == pa.schema([("k", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    assert {batch.schema for batch in running} == {running.schema}


def test_a_query_explains_itself_before_it_begins() -> None:
    first, memory = query(how="left", algorithm="hmj", memory="64MB").explain().splitlines()
    assert first == "joined by hmj, how='left', where left k = right k"
    assert memory == "memory: about 42.7 MB for rows; what does not fit goes to disk"
    near = sooner.join(LEFT, RIGHT, left_on="a", right_on="b", within=(None, 5), by="k", memory=None)
    first, algorithm, memory = near.explain().splitlines()
    assert first == "joined by rpj, how='inner', where left k = right k and left a and right b within (None, 5)"
    assert algorithm.startswith("algorithm: rpj, since the inputs, about ")
    assert memory == "memory: has no limit"
    rows = sooner.sql("SELECT l.a, r.b FROM l LEFT JOIN r ON l.k = r.k", {"l": LEFT, "r": RIGHT})
    assert isinstance(rows, sooner.Query)
    assert "how='left', where left k = right k" in rows.explain()


def test_a_query_is_an_arrow_stream() -> None:
    assert soon(lambda: pa.table(query())).num_rows == N_RESULTS


def test_a_query_can_be_read_by_duckdb() -> None:
    def count() -> object:
        with duckdb.connect() as database:
            database.register("q", query().to_reader())
            return database.execute("select count(*) from q").fetchone()

    assert soon(count) == (N_RESULTS,)


def test_two_relations_of_one_duckdb_connection_are_refused_with_a_cure_that_works_at_once() -> None:
    """As in a notebook, which keeps the error, and with it what was open."""
    with duckdb.connect() as database, database.cursor() as cursor:
        left, right = (database.sql(f"select range as k, range as {name} from range(10000)") for name in "ab")
        with pytest.raises(InvalidJoin, match=r"connection\.cursor\(\)") as kept:
            sooner.join(left, right, on="k")
        cured = sooner.join(left, cursor.sql("select range as k, range as b from range(10000)"), on="k")
        assert soon(cured.to_table).num_rows == 10_000
        assert kept.value is not None
        with refused(InvalidJoin, "'nothing'"):
            sooner.join(left, RIGHT, on="nothing")
        assert database.sql("select 1").fetchall() == [(1,)]


def test_a_source_of_the_users_own_can_be_joined_after_a_refusal() -> None:
    source = gated(LEFT)
    with refused(InvalidJoin, "'nothing'"):
        sooner.join(source, RIGHT, on="nothing")
    assert not source.closed.is_set()
    assert soon(sooner.join(source, RIGHT, on="k").to_table).num_rows == N_RESULTS


def test_a_query_can_be_read_by_polars() -> None:
    assert soon(lambda: polars.DataFrame(query())).shape == (N_RESULTS, 3)


def test_the_whole_answer_can_be_had_as_a_table_or_as_a_frame_of_pandas_or_polars() -> None:
    table = soon(query().to_table)
    assert table.num_rows == N_RESULTS
    in_pandas, in_polars = soon(query().to_pandas), soon(query().to_polars)
    assert isinstance(in_pandas, pandas.DataFrame)
    assert isinstance(in_polars, polars.DataFrame)
    assert multiset(pa.table(in_pandas)) == multiset(in_polars.to_arrow()) == multiset(table)


def test_an_answer_without_rows_has_its_columns_as_a_frame_too() -> None:
    def nothing() -> sooner.Query:
        return sooner.join(LEFT.slice(0, 0), RIGHT, on="k")

    assert soon(nothing().to_polars).schema == {"k": polars.Int64, "a": polars.Int64, "b": polars.Int64}
    assert list(soon(nothing().to_pandas).columns) == ["k", "a", "b"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named_with_its_cure_before_anything_is_read(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    running = query()
    with refused(MissingLibrary, f"needs {library}", f"pip install {library}"):
        getattr(running, f"to_{library}")()
    assert soon(running.to_table).num_rows == N_RESULTS


@pytest.mark.parametrize("rows", [0, 1, 100, N_RESULTS, N_RESULTS + 1])
def test_head_gives_the_first_rows_and_ends_the_query(rows: int) -> None:
    running = query(memory="64KB")
    found = soon(lambda: running.head(rows))
    assert found.schema == running.schema
    assert found.num_rows == min(rows, N_RESULTS)
    assert multiset(found) <= multiset(soon(query().to_table))
    with pytest.raises(SoonerError, match="call join again"):
        running.head(rows)


def test_head_comes_as_soon_as_its_rows_are_there() -> None:
    closed = threading.Event()
    running = sooner.join(never_ending(closed), RIGHT, on="k")
    assert soon(lambda: running.head(10)).num_rows == 10
    assert closed.is_set()


@pytest.mark.parametrize("rows", [-1, 2.5, True, "5", None])
def test_a_head_that_makes_no_sense_is_refused_and_nothing_is_read(rows: object) -> None:
    running = query()
    with refused(InvalidJoin, f"n={rows!r}"):
        running.head(rows)  # type: ignore[arg-type]
    assert soon(running.to_table).num_rows == N_RESULTS


def test_a_notebook_shows_progress_and_columns_without_reading() -> None:
    running = sooner.join(LEFT, RIGHT.rename_columns(["k", "<b> & c"]), on="k")
    shown = running._repr_html_()
    assert "0 x 0 rows arrived" in shown
    for name, type_ in (("k", "int64"), ("a", "int64"), ("&lt;b&gt; &amp; c", "int64")):
        assert f"<td>{name}</td><td>{type_}</td>" in shown
    join_rows(running)
    assert "2,000 x 2,000 rows arrived" in running._repr_html_()


@pytest.mark.parametrize("again", [iter, sooner.Query.to_table, sooner.Query.to_reader, pa.table])
def test_a_second_reading_is_refused(again: object) -> None:
    running = query()
    assert join_rows(running).total() == N_RESULTS
    with pytest.raises(SoonerError, match="call join again"):
        again(running)  # type: ignore[operator]


def test_a_query_says_how_far_it_is() -> None:
    running = query()
    before = running.progress
    assert (before.phase, before.arrived_rows, before.results) == ("arriving", (0, 0), 0)
    join_rows(running)
    after = running.progress
    assert (after.phase, after.arrived_rows, after.results) == ("done", (2000, 2000), N_RESULTS)
    assert (after.resident_rows, after.resident_bytes, after.spilled_rows, after.spilled_bytes) == (0, 0, 0, 0)
    assert after.covered_fraction == 1
    assert after.peak_bytes > 2 * 2000 * 16
    assert str(after) == (
        f"done: 2,000 x 2,000 rows arrived, 100.0% of their pairs covered, {N_RESULTS:,} results, "
        "0 B in memory, 0 B spilled"
    )
    assert str(after) in repr(running)


def test_rows_with_a_null_key_have_arrived_too() -> None:
    with_nulls = pa.table({"k": pa.array([1, None, None, 2])})
    running = sooner.join(with_nulls, RIGHT, on="k")
    join_rows(running)
    assert running.progress.arrived_rows == (4, 2000)


def test_progress_may_be_asked_while_the_join_waits() -> None:
    gate = threading.Event()
    running = sooner.join(gated(LEFT, wait_for(gate)), RIGHT, on="k", memory="64KB")
    reader = threading.Thread(target=lambda: list(running), daemon=True)
    reader.start()
    # A progress that is asked in the middle of a step may count rows as arrived that are not in memory yet.
    seen = wait_until(running, lambda progress: progress.resident_rows + progress.spilled_rows == 3000)
    assert 0 < seen.covered_fraction <= 1
    assert seen.arrived_rows == (1000, 2000)
    gate.set()
    reader.join(HANG_SECONDS)
    assert running.progress.phase == "done"


def test_one_query_read_by_two_threads_is_a_sentence_in_the_second() -> None:
    reading, gate = threading.Event(), threading.Event()
    source = Gated([reading.set, wait_for(gate), *LEFT.to_batches()], LEFT.schema)
    batches = iter(sooner.join(source, RIGHT, on="k"))
    found: list[pa.RecordBatch] = []
    first = threading.Thread(target=lambda: found.extend(batches), daemon=True)
    first.start()
    soon(reading.wait)  # sources start within the first reading, which waits for them
    with refused(SoonerError, "Another thread is reading this query"):
        soon(lambda: next(batches))
    gate.set()
    first.join(HANG_SECONDS)
    assert multiset(found) == multiset(soon(query().to_table))


# Stopping


def test_a_query_that_is_stopped_between_batches_ends_quietly() -> None:
    running = query(memory="64KB")

    def stop_after_three() -> int:
        batches = 0
        for batches, _ in enumerate(running, 1):
            if batches == 3:
                running.stop()
        return batches

    assert soon(stop_after_three) == 3


def test_results_before_a_stop_are_part_of_the_answer() -> None:
    running = query(memory="64KB")

    def some() -> list[pa.RecordBatch]:
        return [batch for batch, _ in zip(running, range(5), strict=False)]

    found = multiset(soon(some))
    running.stop()
    assert found <= multiset(soon(query().to_table))


def test_a_query_that_was_stopped_says_so() -> None:
    running = query()
    running.stop()
    assert repr(running).startswith("<sooner.Query stopped; arriving: ")
    for again in (list, sooner.Query.to_table, sooner.Query.head):
        with refused(SoonerError, "This query was stopped; call join again"):
            again(running)  # type: ignore[operator]


def test_a_query_says_after_its_head_that_it_was_stopped_and_after_its_end_that_it_was_read() -> None:
    for rows, said in ((1, "was stopped; call join again"), (N_RESULTS + 1, "were read before; call join again")):
        running = query()
        soon(partial(running.head, rows))
        with refused(SoonerError, said):
            running.to_table()


def test_stopping_twice_is_stopping_once() -> None:
    running = query()
    running.stop()
    running.stop()


def never_ending(stopped: threading.Event, when_closed: str = "ends") -> Gated:
    """Half of the rows, and then silence until it is closed; then it ends, or gives the rest."""
    batches = LEFT.to_batches(max_chunksize=500)
    rest = batches[2:] if when_closed == "goes on" else []
    return Gated([*batches[:2], lambda: stopped.wait(ENDLESS_SECONDS), *rest], LEFT.schema, closed=stopped)


@pytest.mark.parametrize("when_closed", ["ends", "goes on"])
@pytest.mark.parametrize("algorithm", ["rpj", "xjoin", "hmj", "pmj"])
def test_another_thread_can_stop_a_query_that_waits(algorithm: str, when_closed: str) -> None:
    source = never_ending(threading.Event(), when_closed)
    running = sooner.join(source, RIGHT, on="k", memory="64KB", algorithm=algorithm)

    def stop_in_the_silence() -> None:
        wait_until(running, lambda progress: progress.arrived_rows == (1000, 2000) and progress.spilled_rows > 0)
        time.sleep(0.1)
        running.stop()

    threading.Thread(target=stop_in_the_silence, daemon=True).start()
    found = soon(lambda: multiset(running))
    assert found <= multiset(soon(query().to_table))


class StopsTheQuery:
    """A policy in whose middle another thread stops the query: the step that asked has its files taken away."""

    running: sooner.Query | None = None  # a join asks its policy once while it is made

    def __init__(self, policy: FlushPolicy | ReactPolicy) -> None:
        self._policy = policy

    def choose(self, *seen: Any) -> Any:
        if self.running is None:
            return self._policy.choose(*seen)
        stopping = threading.Thread(target=self.running.stop, daemon=True)
        stopping.start()
        stopping.join(0.3)  # it may wait for the end of this very step
        return self._policy.choose(*seen)


@pytest.mark.parametrize(
    "algorithm",
    [
        Algorithm("stopped while it writes", StopsTheQuery(Largest()), LargestMemoryDisk()),
        Algorithm("stopped while it reads", Largest(), StopsTheQuery(LargestMemoryDisk())),
        Algorithm("stopped while it merges", Random(), StopsTheQuery(Merge())),
    ],
    ids=lambda algorithm: algorithm.name,
)
def test_another_thread_can_stop_a_query_in_the_middle_of_its_work(algorithm: Algorithm) -> None:
    """Nothing is corrupted or full: it is just over."""
    StopsTheQuery.running = None
    running = sooner.join(never_ending(threading.Event()), RIGHT, on="k", memory="64KB", algorithm=algorithm)
    StopsTheQuery.running = running
    assert multiset(soon(lambda: list(running))) <= multiset(soon(query().to_table))


def test_another_thread_can_stop_a_query_whose_source_does_not_listen() -> None:
    class Deaf:
        name, schema = "deaf", LEFT.schema

        def batches(self) -> Iterator[pa.RecordBatch]:
            threading.Event().wait(ENDLESS_SECONDS)
            yield from ()

    running = sooner.join(Deaf(), RIGHT, on="k")
    threading.Timer(0.2, running.stop).start()
    assert soon(lambda: list(running)) == []


def test_leaving_a_with_block_stops_the_query_and_closes_its_sources() -> None:
    stopped = threading.Event()
    with sooner.join(never_ending(stopped), RIGHT, on="k") as running:
        soon(lambda: next(iter(running)))
        assert not stopped.is_set()
    assert stopped.is_set()


def test_no_thread_is_left_when_a_query_is_over() -> None:
    before = set(threading.enumerate())
    running = sooner.join(never_ending(threading.Event()), RIGHT, on="k")
    soon(lambda: next(iter(running)))
    of_the_query = {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("sooner")}
    assert of_the_query
    running.stop()
    for thread in of_the_query:
        thread.join(HANG_SECONDS)
        assert not thread.is_alive()


def test_a_program_ends_although_its_workers_are_in_the_middle_of_a_join() -> None:
    program = """
import pyarrow as pa, sooner
table = pa.table({"k": list(range(300_000)) * 2})
results = iter(sooner.join(table, table, on="k", workers=2))
while next(results).num_rows < 10_000:  # not yet a piece that is large enough for two
    pass
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=HANG_SECONDS)
