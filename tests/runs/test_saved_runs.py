"""Resident runs that were written down come back as they were, from the copy or from the file."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.fs as pafs
import pytest

from run_building import ROWS, content, files_in, run_of
from sooner.errors import StateCorrupted
from sooner.runs.custody.shared_memory import open_shared_memory
from sooner.runs.formats.files import RunFiles
from sooner.runs.formats.mapped_runs import MappedRuns
from sooner.runs.formats.saved_runs import RewrittenRuns, SavedRuns
from sooner.runs.run import Run

PLENTY = 2**20
ONE_BLOCK = 2**62


def mapped_in(folder: Path, limit_bytes: int = PLENTY) -> MappedRuns:
    """As another process would make it."""
    state = folder / "state"
    state.mkdir(exist_ok=True)
    files = RunFiles(
        pafs.LocalFileSystem(), str(state), ROWS, ONE_BLOCK, rows="resident", removal="by the owner", prefix="7-"
    )
    return MappedRuns(files, open_shared_memory("the state", 0, limit_bytes, folder / "copies"))


def some_runs(n_runs: int = 3) -> list[Run]:
    return [run_of(range(number, 600 + number), arrived=number + 1) for number in range(n_runs)]


def copies_in(folder: Path) -> dict[str, Path]:
    return {path.name.removesuffix(".copy"): path for path in sorted(folder.glob("copies/*/*/0/*"))}


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
        back = later.load(place)
        assert content(back) == content(run)


def test_a_run_is_written_once(tmp_path: Path) -> None:
    runs, written = some_runs(), mapped_in(tmp_path)
    places = written.save(runs[:2])
    assert len(files_of(tmp_path / "state")) == 1
    assert written.save(runs)[:2] == places
    assert len(files_of(tmp_path / "state")) == 2
    later = mapped_in(tmp_path)
    loaded = [later.load(place) for place in places]
    assert later.save(loaded) == places
    assert len(files_of(tmp_path / "state")) == 2


def test_a_copy_that_is_gone_is_made_again(tmp_path: Path) -> None:
    first = mapped_in(tmp_path)
    [place] = first.save(some_runs(1))
    later = mapped_in(tmp_path)
    later.save([later.load(place)])
    later.copy()
    assert copies_in(tmp_path).keys() == later.copy_names
    for path in files_of(tmp_path / "state"):
        path.unlink()
    assert content(mapped_in(tmp_path).load(place)) == content(some_runs(1)[0])


def test_only_runs_that_are_still_there_are_copied(tmp_path: Path) -> None:
    written, runs = mapped_in(tmp_path), some_runs(2)
    places = written.save(runs)
    later = mapped_in(tmp_path)
    kept, _ = (later.load(place) for place in places)
    later.save([kept])
    later.copy()
    assert copies_in(tmp_path).keys() == later.copy_names
    assert len(later.copy_names) == 1


def test_without_room_for_copies_files_do(tmp_path: Path) -> None:
    runs, first = some_runs(), mapped_in(tmp_path, limit_bytes=0)
    places = first.save(runs)
    first.copy()
    assert copies_in(tmp_path) == {}
    later = mapped_in(tmp_path, limit_bytes=0)
    assert [content(later.load(place)) for place in places] == list(map(content, runs))


def flipped_at(position: int) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        damaged = bytearray(content)
        damaged[position] ^= 1
        return bytes(damaged)

    return flip


FORGERIES: dict[str, Callable[[bytes], bytes]] = {
    "a row": flipped_at(600),
    "the last row": flipped_at(-12),
    "the last byte": flipped_at(-1),
    "cut": lambda content: content[:-4],
    "cut within the rows": lambda content: content[:100],
    "longer": lambda content: content + b"1234",
    "empty": lambda _: b"",
    "all of it": lambda content: b"x" * len(content),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_copy_is_not_used_and_replaced(forge: Callable[[bytes], bytes], tmp_path: Path) -> None:
    [run], first = some_runs(1), mapped_in(tmp_path)
    [place] = first.save([run])
    first.copy()
    [copy] = copies_in(tmp_path).values()
    intact = copy.read_bytes()
    assert len(intact) == place["blocks"][0][1]
    copy.write_bytes(forge(intact))
    later = mapped_in(tmp_path)
    back = later.load(place)
    assert content(back) == content(run)
    later.copy()
    assert copy.read_bytes() == intact


def test_the_copy_of_another_run_is_not_used(tmp_path: Path) -> None:
    runs, first = [run_of(range(1000)), run_of(range(0, 2000, 2))], mapped_in(tmp_path)
    places = first.save(runs)
    first.copy()
    paths = [copies_in(tmp_path)[f"{place['file']}.{place['blocks'][0][0]}"] for place in places]
    one, other = (path.read_bytes() for path in paths)
    assert len(one) == len(other)
    paths[0].write_bytes(other)
    back = mapped_in(tmp_path).load(places[0])
    assert content(back) == content(runs[0])
    assert not paths[0].exists()


def test_a_damaged_file_is_found_when_there_is_no_copy(tmp_path: Path) -> None:
    [place] = mapped_in(tmp_path).save(some_runs(1))
    [path] = files_of(tmp_path / "state")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(StateCorrupted, match=path.name):
        mapped_in(tmp_path).load(place)


def test_rewritten_runs_come_back_and_their_files_go(tmp_path: Path) -> None:
    runs, written = some_runs(), RewrittenRuns(files_in(tmp_path))
    places = written.save(runs)
    assert len(files_of(tmp_path)) == len(runs)
    assert [content(written.load(place)) for place in places] == list(map(content, runs))
    assert files_of(tmp_path) == []


@pytest.mark.parametrize("kind", ["mapped", "rewritten"])
def test_which_rows_have_a_match_comes_back_too_also_when_it_is_news(kind: str, tmp_path: Path) -> None:
    def saved_runs() -> SavedRuns:
        return mapped_in(tmp_path) if kind == "mapped" else RewrittenRuns(files_in(tmp_path))

    [run] = some_runs(1)
    run = run.followed()
    places = saved_runs().save([run])
    for matched in ([], [3], [3, 4, 599]):
        later = saved_runs()
        [run] = [later.load(place, followed=True) for place in places]
        assert run.matched is not None
        run.matched[matched] = True
        places = json.loads(json.dumps(later.save([run])))
        assert content(run) == content(some_runs(1)[0])
    assert np.flatnonzero(saved_runs().load(places[0], followed=True).matched).tolist() == [3, 4, 599]
    assert kind == "rewritten" or len(files_of(tmp_path / "state")) == 1, "rows are written once, whatever they match"
