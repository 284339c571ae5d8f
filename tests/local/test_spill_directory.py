"""Spill directories: private, and gone however a query ends."""

import gc
import stat
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest

import sooner
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
    assert list(directory.iterdir())
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
