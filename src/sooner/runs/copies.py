"""Copies of immutable bytes in this node's shared memory: a cache, whose loss costs time and nothing else.

Python workers come and go, and partitions hop between them, so what one step wants to find again in memory lies in
files on `/dev/shm` (or, where there is none, in the directory for temporary files). They are written with `write`, not
through a map: a store to a mapped page that a full memory cannot give kills the process.

The directory belongs to the process that outlives the workers (Spark's Python daemon on the executor). Copies whose
process is gone, or that nobody has used for a while, are removed by whoever comes next.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

SHARED_MEMORY: Final = Path("/dev/shm")
PAGE_BYTES: Final = 4096
FORGOTTEN_SECONDS: Final = 600  # after which copies that no step used count as forgotten
_DIRECTORY: Final = re.compile(r"sooner-\d+-(\d+)-(\d+)")


class NodeCopies:
    """Copies for one partition of one state; never more than `limit_bytes` of them."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._used_bytes: int | None = None  # not counted yet

    def get(self, name: str) -> pa.Buffer | None:
        """The copy, mapped; None if there is none."""
        try:
            with pa.memory_map(str(self._directory / name)) as file:
                return file.read_buffer()
        except (OSError, pa.ArrowInvalid):
            return None

    def put(self, name: str, parts: Sequence[pa.Buffer | memoryview | bytes]) -> None:
        """Make a copy, if there is room for it."""
        n_bytes = _whole_pages(sum(memoryview(part).nbytes for part in parts))
        if self.used_bytes + n_bytes > self._limit_bytes:
            return
        unfinished = self._directory / f".{name}.{os.getpid()}"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                for part in parts:
                    file.write(part)
            unfinished.rename(self._directory / name)
            self._used_bytes = self.used_bytes + n_bytes
        except OSError:  # no room, or no permission: the next step reads the state's own file
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def keep_only(self, names: Iterable[str]) -> None:
        """Free what nobody will look for."""
        wanted = set(names)
        self._used_bytes = None
        for file in self._files():
            if file.name not in wanted:
                with contextlib.suppress(OSError):
                    Path(file.path).unlink()

    @property
    def used_bytes(self) -> int:
        """What the copies take, in whole pages."""
        if self._used_bytes is None:
            self._used_bytes = sum(_whole_pages(_size(file)) for file in self._files())
        return self._used_bytes

    def _files(self) -> list["os.DirEntry[str]"]:
        try:
            with os.scandir(self._directory) as entries:
                return list(entries)
        except OSError:
            return []


def copies_directory(state: str, partition: int, root: Path | None = None) -> Path:
    """Where the copies of a partition lie on this node."""
    root = _usable_root() if root is None else root
    owner = os.getppid()
    directory = root / f"sooner-{os.getuid()}-{owner}-{_started(owner)}" / _name_of(state)
    with contextlib.suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.utime(directory)
    _remove_forgotten(root)
    return directory / str(partition)


def remove_copies(state: str, root: Path | None = None) -> None:
    """Free all copies of a state on this node, whoever made them."""
    root = _usable_root() if root is None else root
    for directory in root.glob(f"sooner-{os.getuid()}-*/{_name_of(state)}"):
        shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            directory.parent.rmdir()  # unless other states have copies there


def _name_of(state: str) -> str:
    return hashlib.blake2b(state.encode(), digest_size=8).hexdigest()


def _usable_root() -> Path:
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _remove_forgotten(root: Path) -> None:
    for owners in root.glob(f"sooner-{os.getuid()}-*"):
        match = _DIRECTORY.fullmatch(owners.name)
        if match is not None and _started(int(match[1])) != match[2]:
            shutil.rmtree(owners, ignore_errors=True)
            continue
        for copies in owners.glob("*"):
            with contextlib.suppress(OSError):
                if copies.stat().st_mtime < time.time() - FORGOTTEN_SECONDS:
                    shutil.rmtree(copies, ignore_errors=True)


def _started(process: int) -> str:
    """When a process started, in clock ticks: with its number, this names it for good. Empty if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _size(file: "os.DirEntry[str]") -> int:
    try:
        return file.stat().st_size
    except OSError:  # another attempt has freed it
        return 0


def _whole_pages(n_bytes: int) -> int:
    return -(-n_bytes // PAGE_BYTES) * PAGE_BYTES
