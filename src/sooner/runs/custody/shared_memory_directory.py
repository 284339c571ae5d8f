"""Where the copies of a state lie on a node, who may look at them, and when they go.

    /dev/shm/sooner-copies-1000-x7c2m0qa/        this user's own
        4c1f09d2a77b3e58/                        a state
            owners/4026531836-771-20388          a process whose steps use it: Spark's Python daemon on an executor
            0/                                   a partition: copies, whichever executor made them

All users can write to `/dev/shm`, so nothing there is believed for its name. A directory counts if it is ours, open to
nobody else, and no link; whatever else there is under such a name is neither used nor removed. The user's own has a
name that nobody could take first. Below it, directories are opened one from the other, and only names that are such as
we give are removed.

The copies of a state go when its query ends, or by the next step on the node when none of their owners lives, or when
nobody has used them for a while.
"""

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sooner.runs.custody.private_files import OWNER_ONLY_DIRECTORY, OWNER_ONLY_FILE, make_local_directory

SHARED_MEMORY: Final = Path("/dev/shm")
FORGOTTEN_SECONDS: Final = 600  # after which copies that no step used count as forgotten
NOWHERE: Final = 2**31 - 1  # a descriptor that no process can have: whatever is done with it fails
OWNERS: Final = "owners"

COPY: Final = re.compile(r".+\.copy(\.unfinished)?")
_HOME: Final = re.compile(r"sooner-copies-(\d+)-[a-z0-9_]{8}")
_STATE: Final = re.compile(r"[0-9a-f]{16}")
_IN_STATE: Final = re.compile(rf"{OWNERS}|\d+")
_OWNER: Final = re.compile(r"(\d+)-(\d+)-(\d*)")
_FILE: Final = re.compile(rf"{COPY.pattern}|{_OWNER.pattern}")


def open_partition(state: str, partition: int, root: Path | None = None) -> int:
    """A descriptor of the directory for copies of a partition, for the caller to close; NOWHERE if none can be had."""
    root = _usable_root() if root is None else root
    try:
        with _opened(_home(root)) as home, _made(_name_of(state), home) as copies:
            os.utime(copies)
            with _made(OWNERS, copies) as owners:
                os.close(os.open(_owner(), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY_FILE, dir_fd=owners))
            _remove_forgotten(home)
            with _made(str(partition), copies) as directory:
                return os.dup(directory)
    except OSError:
        return NOWHERE


def trouble_with(root: Path | None, *, refused: bool = False, full: bool = False) -> str | None:
    """Why copies there are not what they are for, in a sentence; None if nothing is in the way."""
    place = _usable_root() if root is None else root
    if refused or not _is_open_to_us(place):
        return f"Rows in memory are read from the state in each step: nothing can be kept in {place}"
    if full:
        return f"Some of the rows in memory are read from the state in each step: {place} is full"
    if root is None and place != SHARED_MEMORY:
        return f"Rows in memory are copied to {place}, which may be a disk: {SHARED_MEMORY} cannot be used"
    return None


def _is_open_to_us(place: Path) -> bool:
    """Or what is there of it."""
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    return there.is_dir() and os.access(there, os.R_OK | os.W_OK | os.X_OK)


def remove_copies(state: str, root: Path | None = None) -> None:
    """Free all copies of a state on this node, whoever made them."""
    with contextlib.suppress(OSError):
        for path in _homes(_usable_root() if root is None else root):
            with _opened(path) as home:
                _remove(_name_of(state), home, _IN_STATE, _FILE)
            with contextlib.suppress(OSError):
                path.rmdir()  # unless other states have copies there


def _usable_root() -> Path:
    usable = os.access(SHARED_MEMORY, os.R_OK | os.W_OK | os.X_OK)
    return SHARED_MEMORY if usable else Path(tempfile.gettempdir())


def _home(root: Path) -> Path:
    """The directory of this user. Several that were made at the same time become one: the first by name."""
    homes = _homes(root)
    if not homes:
        make_local_directory(root)
        made = tempfile.mkdtemp(prefix=f"sooner-copies-{os.geteuid()}-", dir=root)
        homes = _homes(root) or [Path(made)]
    home, *others = homes
    for other in others:
        _remove(other, None, _STATE, _IN_STATE, _FILE)
    return home


def _homes(root: Path) -> list[Path]:
    found = []
    for name in sorted(_names_in(root)):
        match = _HOME.fullmatch(name)
        if match is not None and int(match[1]) == os.geteuid():
            with contextlib.suppress(OSError), _opened(root / name):
                found.append(root / name)
    return found


def _name_of(state: str) -> str:
    return hashlib.blake2b(state.encode(), digest_size=8).hexdigest()


# What is ours


@contextlib.contextmanager
def _opened(name: str | Path, within: int | None = None) -> Iterator[int]:
    """A directory that is ours alone, and no link; all others are refused."""
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        status = os.fstat(directory)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o777 != OWNER_ONLY_DIRECTORY:
            raise PermissionError(f"{name} is open to others")
        yield directory
    finally:
        os.close(directory)


@contextlib.contextmanager
def _made(name: str, within: int) -> Iterator[int]:
    """The same, made if it is not there."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, OWNER_ONLY_DIRECTORY, dir_fd=within)
    with _opened(name, within) as directory:
        yield directory


def _remove(name: str | Path, within: int | None, *below: re.Pattern[str]) -> None:
    """A directory and what is in it, or without patterns for names in it, a file. What has another name stays."""
    with contextlib.suppress(OSError):
        if not below:
            os.unlink(name, dir_fd=within)
            return
        with _opened(name, within) as directory:
            for inner in filter(below[0].fullmatch, _names_in(directory)):
                _remove(inner, directory, *below[1:])
        os.rmdir(name, dir_fd=within)


def _names_in(directory: int | Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        return []


# Who uses it


def _remove_forgotten(home: int) -> None:
    for name in filter(_STATE.fullmatch, _names_in(home)):
        with contextlib.suppress(OSError):
            if not _in_use(name, home):
                _remove(name, home, _IN_STATE, _FILE)


def _in_use(name: str, home: int) -> bool:
    with _opened(name, home) as copies:
        if os.fstat(copies).st_mtime < time.time() - FORGOTTEN_SECONDS:
            return False
        with _opened(OWNERS, copies) as owners:
            for owner in filter(_OWNER.fullmatch, _names_in(owners)):
                if not _lives(owner):
                    _remove(owner, owners)
            return bool(_names_in(owners))


def _owner() -> str:
    """The process that outlives the workers."""
    return f"{_process_namespace()}-{os.getppid()}-{_started(os.getppid())}"


def _lives(owner: str) -> bool:
    """Processes of another container cannot be seen: they count as alive until their copies are forgotten."""
    namespace, process, started = owner.split("-")
    return namespace != _process_namespace() or _started(int(process)) == started


def _process_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return "0"


def _started(process: int) -> str:
    """When a process started, in clock ticks: with its number, this names it for good. Empty if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
