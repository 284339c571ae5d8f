"""A trace says what happened: from every engine, as plain data, to a file or to whoever listens."""

import gc
import json
import time
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

import sooner
from join_steps import Arriving, Lane, plan_of
from queries import numbered, refused
from sooner.errors import InvalidCall, InvalidJoin
from sooner.operators.events import Arrived, Entered, Event, Flushed, Inside, Looped, Merged, Reached, Scanned, Tidied
from sooner.spark.step import step_trace
from sooner.trace import Entry, Lines, Trace, TraceFile, TraceHeader, read_trace, read_whole_trace

LEFT, RIGHT = numbered(20_000, 8_000, seed=1, name="a"), numbered(20_000, 8_000, seed=2, name="b")
HEADER = TraceHeader("a test", "q", 0.0, [])
SOME: tuple[Event, ...] = (
    Arrived(1, (3, 4), 12),
    Flushed(2, 0, 1, 30, 900, run=4),
    Scanned(3, 1, 0, 2, 1800, runs=(1, 2)),
    Merged(4, 1, 3, 2700, 900, cells=(((1, 2), (3,)), ((4,), (5, 6))), task="clean-up"),
    Looped(5, 0, 1, 4, 3600, cells=(((1,), (2, 3)),)),
    Tidied(5, 0, 8, 7200),
    Entered(6, "clean-up"),
    Reached(7, 99, ((1, 2), (3, 4))),
    Inside("orders", Flushed(2, 0, 1, 30, 900, run=4)),
)


def test_every_kind_of_event_comes_back_as_it_was() -> None:
    assert {type(event) for event in SOME} == {*get_args(Event)}
    for place, event in enumerate(SOME):
        entry = Entry(0.25 * place, event, place, operator=2, query="q")
        line = entry.to_line()
        assert line.count("\n") == 1
        assert Entry.from_line(line) == entry


def test_an_entry_of_the_version_before_is_read(tmp_path: Path) -> None:
    line = '{"seconds": 1.5, "place": 3, "event": "Merged", "tick": 4, "partition": 1, "n_runs": 3, "n_bytes": 2700, '
    line += '"written_bytes": 900, "cells": [[[1, 2], [3]]]}\n'
    (tmp_path / "trace.jsonl").write_text(line)
    trace = read_whole_trace(tmp_path / "trace.jsonl")
    assert trace == Trace([], [Entry(1.5, Merged(4, 1, 3, 2700, 900, (((1, 2), (3,)),), task=None), 3)], 0)


@pytest.mark.parametrize("line", ["nonsense", "{}", "[]", '{"seconds": 1, "place": 0, "event": "Exploded"}'])
def test_what_is_no_trace_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(Entry(0.0, SOME[0]).to_line() + line + "\n")
    with pytest.raises(InvalidCall, match=r"Line 2 of .*trace\.jsonl is not of a trace that this version reads"):
        read_trace(file)
    file.write_text(Entry(0.0, SOME[0]).to_line() + line)  # its writer was killed in the middle of it
    assert len(read_trace(file)) == 1


def join_with(trace: Any, **others: Any) -> pa.Table:
    return sooner.join(LEFT, RIGHT, on="k", memory="1MB", algorithm="hmj", trace=trace, **others).to_table()


def require_whole_story(entries: list[Entry], results: int) -> None:
    events = [entry.event for entry in entries]
    arrived = [event.rows for event in events if isinstance(event, Arrived)]
    assert [sum(rows) for rows in zip(*arrived, strict=True)] == [LEFT.num_rows, RIGHT.num_rows]
    reached = [event for event in events if isinstance(event, Reached)]
    assert [event.results for event in reached] == sorted(event.results for event in reached)
    assert reached[-1].results == results
    assert sum(map(sum, reached[-1].resident_bytes)) == 0, "all is forgotten in the end"
    assert any(isinstance(event, Flushed) for event in events)
    met = [event.cells for event in events if isinstance(event, Merged)]
    assert any(cells for cells in met), "which cells met is told"
    assert [event.phase for event in events if isinstance(event, Entered)][-2:] == ["clean-up", "done"]


def test_a_query_in_process_writes_its_trace_to_a_file(tmp_path: Path) -> None:
    found = join_with(tmp_path / "trace.jsonl")
    entries = read_trace(tmp_path / "trace.jsonl")
    require_whole_story(entries, len(found))
    assert entries[0].seconds >= 0
    assert {entry.place for entry in entries} == {0}


def test_a_trace_says_what_it_is_of_and_when_it_began(tmp_path: Path) -> None:
    before = time.time()
    join_with(tmp_path / "trace.jsonl")
    trace = read_whole_trace(tmp_path / "trace.jsonl")
    [header] = trace.headers
    assert before <= header.began_at <= time.time()
    assert header.what == "a join in process"
    assert "left_on=('k',)" in header.plan[0]
    assert {(entry.query, entry.operator) for entry in trace.entries} == {(header.query, 0)}
    assert trace.dropped == 0
    first = json.loads((tmp_path / "trace.jsonl").read_text().splitlines()[0])
    assert first["trace"] == 3
    for event in SOME:
        if not isinstance(event, Inside):  # a line of one has its fields, and the join
            assert first["fields"][type(event).__name__] == list(event._fields)


@pytest.mark.parametrize("algorithm", ["agf", "hmj"])
def test_a_plan_tells_what_happens_in_each_of_its_joins(algorithm: str, tmp_path: Path) -> None:
    third = numbered(20_000, 8_000, seed=3, name="c")
    inputs, file = {"a": LEFT, "b": RIGHT, "c": third}, tmp_path / "trace.jsonl"
    how = {"b": "inner", "c": "inner"}
    found = sooner.multijoin(
        inputs, ["a.k = b.k", "b.k = c.k"], how=how, memory="1MB", algorithm=algorithm, trace=file
    ).to_table()
    entries = read_trace(file)
    inside = [entry.event for entry in entries if isinstance(entry.event, Inside)]
    for join in ("b", "c"):
        own = [event.event for event in inside if event.join == join]
        assert {Arrived, Flushed, Merged, Reached, Entered} <= {type(event) for event in own}
        assert [event.phase for event in own if isinstance(event, Entered)][-2:] == ["clean-up", "done"]
    between = [event.event.rows[0] for event in inside if event.join == "c" and isinstance(event.event, Arrived)]
    given = [event.event.results for event in inside if event.join == "b" and isinstance(event.event, Reached)]
    assert sum(between) == given[-1], "what one join gives comes to the next"
    of_plan = [entry.event for entry in entries if isinstance(entry.event, Reached)]
    assert of_plan[-1].results == len(found)
    assert sum(map(sum, of_plan[-1].resident_bytes)) == 0


def test_each_task_is_told_by_its_own_name(tmp_path: Path) -> None:
    join_with(tmp_path / "trace.jsonl")
    merged = [entry.event for entry in read_trace(tmp_path / "trace.jsonl") if isinstance(entry.event, Merged)]
    assert {event.task for event in merged} >= {"clean-up"}
    assert None not in {event.task for event in merged}


def test_each_entry_is_in_the_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    tracer = TraceFile(file, HEADER)
    for number, event in enumerate(SOME, 1):
        tracer(Entry(0.0, event))
        assert len(read_trace(file)) == number


def test_a_trace_is_bounded_and_says_how_much_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    tracer = TraceFile(file, HEADER, most_bytes=4000)
    for tick in range(1000):
        tracer(Entry(0.0, Entered(tick, "arriving")))
    assert read_whole_trace(file).dropped == 1, "that something is missing is said before the end"
    tracer.close()
    tracer.close()
    trace = read_whole_trace(file)
    assert 0 < len(trace.entries) < 100
    assert trace.dropped == 1000 - len(trace.entries)
    assert file.stat().st_size < 4200


def test_a_listener_that_fails_is_dropped_with_a_warning_and_the_join_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[Entry] = []

    def failing(entry: Entry) -> None:
        calls.append(entry)
        raise RuntimeError("no more")

    assert join_with(failing).num_rows == join_with(None).num_rows
    assert len(calls) == 1
    [warning] = [record.getMessage() for record in caplog.records if "trace" in record.getMessage()]
    assert "RuntimeError('no more')" in warning


def test_a_disk_that_is_full_ends_the_trace_and_not_the_join(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Lines, "of", full)
    assert join_with(tmp_path / "trace.jsonl").num_rows == join_with(None).num_rows
    assert len([record for record in caplog.records if "The trace ends here" in record.getMessage()]) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_disk_that_is_full_from_the_begin_is_refused() -> None:
    with refused(InvalidJoin, "trace='/dev/full'", "No space left"):
        sooner.join(LEFT, RIGHT, on="k", trace="/dev/full")
    gc.collect()


def test_a_query_in_process_tells_whoever_listens() -> None:
    entries: list[Entry] = []
    found = join_with(entries.append)
    require_whole_story(entries, len(found))
    seconds = [entry.seconds for entry in entries]
    assert seconds == sorted(seconds)


def test_a_query_that_is_stopped_leaves_a_trace_that_can_be_read(tmp_path: Path) -> None:
    with sooner.join(LEFT, RIGHT, on="k", memory="1MB", trace=tmp_path / "trace.jsonl") as query:
        for _ in query:
            if query.progress.spilled_rows:
                break
    assert any(isinstance(entry.event, Flushed) for entry in read_trace(tmp_path / "trace.jsonl"))


def test_steps_on_spark_leave_a_file_for_each_partition_and_batch(tmp_path: Path) -> None:
    rows = LEFT.slice(0, 2000), RIGHT.slice(0, 2000)
    plan = plan_of(LEFT.schema, RIGHT.schema, tmp_path, memory_bytes=2**16, trace=str(tmp_path / "trace"))
    lane = Lane(plan)
    for seed in (None, 3):  # the second is a retry of the same batch, which writes the same anew
        lane.version, lane.results = 0, []
        lane.step(Arriving(*rows), seed=seed)
    results = len(lane.end())
    files = sorted(path.name for path in (tmp_path / "trace" / "partition-00000").iterdir())
    assert files == [f"{version:012}.jsonl" for version in range(len(files))]
    events = [entry.event for entry in read_trace(tmp_path / "trace")]
    arrivals = [event.tick for event in events if isinstance(event, Arrived)]
    assert len({*arrivals}) == len(arrivals), "the retry is told beside the first attempt"
    assert max(event.results for event in events if isinstance(event, Reached)) == results
    headers = read_whole_trace(tmp_path / "trace").headers
    assert len(headers) == len(files)
    assert {header.query for header in headers} == {entry.query for entry in read_trace(tmp_path / "trace")} != {""}


def test_traces_of_the_newest_batches_are_kept_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_trace, "KEPT_BATCHES", 3)
    for version in range(8):
        trace = step_trace.StepTrace(str(tmp_path / "trace"), 0, version, "q", {})
        trace.note(SOME[0])
        trace.write()
    files = sorted(path.name for path in (tmp_path / "trace" / "partition-00000").iterdir())
    assert files == [f"{version:012}.jsonl" for version in (5, 6, 7)]


def test_a_step_on_spark_keeps_its_trace_short_and_never_fails_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(step_trace, "MOST_STEP_BYTES", 4000)
    trace = step_trace.StepTrace(str(tmp_path / "trace"), 0, 0, "q", {})
    for _ in range(500):
        trace.note(SOME[0])
    trace.write()
    whole = read_whole_trace(tmp_path / "trace")
    assert whole.dropped == 500 - len(whole.entries) > 0
    (tmp_path / "file").write_text("")
    step_trace.StepTrace(str(tmp_path / "file"), 0, 0, "q", {}).write()
    assert "Batch 0 has no trace" in caplog.text


@pytest.mark.parametrize("trace", [3, b"file", 1.5])
def test_what_is_no_path_and_cannot_be_called_is_refused(trace: Any) -> None:
    with refused(InvalidJoin, f"trace={trace!r}"):
        sooner.join(LEFT, RIGHT, on="k", trace=trace)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with refused(InvalidJoin, "trace=", "no-such-folder", "give another file"):
        sooner.join(LEFT, RIGHT, on="k", trace=tmp_path / "no-such-folder" / "trace.jsonl")


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        ("rpj", "with a chance of"),
        ("diner", "results a row since the last flush"),
        ("miner", "results a row since the last flush"),
        ("agf", "final results expected a byte"),
        ("state_spill", "final results so far a byte"),
    ],
)
def test_why_rows_left_memory_is_the_score_of_the_policy(algorithm: str, said: str) -> None:
    dice, entries = np.random.default_rng(1), list[Entry]()
    one, other, third = (
        pa.table({"k": dice.integers(0, 1_000, 4_000), name: np.arange(4_000) % 7}) for name in ("a", "b", "c")
    )
    if algorithm in ("rpj", "diner"):
        query = sooner.join(one, other, on="k", algorithm=algorithm, memory="64KB", trace=entries.append)
    else:
        inputs = {"one": one, "other": other, "third": third.slice(0, 2_000)}
        query = sooner.multijoin(inputs, on="k", algorithm=algorithm, memory="100KB", trace=entries.append)
    query.to_table()
    events = [entry.event.event if isinstance(entry.event, Inside) else entry.event for entry in entries]
    whys = [event.why for event in events if isinstance(event, Flushed)]
    assert any(said in why for why in whys), whys[:5]
