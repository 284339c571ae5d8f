"""A trace says what happened: from every engine, as plain data, to a file or to whoever listens."""

from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest

import sooner
from join_steps import Arriving, Lane, plan_of
from queries import numbered, refused
from sooner.errors import InvalidJoin
from sooner.operators.events import Arrived, Entered, Event, Flushed, Looped, Merged, Reached, Scanned, Tidied
from sooner.trace import Entry, read_trace

LEFT, RIGHT = numbered(20_000, 8_000, seed=1, name="a"), numbered(20_000, 8_000, seed=2, name="b")
SOME: tuple[Event, ...] = (
    Arrived(1, (3, 4), 12),
    Flushed(2, 0, 1, 30, 900, run=4),
    Scanned(3, 1, 0, 2, 1800, runs=(1, 2)),
    Merged(4, 1, 3, 2700, 900, cells=(((1, 2), (3,)), ((4,), (5, 6)))),
    Looped(5, 0, 1, 4, 3600, cells=(((1,), (2, 3)),)),
    Tidied(5, 0, 8, 7200),
    Entered(6, "clean-up"),
    Reached(7, 99, ((1, 2), (3, 4))),
)


def test_every_kind_of_event_comes_back_as_it_was() -> None:
    assert {type(event) for event in SOME} == {*get_args(Event)}
    for place, event in enumerate(SOME):
        entry = Entry(0.25 * place, event, place)
        line = entry.to_line()
        assert line.count("\n") == 1
        assert Entry.from_line(line) == entry


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


@pytest.mark.parametrize("trace", [3, b"file", 1.5])
def test_what_is_no_path_and_cannot_be_called_is_refused(trace: Any) -> None:
    with refused(InvalidJoin, f"trace={trace!r}"):
        sooner.join(LEFT, RIGHT, on="k", trace=trace)


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with refused(InvalidJoin, "trace=", "no-such-folder", "give another file"):
        sooner.join(LEFT, RIGHT, on="k", trace=tmp_path / "no-such-folder" / "trace.jsonl")
