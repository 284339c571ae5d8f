"""A directory for files of this process: private to the user, and gone when nobody needs it, however the process ends.

    <parent>/sooner-spill-x7c2m0qa/lock      held as long as the process lives
    <parent>/sooner-spill-x7c2m0qa/*         its files; there is nothing below them

- It is removed when its owner says so, is forgotten, or when the interpreter ends.
- SIGTERM and SIGHUP remove it first, if the program leaves these signals to their default action, and made the
  directory in its main thread. (Python sees a signal between two of its own instructions: not while the main thread is
  inside a library that is written in C.)
- After SIGKILL, the next one that is made in the same parent removes it: the lock (flock) of a process that is gone can
  be taken. It is a better witness than a number of a process, which another may have by now, or see under another name.
  Where a filesystem has no locks, nobody can take them, and nothing is removed.
- What was left from another machine on a shared filesystem stays for that machine: not all such filesystems pass on
  locks.
- A forked child owns nothing. Whatever it does with its copy of an owner, and however it ends, its parent's files stay.
"""

import contextlib
import fcntl
import os
import re
import signal
import socket
import stat
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Final, Literal

from sooner.finalizing import Finalizer
from sooner.runs.custody.private_files import OWNER_ONLY_FILE

LOCK: Final = "lock"
ENDING_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_GOING: Final = "-going"  # at the end of its name while it is removed
_NAME: Final = re.compile(rf"sooner-(spill|staging)-[a-z0-9_]{{8}}({_GOING})?")

_locks: dict[Path, int] = {}  # of the directories of this process, by path


class PrivateDirectory:
    """Gone with this object, at the latest."""

    def __init__(self, purpose: Literal["spill", "staging"], parent: str | Path | None = None) -> None:
        path, lock = _make(f"sooner-{purpose}-", parent)
        _locks[path] = lock
        self.path: Final = path
        self._remove = Finalizer(self, _remove_own, path)
        _heed_signals()
        _remove_abandoned(path.parent)

    @property
    def is_ours(self) -> bool:
        """Whether this process made it, and has not removed it."""
        return self.path in _locks

    def remove(self) -> None:
        self._remove()


def _make(prefix: str, parent: str | Path | None) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).absolute()  # mode 0700
        if (lock := _new_lock(path)) is not None:
            return path, lock
        # Somebody took it for abandoned before it was locked.


def _new_lock(directory: Path) -> int | None:
    try:
        lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY_FILE)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):  # a full disk: then nobody knows where it comes from, and it is left alone
        os.write(lock, "\n".join(_here()).encode())
    if _take(lock) == "held by another" or not os.fstat(lock).st_nlink:
        os.close(lock)
        return None
    return lock


def _take(lock: int) -> Literal["taken", "held by another", "no locks here"]:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held by another"
    except OSError:
        return "no locks here"
    return "taken"


def _here() -> tuple[str, str]:
    """This run of this machine, by which containers on it know each other; and its name, which outlives a restart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "unknown"
    return boot, socket.gethostname()


# Removing


def _remove_own(path: Path) -> None:
    lock = _locks.get(path)
    if lock is None:  # in a forked child
        return
    _remove(path, lock)
    _locks.pop(path, None)  # not sooner: a signal in the middle of it begins again
    if not _locks:
        _leave_signals()


def _remove(path: Path, lock: int) -> None:
    """The lock goes last: what is interrupted can be told from what is in use."""
    going = path if path.name.endswith(_GOING) else path.with_name(path.name + _GOING)
    with contextlib.suppress(OSError):
        path.rename(going)  # from now on no thread can make another file in it
    with contextlib.suppress(OSError):
        directory = os.open(going, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for name in _names_in(directory):
                if name != LOCK:
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=directory)
            if _names_in(directory) == [LOCK]:
                os.unlink(LOCK, dir_fd=directory)
        finally:
            os.close(directory)
    with contextlib.suppress(OSError):  # closed already, if a signal came below and this is the second time
        os.close(lock)
    with contextlib.suppress(OSError):
        going.rmdir()


def _names_in(directory: int | Path) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _remove_abandoned(parent: Path) -> None:
    with contextlib.suppress(OSError):
        for name in filter(_NAME.fullmatch, _names_in(parent)):
            with contextlib.suppress(OSError):
                _remove_if_abandoned(parent / name)


def _remove_if_abandoned(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        path.rmdir()  # its process had no time for a lock, nor for files
        return
    left_here = {*os.pread(lock, 1024, 0).decode(errors="replace").split("\n")} & {*_here()}
    if left_here and _take(lock) == "taken":
        _remove(path, lock)
    else:
        os.close(lock)


# Ends that are not the program's own


def _heed_signals() -> None:
    """Handle signals whose default action would end the process: never over the program's handlers or `nohup`."""
    if threading.current_thread() is not threading.main_thread() or os.getpid() == 1:
        return  # only the main thread may; and nothing ends the first process of a container by default
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _leave_signals() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in ENDING_SIGNALS:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the contract
    """Tidy up, and end as if nobody had: whatever happens here, the program must not live on."""
    try:
        for path in list(_locks):
            _remove_own(path)
    finally:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def _own_nothing() -> None:
    """Give up the locks in a forked child, so that it cannot keep those of its parent from being freed."""
    for lock in _locks.values():
        os.close(lock)
    _locks.clear()


os.register_at_fork(after_in_child=_own_nothing)
