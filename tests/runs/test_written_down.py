"""Resident runs that were written down come back as they were, from the copy or from the file."""

from pathlib import Path

import pyarrow.fs as pafs
import pytest

from run_building import ROWS, content, files_in, run_of
from sooner.errors import StateCorrupted
from sooner.runs.copies import NodeCopies
from sooner.runs.files import RunFiles
from sooner.runs.run import Run
from sooner.runs.written_down import MappedRuns, RewrittenRuns

PLENTY = 2**20
ONE_BLOCK = 2**62


def mapped_in(folder: Path, limit_bytes: int = PLENTY) -> MappedRuns:
    """As another process would make it."""
    state = folder / "state"
    state.mkdir(exist_ok=True)
    files = RunFiles(
        pafs.LocalFileSystem(), str(state), ROWS, ONE_BLOCK, rows="resident", removal="by the owner", prefix="7-"
    )
    return MappedRuns(files, NodeCopies(folder / "copies", limit_bytes))


def some_runs(n_runs: int = 3) -> list[Run]:
    return [run_of(range(number, 600 + number), arrived=number + 1) for number in range(n_runs)]


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("copied", [True, False])
def test_a_run_comes_back_from_its_copy_or_else_from_its_file(copied: bool, tmp_path: Path) -> None:
    runs, first = some_runs(), mapped_in(tmp_path)
    places = first.save(runs)
    if copied:
        first.copy()
        for path in files_of(tmp_path / "state"):
            path.unlink()
    later = mapped_in(tmp_path)
    for run, place in zip(runs, places, strict=True):
        back = later.load(place.to_plain())
        assert content(back) == content(run)
        assert (back.directory is None) == (run.directory is None)
        assert back.directory is None or (back.directory.starts == run.directory.starts).all()  # type: ignore[union-attr]


def test_a_run_is_written_once(tmp_path: Path) -> None:
    runs, written = some_runs(), mapped_in(tmp_path)
    places = written.save(runs[:2])
    assert len(files_of(tmp_path / "state")) == 1
    assert written.save(runs)[:2] == places
    assert len(files_of(tmp_path / "state")) == 2
    later = mapped_in(tmp_path)
    loaded = [later.load(place.to_plain()) for place in places]
    assert later.save(loaded) == places
    assert len(files_of(tmp_path / "state")) == 2


def test_a_copy_that_is_gone_is_made_again(tmp_path: Path) -> None:
    first = mapped_in(tmp_path)
    [place] = first.save(some_runs(1))
    later = mapped_in(tmp_path)
    later.save([later.load(place.to_plain())])
    later.copy()
    assert {path.name for path in files_of(tmp_path / "copies")} == later.copy_names
    for path in files_of(tmp_path / "state"):
        path.unlink()
    assert content(mapped_in(tmp_path).load(place.to_plain())) == content(some_runs(1)[0])


def test_only_runs_that_are_still_there_are_copied(tmp_path: Path) -> None:
    written, runs = mapped_in(tmp_path), some_runs(2)
    places = written.save(runs)
    later = mapped_in(tmp_path)
    kept, _ = (later.load(place.to_plain()) for place in places)
    later.save([kept])
    later.copy()
    assert {path.name for path in files_of(tmp_path / "copies")} == later.copy_names
    assert len(later.copy_names) == 1


def test_without_room_for_copies_files_do(tmp_path: Path) -> None:
    runs, first = some_runs(), mapped_in(tmp_path, limit_bytes=0)
    places = first.save(runs)
    first.copy()
    assert files_of(tmp_path / "copies") == []
    later = mapped_in(tmp_path, limit_bytes=0)
    assert [content(later.load(place.to_plain())) for place in places] == list(map(content, runs))


def test_a_damaged_file_is_found_when_there_is_no_copy(tmp_path: Path) -> None:
    [place] = mapped_in(tmp_path).save(some_runs(1))
    [path] = files_of(tmp_path / "state")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(StateCorrupted, match=path.name):
        mapped_in(tmp_path).load(place.to_plain())


def test_rewritten_runs_come_back_and_their_files_go(tmp_path: Path) -> None:
    runs, written = some_runs(), RewrittenRuns(files_in(tmp_path))
    places = written.save(runs)
    assert len(files_of(tmp_path)) == len(runs)
    assert [content(written.load(place.to_plain())) for place in places] == list(map(content, runs))
    assert files_of(tmp_path) == []
