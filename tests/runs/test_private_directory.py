"""Directories that do not outlive their process: what is removed for the dead, and what is never touched."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from patience import HANG_SECONDS
from sooner.runs.custody.private_directory import LOCK, PrivateDirectory

ANOTHER_USER = 12345
HOLDER = """
import sys
from pathlib import Path
from sooner.runs.custody.private_directory import PrivateDirectory
directory = PrivateDirectory("staging", sys.argv[1])
Path(directory.path, "rows.arrows").write_text("rows")
print(directory.path.name, flush=True)
sys.stdin.read()
"""
COMES_AND_GOES = """
import sys
from pathlib import Path
from sooner.runs.custody.private_directory import PrivateDirectory
for _ in range(150):
    directory = PrivateDirectory("spill", sys.argv[1])
    file = directory.path / "rows.arrows"
    file.write_text("rows")
    PrivateDirectory("staging", sys.argv[1])
    assert file.read_text() == "rows"
    directory.remove()
"""
SIGNALLED_WHILE_IT_GOES = """
import os, signal, sys
from pathlib import Path
from sooner.runs.custody.private_directory import PrivateDirectory
owner, name = {"os": os, "Path": Path}[sys.argv[2]], sys.argv[3]
directory, really = PrivateDirectory("spill", sys.argv[1]), getattr(owner, name)
def signalled(*arguments, **others):
    setattr(owner, name, really)
    signal.raise_signal(signal.SIGTERM)
    return really(*arguments, **others)
setattr(owner, name, signalled)
directory.remove()
"""


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def sweep(folder: Path) -> None:
    """What the next one that is made there does."""
    PrivateDirectory("spill", folder).remove()


def abandoned(folder: Path, number: int = signal.SIGKILL) -> Path:
    """A directory whose process was killed."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    path = folder / holder.stdout.readline().strip()
    assert (path / "rows.arrows").exists()
    sweep(folder)
    assert (path / "rows.arrows").exists(), "its process lives"
    holder.send_signal(number)
    holder.communicate()
    assert holder.returncode == -number
    return path


@pytest.fixture(scope="module")
def of_a_dead_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As it was left; each test makes its own of it."""
    return abandoned(tmp_path_factory.mktemp("killed"))


def left_again(of_a_dead_process: Path, folder: Path) -> Path:
    path = folder / of_a_dead_process.name
    path.mkdir(0o700)
    for file in of_a_dead_process.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


def test_only_its_owner_can_look_into_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directory = PrivateDirectory("staging", tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory.path / LOCK).stat().st_mode) == 0o600


def test_staging_of_a_worker_that_is_hung_up_on_goes_at_once(tmp_path: Path) -> None:
    """That is how Spark's daemon ends its workers."""
    assert not abandoned(tmp_path, signal.SIGHUP).exists()


@pytest.mark.parametrize("place", ["Path.rename", "os.unlink", "os.close", "Path.rmdir"])
def test_a_signal_while_it_is_removed_ends_the_process_and_removes_it(place: str, tmp_path: Path) -> None:
    program = subprocess.run([sys.executable, "-c", SIGNALLED_WHILE_IT_GOES, str(tmp_path), *place.split(".")])
    assert program.returncode == -signal.SIGTERM
    assert names_in(tmp_path) == set()


def test_what_a_killed_process_left_is_removed(of_a_dead_process: Path, tmp_path: Path) -> None:
    left_again(of_a_dead_process, tmp_path)
    sweep(tmp_path)
    assert names_in(tmp_path) == set()


def test_what_was_left_halfway_is_removed(of_a_dead_process: Path, tmp_path: Path) -> None:
    path = left_again(of_a_dead_process, tmp_path)
    path.rename(path.with_name(path.name + "-going"))
    (tmp_path / "sooner-spill-empty000").mkdir()  # before it was locked, or after
    sweep(tmp_path)
    assert names_in(tmp_path) == set()


def test_names_that_only_look_like_ours_stay(of_a_dead_process: Path, tmp_path: Path) -> None:
    for name in ("sooner-spill-12345678-x", "sooner-other-12345678", "x-sooner-spill-12345678", "sooner-spill-1234567"):
        left_again(of_a_dead_process, tmp_path).rename(tmp_path / name)
    before = names_in(tmp_path)
    sweep(tmp_path)
    assert names_in(tmp_path) == before


def test_a_link_is_neither_followed_nor_removed(of_a_dead_process: Path, tmp_path: Path) -> None:
    victim = left_again(of_a_dead_process, tmp_path).rename(tmp_path / "victim")
    (tmp_path / of_a_dead_process.name).symlink_to(victim)
    sweep(tmp_path)
    assert names_in(tmp_path) == {"victim", of_a_dead_process.name}
    assert names_in(victim) == {LOCK, "rows.arrows"}


def test_a_link_inside_goes_and_what_it_leads_to_stays(of_a_dead_process: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("")
    (left_again(of_a_dead_process, tmp_path) / "link").symlink_to(victim)
    sweep(tmp_path)
    assert names_in(tmp_path) == {"victim"}
    assert names_in(victim) == {"precious"}


def test_directories_that_somebody_made_inside_stay(of_a_dead_process: Path, tmp_path: Path) -> None:
    path = left_again(of_a_dead_process, tmp_path)
    (path / "notes").mkdir()
    sweep(tmp_path)
    assert [names_in(folder) for folder in tmp_path.iterdir()] == [{LOCK, "notes"}]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_stays(of_a_dead_process: Path, tmp_path: Path) -> None:
    path = left_again(of_a_dead_process, tmp_path)
    os.chown(path, ANOTHER_USER, ANOTHER_USER)
    sweep(tmp_path)
    assert names_in(path) == {LOCK, "rows.arrows"}


def test_what_another_machine_left_on_a_shared_filesystem_stays(of_a_dead_process: Path, tmp_path: Path) -> None:
    path = left_again(of_a_dead_process, tmp_path)
    boot, host = (path / LOCK).read_text().split("\n")
    (path / LOCK).write_text("another boot\nanother host")
    sweep(tmp_path)
    assert path.exists()
    (path / LOCK).write_text(f"another boot\n{host}")  # this one, before it was started anew
    sweep(tmp_path)
    assert not path.exists()
    assert boot != host


def test_many_that_come_and_go_do_not_take_each_other_for_dead(tmp_path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", COMES_AND_GOES, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(HANG_SECONDS) for process in processes] == [0, 0, 0]
    assert names_in(tmp_path) == set()
