"""Files and directories that only their owner can read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from sooner.runs.custody.private_files import create, make_directory

LOCAL = pafs.LocalFileSystem()


@pytest.fixture(autouse=True)
def everybody_may_everything() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, content: bytes) -> None:
    with create(LOCAL, str(path)) as file:
        file.write(content)


def test_a_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    write(tmp_path / "file", b"rows")
    assert (tmp_path / "file").read_bytes() == b"rows"
    assert mode(tmp_path / "file") == 0o600


def test_a_file_that_was_there_is_replaced_and_private_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a longer text")
    write(tmp_path / "file", b"rows")
    assert (tmp_path / "file").read_bytes() == b"rows"
    assert mode(tmp_path / "file") == 0o600


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "file", b"rows")
    assert (tmp_path / "victim").read_text() == "precious"


def test_directories_that_were_missing_are_private_and_others_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "of the user").mkdir(0o755)
    inner = tmp_path / "of the user" / "state" / "partition"
    for _ in range(2):
        make_directory(LOCAL, str(inner))
        assert [mode(path) for path in (inner, inner.parent, inner.parent.parent)] == [0o700, 0o700, 0o755]


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    for path in (tmp_path / "state", tmp_path / "state" / "partition"):
        with pytest.raises(OSError, match="state"):
            make_directory(LOCAL, str(path))


def test_other_filesystems_do_as_they_do(tmp_path: Path) -> None:
    other = pafs.SubTreeFileSystem(str(tmp_path), LOCAL)
    make_directory(other, "state/partition")
    with create(other, "state/partition/file") as file:
        file.write(b"rows")
    assert (tmp_path / "state" / "partition" / "file").read_bytes() == b"rows"


def test_where_no_directory_can_be_made_there_is_one_error() -> None:
    with pytest.raises(FileNotFoundError):
        make_directory(LOCAL, "/proc/nope/state")
