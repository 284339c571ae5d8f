"""Spill directories: private, and gone however a query ends."""

import gc
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import sooner
import spilling_program
from patience import HANG_SECONDS
from queries import gated, join_rows, numbered, refused, soon, wait_for
from sooner.errors import InvalidJoin, SourceFailed

LEFT, RIGHT = numbered(3000, name="a", seed=1), numbered(3000, name="b", seed=2)


def spilling(spill_dir: str | Path, left: object = LEFT) -> sooner.Query:
    return sooner.join(left, RIGHT, on="k", memory="64KB", spill_dir=spill_dir)


def test_rows_are_spilled_to_a_directory_that_only_the_user_can_read(tmp_path: Path) -> None:
    query = spilling(tmp_path)
    soon(lambda: next(batch for batch in query if query.progress.spilled_rows))
    [directory] = tmp_path.iterdir()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    files = list(directory.glob("*.arrows"))
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in directory.iterdir()} == {0o600}
    query.stop()


def test_without_a_directory_rows_go_where_temporary_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    query = sooner.join(LEFT, RIGHT, on="k", memory="64KB")
    assert len(list(tmp_path.iterdir())) == 1
    query.stop()
    assert list(tmp_path.iterdir()) == []


def test_home_and_parent_in_spill_dir_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spill").mkdir()
    (tmp_path / "elsewhere" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "below")
    monkeypatch.setenv("HOME", str(tmp_path))
    for spill_dir, directory in (("~/spill/../spill", "spill"), ("~/link/..", "elsewhere")):
        query = spilling(spill_dir)
        assert len(list((tmp_path / directory).glob("sooner-*"))) == 1
        assert join_rows(query)
        assert list((tmp_path / directory).glob("sooner-*")) == []


def test_nothing_is_left_after_the_end(tmp_path: Path) -> None:
    join_rows(spilling(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_a_stop(tmp_path: Path) -> None:
    query = spilling(tmp_path)
    soon(lambda: next(iter(query)))
    query.stop()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("the cable is cut")

    with refused(SourceFailed, "the cable is cut"):
        join_rows(spilling(tmp_path, gated(LEFT, fail)))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_query_that_nobody_reads(tmp_path: Path) -> None:
    query = spilling(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    del query
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_query_that_is_dropped_midway(tmp_path: Path) -> None:
    gate = threading.Event()
    query = spilling(tmp_path, gated(LEFT, wait_for(gate)))
    batches = iter(query)
    soon(partial(next, batches))
    assert len(list(tmp_path.iterdir())) == 1
    del query, batches
    gc.collect()
    gate.set()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_join_leaves_nothing_either(tmp_path: Path) -> None:
    with refused(InvalidJoin):
        sooner.join(LEFT, RIGHT, on="nothing", spill_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["a file", "nowhere"])
def test_a_directory_that_cannot_take_files_is_refused_before_data_is_read(where: str, tmp_path: Path) -> None:
    path = tmp_path / "spill"
    if where == "a file":
        path.write_text("")
    with refused(InvalidJoin, "spill_dir", str(path)):
        sooner.join(LEFT, RIGHT, on="k", spill_dir=path)


# Processes that end before their queries do


@contextmanager
def spilling_process(spill_dir: Path, what: str = "", ignoring: int | None = None) -> Iterator["subprocess.Popen[str]"]:
    """A program whose query has rows on disk, and waits."""
    ignore = None if ignoring is None else partial(signal.signal, ignoring, signal.SIG_IGN)  # as `nohup` does
    process = subprocess.Popen(
        [sys.executable, spilling_program.__file__, str(spill_dir), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ignore,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "spilled\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def directories_in(spill_dir: Path) -> set[str]:
    return {path.name for path in spill_dir.iterdir()}


def test_sigkill_leaves_a_directory_that_the_next_query_there_removes(tmp_path: Path) -> None:
    with spilling_process(tmp_path) as killed, spilling_process(tmp_path) as alive:
        assert len(directories_in(tmp_path)) == 2
        killed.kill()
        killed.wait()
        assert len(directories_in(tmp_path)) == 2
        query = spilling(tmp_path)
        assert len(directories_in(tmp_path)) == 2
        query.stop()
        assert len(directories_in(tmp_path)) == 1
        said, _ = alive.communicate("go on\n")
        assert said.splitlines() == ["read on to the end: True", "left: []"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_remove_the_directory_at_once_and_end_the_process_as_ever(
    number: signal.Signals, tmp_path: Path
) -> None:
    with spilling_process(tmp_path) as process:
        process.send_signal(number)
        assert process.wait(HANG_SECONDS) == -number
        assert directories_in(tmp_path) == set()


def test_a_handler_of_the_program_is_left_alone(tmp_path: Path) -> None:
    with spilling_process(tmp_path, "handles signals") as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "noted\n"
        assert len(directories_in(tmp_path)) == 1
        said, _ = process.communicate("go on\n")
        assert said.splitlines() == ["read on to the end: True", "left: []"]
        assert process.returncode == 0


def test_sighup_is_ignored_under_nohup(tmp_path: Path) -> None:
    with spilling_process(tmp_path, ignoring=signal.SIGHUP) as process:
        process.send_signal(signal.SIGHUP)
        said, _ = process.communicate("go on\n")
        assert said.splitlines() == ["read on to the end: True", "left: []"]
        assert process.returncode == 0


def test_a_query_in_another_thread_leaves_the_signals_to_the_program(tmp_path: Path) -> None:
    """Only the main thread may handle them; the next query tidies up."""
    with spilling_process(tmp_path, "joins in a thread") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_SECONDS) == -signal.SIGTERM
    spilling(tmp_path).stop()
    assert directories_in(tmp_path) == set()


def test_signals_are_as_they_were_when_no_query_needs_them(tmp_path: Path) -> None:
    spilling(tmp_path).stop()  # a query that ended in another thread could not leave them; the next one does
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    queries = [spilling(tmp_path) for _ in range(2)]
    for query in queries:
        assert signal.getsignal(signal.SIGTERM) != before[0]
        query.stop()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before


def test_forked_children_leave_the_files_of_their_parent_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, spilling_program.__file__, str(tmp_path), "forks"],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    left, right = (Counter(table["k"].to_pylist()) for table in (spilling_program.LEFT, spilling_program.RIGHT))
    n_rows = sum(count * right[key] for key, count in left.items())
    assert done.stdout.splitlines() == [f"{spilling_program.CHILDREN} children, {n_rows} rows", "left: []"]
