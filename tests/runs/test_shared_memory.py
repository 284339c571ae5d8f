"""Copies in shared memory: a cache that keeps its limit, and fails silently."""

import subprocess
import sys
from pathlib import Path

import pytest

from sooner.runs.custody.shared_memory import PAGE_BYTES, Parts, SharedMemory, open_shared_memory
from sooner.runs.custody.shared_memory_directory import NOWHERE

PLENTY = 2**20
FILLER = """
import os, sys
from pathlib import Path
from sooner.runs.custody.shared_memory import PAGE_BYTES, open_shared_memory
for number in range(120):
    copies = open_shared_memory("/state", 0, 8 * PAGE_BYTES, Path(sys.argv[1]))
    copies.keep_only([])
    copies.put((f"{os.getpid()}-{number}-{i}", (b"x" * PAGE_BYTES,)) for i in range(8))
    assert copies.used_bytes <= 8 * PAGE_BYTES
"""


def copies_in(root: Path, limit_bytes: int = PLENTY, partition: int = 0) -> SharedMemory:
    """As another process of this user would open them."""
    return open_shared_memory("/state", partition, limit_bytes, root)


def put(copies: SharedMemory, name: str, *parts: bytes) -> None:
    copies.put([(name, parts)])


def files_in(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("*/*/0/*"))


def test_what_was_put_is_got_in_one_piece(tmp_path: Path) -> None:
    copies = copies_in(tmp_path / "not there yet")
    parts: Parts = (b"one", memoryview(b"two"), b"")
    copies.put([("a", parts)])
    found = copies.get("a")
    assert found is not None
    assert found.to_pybytes() == b"onetwo"
    assert copies.get("b") is None
    assert files_in(tmp_path / "not there yet") == ["a.copy"]


def test_a_copy_that_is_mapped_outlives_its_file(tmp_path: Path) -> None:
    copies = copies_in(tmp_path)
    put(copies, "a", b"x" * 10_000)
    found = copies.get("a")
    copies.keep_only([])
    del copies
    assert found is not None
    assert found.to_pybytes() == b"x" * 10_000
    assert copies_in(tmp_path).get("a") is None


def test_copies_never_take_more_than_the_limit_in_whole_pages(tmp_path: Path) -> None:
    copies = copies_in(tmp_path, 3 * PAGE_BYTES)
    copies.put((name, (b"tiny",)) for name in "abcde")
    assert copies.used_bytes == 3 * PAGE_BYTES
    assert files_in(tmp_path) == ["a.copy", "b.copy", "c.copy"]
    put(copies, "large", b"x" * (3 * PAGE_BYTES + 1))
    assert copies.get("large") is None


def test_another_process_counts_what_is_there_already(tmp_path: Path) -> None:
    put(copies_in(tmp_path), "a", b"x" * PAGE_BYTES)
    later = copies_in(tmp_path, PAGE_BYTES)
    put(later, "b", b"y")
    assert later.get("b") is None
    assert later.get("a") is not None


def test_processes_that_put_copies_at_the_same_time_keep_one_limit_together(tmp_path: Path) -> None:
    """As executors on one node do, when attempts of a task run on several of them."""
    fillers = [subprocess.Popen([sys.executable, "-c", FILLER, str(tmp_path)]) for _ in range(3)]
    most_bytes = 0
    while any(filler.poll() is None for filler in fillers):
        most_bytes = max(most_bytes, copies_in(tmp_path).used_bytes)
    assert [filler.returncode for filler in fillers] == [0, 0, 0]
    assert 0 < most_bytes <= 8 * PAGE_BYTES


def test_letting_go_makes_room(tmp_path: Path) -> None:
    copies = copies_in(tmp_path, 2 * PAGE_BYTES)
    copies.put((name, (b"x",)) for name in "ab")
    [directory] = tmp_path.glob("*/*/0")
    (directory / "c.copy.unfinished").write_text("what a killed process left")
    (directory / "something else").write_text("")
    copies.keep_only(["b"])
    assert copies.used_bytes == PAGE_BYTES
    put(copies, "c", b"y")
    assert files_in(tmp_path) == ["b.copy", "c.copy", "something else"]
    copies.forget("b")
    assert copies.get("b") is None


def test_a_directory_that_cannot_be_made_costs_the_copy_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for copies in (copies_in(tmp_path / "file" / "below"), SharedMemory(NOWHERE, PLENTY)):
        put(copies, "a", b"x")
        copies.keep_only(["a"])
        copies.forget("a")
        assert copies.get("a") is None
        assert copies.used_bytes == 0
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_in_the_place_of_a_copy_is_not_followed(tmp_path: Path) -> None:
    copies = copies_in(tmp_path / "root")
    put(copies, "a", b"x")
    [directory] = (tmp_path / "root").glob("*/*/0")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("b.copy", "c.copy.unfinished"):
        (directory / name).symlink_to(victim)
    assert copies.get("b") is None
    put(copies, "c", b"y")
    assert copies.get("c") is None
    copies.keep_only([])
    assert victim.read_text() == "precious"


def test_a_copy_that_goes_while_it_is_counted_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another attempt may free copies at any time."""
    copies = copies_in(tmp_path)
    copies.put((name, (b"x",)) for name in "ab")
    later = copies_in(tmp_path)
    listed = later._files()
    copies.forget("a")
    monkeypatch.setattr(later, "_files", lambda: listed)
    assert later.used_bytes == PAGE_BYTES
    later.keep_only([])
    assert files_in(tmp_path) == []
