"""Copies in shared memory: a cache that keeps its limit, cleans up after the dead, and fails silently."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sooner.runs.copies import PAGE_BYTES, NodeCopies, copies_directory, remove_copies

PLENTY = 2**20


def test_what_was_put_is_got_in_one_piece(tmp_path: Path) -> None:
    copies = NodeCopies(tmp_path / "not there yet", PLENTY)
    copies.put("a", (b"one", memoryview(b"two"), b""))
    found = copies.get("a")
    assert found is not None
    assert found.to_pybytes() == b"onetwo"
    assert copies.get("b") is None
    assert [path.name for path in (tmp_path / "not there yet").iterdir()] == ["a"]


def test_a_copy_that_is_mapped_outlives_its_file(tmp_path: Path) -> None:
    copies = NodeCopies(tmp_path, PLENTY)
    copies.put("a", (b"x" * 10_000,))
    found = copies.get("a")
    copies.keep_only([])
    assert found is not None
    assert found.to_pybytes() == b"x" * 10_000
    assert copies.get("a") is None


def test_copies_never_take_more_than_the_limit_in_whole_pages(tmp_path: Path) -> None:
    copies = NodeCopies(tmp_path, 3 * PAGE_BYTES)
    for name in "abcde":
        copies.put(name, (b"tiny",))
    assert copies.used_bytes == 3 * PAGE_BYTES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    copies.put("large", (b"x" * (3 * PAGE_BYTES + 1),))
    assert copies.get("large") is None


def test_another_process_counts_what_is_there_already(tmp_path: Path) -> None:
    NodeCopies(tmp_path, PLENTY).put("a", (b"x" * PAGE_BYTES,))
    later = NodeCopies(tmp_path, PAGE_BYTES)
    later.put("b", (b"y",))
    assert later.get("b") is None


def test_letting_go_makes_room(tmp_path: Path) -> None:
    copies = NodeCopies(tmp_path, 2 * PAGE_BYTES)
    for name in "ab":
        copies.put(name, (b"x",))
    (tmp_path / ".c.123").write_text("what a killed process left")
    copies.keep_only(["b"])
    assert copies.used_bytes == PAGE_BYTES
    copies.put("c", (b"y",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "c"]


def test_a_directory_that_cannot_be_made_costs_the_copy_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    copies = NodeCopies(tmp_path / "file" / "below", PLENTY)
    copies.put("a", (b"x",))
    copies.keep_only(["a"])
    assert copies.get("a") is None
    assert copies.used_bytes == 0


def test_a_copy_that_goes_while_it_is_counted_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another attempt may free copies at any time."""
    copies = NodeCopies(tmp_path, PLENTY)
    for name in "ab":
        copies.put(name, (b"x",))
    listed = copies._files()
    (tmp_path / "a").unlink()
    later = NodeCopies(tmp_path, PLENTY)
    monkeypatch.setattr(later, "_files", lambda: listed)
    assert later.used_bytes == PAGE_BYTES
    later.keep_only([])
    assert list(tmp_path.iterdir()) == []


# Directories


def test_a_directory_is_named_by_the_process_that_outlives_the_workers(tmp_path: Path) -> None:
    directory = copies_directory("/state", 3, tmp_path)
    owner = directory.parent.parent
    assert owner.parent == tmp_path
    assert owner.name.startswith(f"sooner-{os.getuid()}-{os.getppid()}-")
    assert directory.name == "3"
    assert copies_directory("/state", 3, tmp_path) == directory
    assert copies_directory("/other", 3, tmp_path).parent != directory.parent


def test_directories_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    user, alive = os.getuid(), copies_directory("/state", 0, tmp_path)
    alive.mkdir(parents=True)
    reused = tmp_path / f"sooner-{user}-{os.getpid()}-1"  # the number is in use again, by a process that began later
    orphan, foreign = tmp_path / f"sooner-{user}-{gone.pid}-12345", tmp_path / f"sooner-{user + 1}-{gone.pid}-12345"
    for directory in (reused, orphan, foreign, tmp_path / "other things"):
        (directory / "x").mkdir(parents=True)
    copies_directory("/state", 0, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {alive.parent.parent.name, foreign.name, "other things"}


def test_the_copies_of_a_state_can_be_freed_wherever_they_are(tmp_path: Path) -> None:
    mine, other = copies_directory("/state", 0, tmp_path), copies_directory("/other", 0, tmp_path)
    for directory in (mine, other):
        directory.mkdir(parents=True)
    remove_copies("/state", tmp_path)
    assert not mine.exists()
    assert other.exists()
    remove_copies("/state", tmp_path / "nowhere")
