"""Where copies lie: nobody else can read, forge or redirect them, and none outlives those who use it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sooner.runs.custody.shared_memory import open_shared_memory
from sooner.runs.custody.shared_memory_directory import FORGOTTEN_SECONDS, OWNERS, remove_copies

PLENTY = 2**20
ANOTHER_USER = 12345
only_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
STEP = """
import sys
from pathlib import Path
from sooner.runs.custody.shared_memory import open_shared_memory
open_shared_memory("/state", int(sys.argv[2]), 2**20, Path(sys.argv[1])).put([(f"of-{sys.argv[2]}", (b"rows",))])
"""
DAEMON = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {STEP!r}, *sys.argv[1:]], check=True)
print("done", flush=True)
sys.stdin.read()
"""


def put_a_copy(root: Path, state: str = "/state", name: str = "a") -> None:
    open_shared_memory(state, 0, PLENTY, root).put([(name, (b"rows",))])


def copies_under(root: Path) -> set[str]:
    return {path.name for path in root.glob("*/*/*/*.copy")}


def home_in(root: Path) -> Path:
    [home] = root.glob(f"sooner-copies-{os.getuid()}-*")
    return home


def everything_in(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


@contextmanager
def executor(root: Path, partition: int) -> Iterator["subprocess.Popen[str]"]:
    """A process that outlives its worker, which has put a copy."""
    daemon = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(root), str(partition)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "done\n"
        yield daemon
    finally:
        daemon.kill()
        daemon.communicate()


# Shared by all executors, as long as one lives


def test_executors_of_a_node_share_copies_which_go_with_the_last_of_them(tmp_path: Path) -> None:
    with executor(tmp_path, 1) as first, executor(tmp_path, 2) as second:
        home_in(tmp_path)
        assert copies_under(tmp_path) == {"of-1.copy", "of-2.copy"}
        assert len(list(tmp_path.glob(f"*/*/{OWNERS}/*"))) == 2
        first.send_signal(signal.SIGKILL)
        first.wait()
        put_a_copy(tmp_path, "/other")
        assert copies_under(tmp_path) == {"of-1.copy", "of-2.copy", "a.copy"}
        assert len(list(tmp_path.glob(f"*/*/{OWNERS}/*"))) == 2  # of the second, and ours in the other state
        second.send_signal(signal.SIGKILL)
        second.wait()
        put_a_copy(tmp_path, "/other")
        assert copies_under(tmp_path) == {"a.copy"}


def test_the_number_of_a_process_that_is_gone_may_be_in_use_again(tmp_path: Path) -> None:
    put_a_copy(tmp_path)
    [owner] = tmp_path.glob(f"*/*/{OWNERS}/*")
    namespace, process, started = owner.name.split("-")
    owner.rename(owner.with_name(f"{namespace}-{process}-{int(started) - 1}"))
    put_a_copy(tmp_path, "/other", "b")
    assert copies_under(tmp_path) == {"b.copy"}


def test_owners_in_another_container_cannot_be_seen_and_count_as_alive(tmp_path: Path) -> None:
    put_a_copy(tmp_path)
    [owner] = tmp_path.glob(f"*/*/{OWNERS}/*")
    owner.rename(owner.with_name("1-1-1"))
    put_a_copy(tmp_path, "/other", "b")
    assert copies_under(tmp_path) == {"a.copy", "b.copy"}


def test_copies_that_nobody_uses_are_forgotten(tmp_path: Path) -> None:
    put_a_copy(tmp_path)
    [state] = tmp_path.glob("*/*")
    long_ago = time.time() - 2 * FORGOTTEN_SECONDS
    os.utime(state, (long_ago, long_ago))
    put_a_copy(tmp_path, "/other", "b")
    assert copies_under(tmp_path) == {"b.copy"}


def test_the_copies_of_a_state_can_be_freed_whoever_made_them(tmp_path: Path) -> None:
    with executor(tmp_path, 1):
        put_a_copy(tmp_path, "/other")
        remove_copies("/state", tmp_path)
        assert copies_under(tmp_path) == {"a.copy"}
        remove_copies("/other", tmp_path)
        assert list(tmp_path.iterdir()) == []
        remove_copies("/state", tmp_path / "nowhere")


def test_directories_that_were_made_at_the_same_time_become_one(tmp_path: Path) -> None:
    put_a_copy(tmp_path)
    home_in(tmp_path).rename(tmp_path / f"sooner-copies-{os.getuid()}-zzzzzzzz")
    first = tmp_path / f"sooner-copies-{os.getuid()}-00000000"
    first.mkdir(0o700)
    put_a_copy(tmp_path, name="b")
    assert home_in(tmp_path) == first
    assert copies_under(tmp_path) == {"b.copy"}


# Other users


def require_untouched(planted: Path, root: Path) -> None:
    """A query works on, and neither uses nor changes what was planted; `planted` is a directory or leads to one."""
    before = everything_in(planted)
    put_a_copy(root)
    found = open_shared_memory("/state", 0, PLENTY, root).get("a")
    assert found is not None
    assert found.to_pybytes() == b"rows"
    open_shared_memory("/state", 0, PLENTY, root).keep_only([])
    remove_copies("/state", root)
    assert everything_in(planted) == before


def planted_home(root: Path) -> Path:
    """What somebody prepared under a name that we could have given."""
    put_a_copy(root)
    home = home_in(root)
    for copy in home.rglob("*.copy"):
        copy.write_bytes(b"lies")
    return home.rename(root / f"sooner-copies-{os.getuid()}-planted_")


@only_root
def test_a_directory_of_another_user_is_neither_used_nor_removed(tmp_path: Path) -> None:
    planted = planted_home(tmp_path)
    os.chown(planted, ANOTHER_USER, ANOTHER_USER)
    require_untouched(planted, tmp_path)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707])
def test_a_directory_that_is_open_to_others_is_neither_used_nor_removed(mode: int, tmp_path: Path) -> None:
    planted = planted_home(tmp_path)
    planted.chmod(mode)
    require_untouched(planted, tmp_path)


def test_a_link_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    planted = planted_home(root)
    planted.symlink_to(planted.rename(tmp_path / "victim"))
    require_untouched(planted, root)
    assert planted.is_symlink()


@only_root
def test_the_query_of_another_user_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    put_a_copy(root)
    root.chmod(0o1777)
    monkeypatch.chdir(root)  # the folders above are closed to others
    before = everything_in(home_in(root))
    os.seteuid(ANOTHER_USER)
    try:
        put_a_copy(Path(), name="theirs")
        assert open_shared_memory("/state", 0, PLENTY, Path()).get("theirs") is not None
        remove_copies("/state", Path())
    finally:
        os.seteuid(0)
    assert everything_in(home_in(root)) == before


# Links inside


@pytest.mark.parametrize("level", ["state", "partition", OWNERS, "copy"])
def test_a_link_planted_inside_leads_nowhere(level: str, tmp_path: Path) -> None:
    """Whatever is swept, kept or removed, the folder of the victim is as it was."""
    root, victim = tmp_path / "root", tmp_path / "victim"
    put_a_copy(root)
    [state] = root.glob("*/*")
    place = {"state": state, "partition": state / "0", OWNERS: state / OWNERS, "copy": state / "0" / "link.copy"}[level]
    victim.mkdir(0o700)
    names = {"state": "0", "partition": "a.copy", OWNERS: "1-1-1", "copy": "a.copy"}
    (victim / names[level]).mkdir(0o700)
    (victim / "b.copy").write_text("precious")
    if level != "copy":
        place.rename(tmp_path / "out of the way")
    place.symlink_to(victim)
    before = everything_in(victim)
    for _ in range(2):
        copies = open_shared_memory("/state", 0, PLENTY, root)
        copies.get("b")
        copies.put([("c", (b"rows",))])
        copies.keep_only([])
        long_ago = time.time() - 2 * FORGOTTEN_SECONDS
        os.utime(state, (long_ago, long_ago), follow_symlinks=False)
        put_a_copy(root, "/other")
        remove_copies("/state", root)
        assert everything_in(victim) == before
        assert open_shared_memory("/other", 0, PLENTY, root).get("a") is not None


def test_names_that_are_not_ours_stay(tmp_path: Path) -> None:
    put_a_copy(tmp_path)
    [state] = tmp_path.glob("*/*")
    for place in (state.parent / "notes", state / "notes", state / "0" / "notes"):
        place.write_text("mine")
    remove_copies("/state", tmp_path)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"notes"}
    assert len(list(tmp_path.rglob("notes"))) == 3
