"""Small files that are put in place whole."""

from pathlib import Path

import pyarrow.fs as pafs
import pytest

from sooner.runs.custody.whole_files import put


def test_a_file_takes_the_place_of_the_one_before_and_leaves_no_other(tmp_path: Path) -> None:
    for content in (b"a long one", b"short"):
        put(pafs.LocalFileSystem(), str(tmp_path / "file"), content)
        assert (tmp_path / "file").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_moved_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        put(pafs.LocalFileSystem(), str(tmp_path / "file"), b"content")
    assert (tmp_path / "file").is_dir()
