"""What somebody wrote into a state with a valid checksum: a sentence, and nothing outside the state is touched."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
import xxhash

from join_steps import Arriving, Lane, nothing, plan_of
from queries import numbered
from sooner.errors import SinkFailed, SoonerError, StateCorrupted
from sooner.runs.formats.versions import Versions, _sealed
from sooner.spark.dataflow.endings import note_end, noted_ends
from sooner.spark.dataflow.pacemaker import PulseReader
from sooner.spark.sinks.parquet_sink import _read
from sooner.spark.step.standing import read_standing

Forge = Callable[[dict[str, Any]], object]


def used_lane(folder: Path) -> Lane:
    """A join with rows in memory and on disk."""
    left, right = numbered(3000, 700, 1, "a"), numbered(3000, 700, 2, "b")
    lane = Lane(plan_of(left.schema, right.schema, folder, algorithm="hmj"))
    for begin in range(0, 3000, 1000):
        lane.step(Arriving(left.slice(begin, 1000), right.slice(begin, 1000)))
    return lane


def manifest_of(lane: Lane) -> Path:
    return Path(lane.plan.state) / "partition-00000" / f"{lane.version - 1:012}.json"


def rewritten(path: Path, header: bytes | None = None, state: bytes | None = None) -> None:
    """With checksums that are right."""
    first, second, _ = path.read_bytes().split(b"\n")
    second = second if state is None else state
    told = json.loads(first[17:]) | {"checksum": xxhash.xxh3_64_intdigest(second)}
    line = json.dumps(told).encode() if header is None else header
    path.write_bytes(b"\n".join((_sealed(line), second, b"")))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything that a state consists of."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def with_at(value: Any, path: tuple[Any, ...], new: object) -> Any:
    changed = json.loads(json.dumps(value))
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = new
    return changed


DEEP = b'{"operator":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
HUGE = b'{"operator":' + b"9" * 10_000 + b"}"


@pytest.mark.parametrize("state", [b"[]", b"3", b"null", b"NaN", b"{}", b'"text"', b"{", b"", DEEP, HUGE, b"\xff"])
def test_a_state_that_is_none_is_refused(state: bytes, tmp_path: Path) -> None:
    lane = used_lane(tmp_path)
    rewritten(manifest_of(lane), state=state)
    with pytest.raises(StateCorrupted, match=r"000000000002\.json"):
        lane.step(nothing(lane.plan))


@pytest.mark.parametrize("header", [b"[]", b"3", b"null", b"NaN", b"{}", b'"text"', b"{", DEEP, HUGE, b'{"format":10}'])
def test_a_header_that_is_none_is_refused(header: bytes, tmp_path: Path) -> None:
    lane = used_lane(tmp_path)
    rewritten(manifest_of(lane), header=header)
    versions = Versions(pafs.LocalFileSystem(), str(manifest_of(lane).parent))
    for look in (versions.load, versions.header):
        with pytest.raises(StateCorrupted, match=r"000000000002\.json"):
            look(2)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("first", range(7))
def test_whatever_is_changed_in_a_state_ends_in_a_sentence_or_in_a_state(first: int, tmp_path: Path) -> None:
    """Each part of it once, by values of other types, below nothing and beyond all: never another error."""
    lane = used_lane(tmp_path)
    path = manifest_of(lane)
    intact, state = path.read_bytes(), json.loads(path.read_bytes().split(b"\n")[1])
    refused = 0
    for number, place in enumerate(one for one in places(state) if one):
        new = [None, "x", -1, 2**70, [], {}, 1e300][(first + number) % 7]
        rewritten(path, state=json.dumps(with_at(state, place, new)).encode())
        try:
            lane.step(nothing(lane.plan))
            lane.version -= 1
        except SoonerError:
            refused += 1
        path.write_bytes(intact)
        for made in path.parent.glob("000000000003*"):
            made.unlink()
    assert refused > 50


@pytest.mark.parametrize(
    "name", ["../outside.arrows", "/etc/passwd", "a/../../outside.arrows", "..", "", 5, None, ["x"]]
)
def test_names_that_lead_elsewhere_are_not_followed(name: object, tmp_path: Path) -> None:
    lane = used_lane(tmp_path)
    path = manifest_of(lane)
    outside = path.parent.parent / "outside.arrows"
    outside.write_text("not mine")
    state = json.loads(path.read_bytes().split(b"\n")[1])
    for place in [one for one in places(state) if one and one[-1] == "file"]:
        rewritten(path, state=json.dumps(with_at(state, place, name)).encode())
        with pytest.raises(StateCorrupted):
            lane.step(nothing(lane.plan))
    assert outside.read_text() == "not mine"


def test_a_summary_that_is_none_is_refused(tmp_path: Path) -> None:
    lane = used_lane(tmp_path)
    path = manifest_of(lane)
    first = json.loads(path.read_bytes().split(b"\n")[0][17:])
    for summary in ({}, {"progress": 5}, {**first["summary"], "late_rows": "x"}):
        rewritten(path, header=json.dumps(first | {"summary": summary}).encode())
        with pytest.raises(StateCorrupted, match="batch 2"):
            read_standing(lane.plan.state, 1, 2)


# Notes, offsets, and records of a sink


@pytest.mark.parametrize("content", [b"", b"\xff" * 10, b"query and more", b"quer", b"[" * 10**6])
def test_a_note_for_nobody_means_nothing(content: bytes, tmp_path: Path) -> None:
    note_end(str(tmp_path), "left", "query")
    assert noted_ends(str(tmp_path), ["left", "right"], "query") == 1
    (tmp_path / "left-has-ended").write_bytes(content)
    (tmp_path / "right-has-ended").mkdir()
    assert noted_ends(str(tmp_path), ["left", "right"], "query") == 0


@pytest.mark.parametrize(
    "offset",
    [
        {},
        [],
        None,
        {"pulse": "1", "ended": 0, "settling": "not now", "newest": []},
        {"pulse": 1, "ended": 0, "settling": "not now", "newest": [], "hot": 7},
    ],
)
def test_offsets_of_a_pacemaker_that_are_none(offset: Any, tmp_path: Path) -> None:
    reader = PulseReader(str(tmp_path), 1, ["left", "right"])
    with pytest.raises(StateCorrupted, match="offset"):
        reader.read(offset)
    with pytest.raises(StateCorrupted, match="offset"):
        reader.readBetweenOffsets({}, offset)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"batch": "1", "files": []}', '{"batch": 1, "files": ["../x"]}', "[" * 100_000, "NaN"]
)
def test_records_of_a_parquet_sink_that_are_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(content)
    with pytest.raises(SinkFailed, match=r"q\.json"):
        _read(pafs.LocalFileSystem(), str(tmp_path / "q.json"))
