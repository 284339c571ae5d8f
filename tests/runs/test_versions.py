"""Versions of a state: put in place whole, kept as long as anyone can need them, and never believed when damaged."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from sooner.errors import SpillFailed, StateCorrupted
from sooner.runs.formats.versions import FORMAT, Header, MissingVersion, Versions, _sealed, version_prefix

IDENTITY = {"query": "q", "keys": [["k"], ["k"]]}


def versions_in(folder: Path) -> Versions:
    return Versions(pafs.LocalFileSystem(), str(folder))


def header(version: int, **summary: Any) -> Header:
    return Header(version, IDENTITY, {"covered": 0.1 + 0.2, "name": "Übermut", **summary})


def manifest(folder: Path, version: int) -> Path:
    return folder / f"{version:012}.json"


def run_file(folder: Path, version: int, name: str) -> str:
    path = folder / f"{version_prefix(version)}{name}.arrows"
    path.write_text("rows")
    return path.name


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# In place


def test_what_was_published_is_loaded(tmp_path: Path) -> None:
    versions, state = versions_in(tmp_path), {"rows": [1, 2], "text": "line\nline", "float": 1 / 3}
    versions.publish(header(7), state)
    assert versions.load(7) == (header(7), state)
    assert versions.header(7) == header(7)
    assert versions.published() == [7]


def test_a_header_longer_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    long = header(1, partitions=list(range(50_000)))
    versions.publish(long, {})
    assert versions.header(1) == long


def test_what_is_torn_between_two_attempts_is_read_anew(tmp_path: Path) -> None:
    """As on an object store, where to read takes several requests."""
    contents = []
    for attempt in ("first", "second"):
        versions_in(tmp_path).publish(header(4), {"attempt": attempt})
        contents.append(manifest(tmp_path, 4).read_bytes())
    torn = contents[0].partition(b"\n")[0] + b"\n" + contents[1].partition(b"\n")[2]
    given = iter([torn, contents[1], b"\n", contents[0]])
    store = SimpleNamespace(open_input_stream=lambda _: pa.BufferReader(next(given)))
    versions = Versions(cast(pafs.FileSystem, store), str(tmp_path))
    assert versions.load(4)[1] == {"attempt": "second"}
    assert versions.header(4) == header(4)
    assert next(given, None) is None


def test_the_last_of_several_attempts_is_in_place(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    for attempt in range(3):
        versions.publish(header(4), {"attempt": attempt})
    assert versions.load(4)[1] == {"attempt": 2}
    assert names_in(tmp_path) == {"000000000004.json"}


def test_an_attempt_that_comes_after_the_next_version_changes_nothing(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    versions.publish(header(4), {"attempt": "in time"})
    versions.publish(header(5), {})
    needed = run_file(tmp_path, 1, "needed")
    versions.publish(header(4), {"attempt": "late"})
    versions.sweep(4, 3, {})
    assert versions.load(4)[1] == {"attempt": "in time"}
    assert needed in names_in(tmp_path)


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    versions = versions_in(tmp_path / "nowhere")
    assert versions.published() == []
    assert versions.header(3) is None
    with pytest.raises(MissingVersion, match=r"Version 3 .*nowhere"):
        versions.load(3)


def test_other_files_are_no_versions(tmp_path: Path) -> None:
    for name in ("notes.json", "000000000001.json.crc", f"{version_prefix(2)}abc.unfinished", "3.json"):
        (tmp_path / name).write_text("{}")
    assert versions_in(tmp_path).published() == []


def test_a_directory_that_is_gone_is_reported_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(SpillFailed, match="nowhere"):
        versions_in(tmp_path / "nowhere").publish(header(1), {})


# Sweeping


def test_a_sweep_leaves_this_version_its_parent_and_what_the_parent_names(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    named, unnamed = run_file(tmp_path, 1, "named"), run_file(tmp_path, 1, "unnamed")
    of_a_twin_of_the_parent, mine = run_file(tmp_path, 6, "twin"), run_file(tmp_path, 7, "mine")
    (tmp_path / f"{version_prefix(3)}x.unfinished").write_text("")
    (tmp_path / "a file of somebody else").write_text("")
    for version in (5, 6, 7):
        versions.publish(header(version), {})
    versions.sweep(7, 6, {"runs": [{"file": named}]})
    assert versions.published() == [6, 7]
    assert names_in(tmp_path) - {manifest(tmp_path, 6).name, manifest(tmp_path, 7).name} == {
        named,
        of_a_twin_of_the_parent,
        mine,
        "a file of somebody else",
    }
    assert unnamed not in names_in(tmp_path)


def test_a_sweep_leaves_what_another_attempt_at_the_parent_names(tmp_path: Path) -> None:
    """Its manifest came after this attempt had read that of the first; who runs this version again will read it."""
    versions = versions_in(tmp_path)
    first, second = run_file(tmp_path, 1, "first"), run_file(tmp_path, 1, "second")
    versions.publish(header(6), {"runs": [{"file": second}]})
    versions.publish(header(7), {})
    versions.sweep(7, 6, {"runs": [{"file": first}]})
    assert {first, second} <= names_in(tmp_path)
    versions.publish(header(8), {})
    versions.sweep(8, 7, {"runs": [{"file": second}]})
    assert first not in names_in(tmp_path)
    assert second in names_in(tmp_path)


# Damage


def test_a_flipped_bit_anywhere_in_a_manifest_is_found(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    versions.publish(header(3), {"rows": list(range(20))})
    path = manifest(tmp_path, 3)
    intact = path.read_bytes()
    for position in range(len(intact) - 1):  # the end of the last line carries nothing
        damaged = bytearray(intact)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(StateCorrupted, match=str(path)):
            versions.load(3)
    path.write_bytes(intact)
    assert versions.load(3)[0] == header(3)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_a_manifest_that_was_cut_short_is_found(kept: float, tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    versions.publish(header(3), {"rows": list(range(200))})
    path = manifest(tmp_path, 3)
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(StateCorrupted, match=str(path)):
        versions.load(3)


@pytest.mark.parametrize("line", [b"[]", b"3", b"null", b"{}", b'"text"', b"\xff\xfe"])
def test_a_first_line_that_is_no_header_is_damage(line: bytes, tmp_path: Path) -> None:
    manifest(tmp_path, 3).write_bytes(line + b"\n{}\n")
    with pytest.raises(StateCorrupted, match="damaged"):
        versions_in(tmp_path).header(3)


def test_a_manifest_under_the_name_of_another_version_is_found(tmp_path: Path) -> None:
    versions = versions_in(tmp_path)
    versions.publish(header(3), {})
    manifest(tmp_path, 3).rename(manifest(tmp_path, 4))
    with pytest.raises(StateCorrupted, match=r"000000000004\.json"):
        versions.load(4)


@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_a_format_of_another_release_is_refused_with_both_numbers(tmp_path: Path, other: int) -> None:
    versions = versions_in(tmp_path)
    versions.publish(header(3), {})
    path = manifest(tmp_path, 3)
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(_sealed(json.dumps(json.loads(first[17:]) | {"format": other}).encode()) + b"\n" + rest)
    with pytest.raises(
        StateCorrupted, match=f"format {other}, and this release reads format {FORMAT}.*another checkpoint"
    ):
        versions.load(3)
