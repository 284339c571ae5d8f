"""Copies of immutable bytes in this node's shared memory: a cache, whose loss costs time and nothing else.

Python workers come and go, and partitions hop between them, so what one step wants to find again in memory lies in
files on `/dev/shm` (or, where there is none, in the directory for temporary files). All executors of a user on a node
share them, and so one limit. They are written with `write`, not through a map: a store to a mapped page that a full
memory cannot give kills the process.

Where they lie, and when they go, is in `shared_memory_directory`. Whoever gets a copy has to check it.
"""

import contextlib
import fcntl
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from sooner.finalizing import Finalizer
from sooner.runs.custody.private_files import OWNER_ONLY_FILE
from sooner.runs.custody.shared_memory_directory import COPY, NOWHERE, open_partition, trouble_with

PAGE_BYTES: Final = 4096
Parts = Sequence[pa.Buffer | memoryview | bytes]


class SharedMemory:
    """Copies for one partition of one state; never more than `limit_bytes` of them, whoever puts them there."""

    def __init__(self, directory: int, limit_bytes: int, root: Path | None = None) -> None:
        self._directory = directory  # a descriptor: no link can lead elsewhere
        self._limit_bytes = limit_bytes
        self._root = root
        if directory != NOWHERE:
            Finalizer(self, os.close, directory)

    def get(self, name: str) -> pa.Buffer | None:
        """The copy, mapped; None if there is none."""
        try:
            file = os.open(_file(name), os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._directory)
        except OSError:
            return None
        try:
            return pa.py_buffer(mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ))
        except (OSError, ValueError):  # ValueError: it is empty
            return None
        finally:
            os.close(file)

    def put(self, copies: Iterable[tuple[str, Parts]]) -> None:
        """Make copies, as far as there is room. If not all can be made, the next step reads the state's own files."""
        with contextlib.suppress(OSError), self._alone():
            used_bytes = self.used_bytes
            for name, parts in copies:
                n_bytes = _whole_pages(sum(memoryview(part).nbytes for part in parts))
                if used_bytes + n_bytes <= self._limit_bytes:
                    self._write(name, parts)
                    used_bytes += n_bytes

    def trouble(self, missed_bytes: int) -> str | None:
        """Why a step missed so many bytes of copies, in a sentence; None if that is a matter of the first time."""
        if self._directory == NOWHERE:
            return trouble_with(self._root, refused=True)
        status = os.fstatvfs(self._directory)
        return trouble_with(self._root, full=missed_bytes > status.f_bavail * status.f_frsize)

    def forget(self, name: str) -> None:
        """Free one that is not what it should be."""
        self._unlink(_file(name))

    def keep_only(self, names: Iterable[str]) -> None:
        """Free what nobody will look for."""
        wanted = {*map(_file, names)}
        for file in self._files():
            if file.name not in wanted and COPY.fullmatch(file.name):
                self._unlink(file.name)

    @property
    def used_bytes(self) -> int:
        """What the copies take by now, in whole pages."""
        return sum(_whole_pages(_size(file)) for file in self._files())

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Two that count and then write would write too much. Who is not the first to put copies here makes none."""
        fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield
        finally:
            fcntl.flock(self._directory, fcntl.LOCK_UN)

    def _write(self, name: str, parts: Parts) -> None:
        unfinished = f"{_file(name)}.unfinished"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(unfinished, flags, OWNER_ONLY_FILE, dir_fd=self._directory), "wb") as file:
                for part in parts:
                    file.write(part)
            os.rename(unfinished, _file(name), src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError:
            self._unlink(unfinished)
            raise

    def _files(self) -> list["os.DirEntry[str]"]:
        try:
            with os.scandir(self._directory) as entries:
                return list(entries)
        except OSError:
            return []

    def _unlink(self, file: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(file, dir_fd=self._directory)


def open_shared_memory(state: str, partition: int, limit_bytes: int, root: Path | None = None) -> SharedMemory:
    """The copies of a partition on this node; without a directory of our own to keep them in, always none."""
    return SharedMemory(open_partition(state, partition, root), limit_bytes, root)


def _file(name: str) -> str:
    return f"{name}.copy"


def _size(file: "os.DirEntry[str]") -> int:
    try:
        return file.stat(follow_symlinks=False).st_size
    except OSError:  # another attempt has freed it
        return 0


def _whole_pages(n_bytes: int) -> int:
    return -(-n_bytes // PAGE_BYTES) * PAGE_BYTES
