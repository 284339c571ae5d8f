"""The versions of a state: one small manifest for each, put in place whole or not at all.

Version b is made from version b-1 and from nothing else, so an attempt that is repeated makes it again. Run files have
names that no other attempt has, and begin with the version they were written for. Since all attempts at a version
make equivalent states, it does not matter whose manifest is in place, nor that it is another's later: what either names
stays for as long as somebody may go on from that version. So no store has to write a file only if there is none yet.
An attempt that comes so late that there is a next version already leaves everything as it is: what it was made from may
be gone. Should it have looked just before there was one, its manifest comes back, and goes with the next sweep.

A manifest is two lines of JSON: what it is, with a summary for whoever watches; then the state itself. The first line
begins with its own checksum and holds that of the second.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pyarrow.fs as pafs
import xxhash

from sooner.errors import SoonerError, SpillFailed, StateCorrupted
from sooner.runs.custody.private_files import create
from sooner.runs.custody.whole_files import put

FORMAT: Final = 10
READINGS: Final = 4
_VERSION_DIGITS: Final = 12
_NAMED_BY_VERSION: Final = re.compile(rf"(\d{{{_VERSION_DIGITS}}})[.-].*")
_MANIFEST: Final = re.compile(rf"\d{{{_VERSION_DIGITS}}}\.json")
_FILES_IN_MANIFEST: Final = re.compile(rf'"(\d{{{_VERSION_DIGITS}}}-[^"]*)"'.encode())
_FIRST_READ_BYTES: Final = 64 * 1024
_MOVED: Final = 10**_VERSION_DIGITS - 1  # the version of which nothing is there


Read = TypeVar("Read")


class MissingVersion(StateCorrupted):
    """The version to start from is not there."""


@dataclass(frozen=True)
class Header:
    """What a manifest says of itself."""

    version: int
    identity: dict[str, Any]  # of the join and the query that it belongs to
    summary: dict[str, Any]


def version_prefix(version: int) -> str:
    return f"{version:0{_VERSION_DIGITS}}-"


class Versions:
    """The versions of the state of one partition, in a directory of any filesystem that pyarrow opens."""

    def __init__(self, filesystem: pafs.FileSystem, directory: str) -> None:
        self._filesystem = filesystem
        self._directory = directory

    def load(self, version: int) -> tuple[Header, dict[str, Any]]:
        """A version that was published."""
        return _read_anew_if_damaged(lambda: self._load(version))

    def _load(self, version: int) -> tuple[Header, dict[str, Any]]:
        path = self._path(version)
        try:
            with self._filesystem.open_input_stream(path) as file:
                first, _, second = file.read().partition(b"\n")
        except FileNotFoundError as error:
            raise MissingVersion(f"Version {version} of the state is not in {self._directory}.") from error
        except OSError as error:
            raise self._unreadable(path, error) from error
        header, checksum = _parse(first, path)
        second = second.rstrip(b"\n")
        if xxhash.xxh3_64_intdigest(second) != checksum or header.version != version:
            raise StateCorrupted(f"The manifest {path} is damaged: it is not what was written there.")
        with believed(path):
            state = json.loads(second)
            if not isinstance(state, dict):
                raise TypeError("the state is no object")
        return header, state

    def believed(self, version: int) -> AbstractContextManager[None]:
        """A context in which what a version says is used."""
        return believed(self._path(version))

    def header(self, version: int) -> Header | None:
        """What a version says of itself, without its state; None if it is not there."""
        return _read_anew_if_damaged(lambda: self._header(version))

    def _header(self, version: int) -> Header | None:
        path, first = self._path(version), b""
        try:
            with self._filesystem.open_input_stream(path) as file:
                while b"\n" not in first and (more := file.read(_FIRST_READ_BYTES)):
                    first += more
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error
        return _parse(first.partition(b"\n")[0], path)[0]

    def publish(self, header: Header, state: dict[str, Any]) -> None:
        """Put a version in place, with all that it needs already written, unless it comes too late."""
        if max(self.published(), default=header.version) > header.version:
            return
        second = json.dumps(state, separators=(",", ":")).encode()
        first = {
            "format": FORMAT,
            "version": header.version,
            "checksum": xxhash.xxh3_64_intdigest(second),
            "identity": header.identity,
            "summary": header.summary,
        }
        content = b"\n".join((_sealed(json.dumps(first, separators=(",", ":")).encode()), second, b""))
        try:
            put(self._filesystem, self._path(header.version), content)
        except OSError as error:
            raise SpillFailed(f"The state cannot be written to {self._directory}: {error}. Free some space.") from error

    def published(self) -> list[int]:
        """The versions that are there, in order."""
        return _versions_among(self._files())

    def sweep(self, version: int, parent: int, parent_state: dict[str, Any]) -> None:
        """Remove what no attempt at this version or a later one can need: all that its parent does not name.

        The manifest of the parent may by now be that of another attempt: what it names stays too. Files written for the
        parent itself stay one version longer even if unnamed: they may belong to an attempt that is about to put its
        own manifest in place.
        """
        files = self._files()
        if max(_versions_among(files), default=version) > version:
            return
        needed = _names_in(json.dumps(parent_state).encode()) | self._files_named_by(parent)
        for file in files:
            match = _NAMED_BY_VERSION.fullmatch(file.base_name)
            if match is not None and int(match[1]) < parent and file.base_name not in needed:
                try:
                    self._filesystem.delete_file(file.path)
                except FileNotFoundError:
                    continue  # another attempt was faster
                except OSError as error:
                    raise SpillFailed(f"{file.path} cannot be removed: {error}.") from error

    def _files_named_by(self, version: int) -> set[str]:
        """All names in a manifest that can be those of run files; none if it is not there."""
        try:
            with self._filesystem.open_input_stream(self._path(version)) as file:
                return _names_in(file.read())
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise self._unreadable(self._path(version), error) from error

    def _files(self) -> list[pafs.FileInfo]:
        selector = pafs.FileSelector(self._directory, allow_not_found=True)
        try:
            found: list[pafs.FileInfo] = self._filesystem.get_file_info(selector)
        except OSError as error:
            raise self._unreadable(self._directory, error) from error
        return found

    @staticmethod
    def _unreadable(path: str, error: OSError) -> SpillFailed:
        cure = " Only the user who made a state can read it: run driver and executors as one user."
        return SpillFailed(f"The state cannot be read from {path}: {error}.{cure * isinstance(error, PermissionError)}")

    def _path(self, version: int) -> str:
        return f"{self._directory}/{version:0{_VERSION_DIGITS}}.json"


def _read_anew_if_damaged(read: Callable[[], Read]) -> Read:
    """What is read, perhaps in several requests to a store in which another attempt puts its own manifest meanwhile:
    then it is of both, which its checksums tell.
    """
    for _ in range(READINGS - 1):
        try:
            return read()
        except MissingVersion:
            raise
        except StateCorrupted:
            continue
    return read()


def leave_to_later_releases(filesystem: pafs.FileSystem, directory: str) -> None:
    """Empty a directory whose state lies elsewhere by now. Earlier releases, which would begin anew there, find a
    manifest that they refuse.
    """
    refused = f"{directory}/{_MOVED}.json"
    with create(filesystem, refused) as file:
        file.write(_sealed(json.dumps({"format": f"{FORMAT} in generations"}).encode()) + b"\n{}\n")
    for info in filesystem.get_file_info(pafs.FileSelector(directory)):
        if info.path != refused:
            filesystem.delete_file(info.path)


def _names_in(content: bytes) -> set[str]:
    """All that can be names of run files."""
    return {name.decode() for name in _FILES_IN_MANIFEST.findall(content)}


def _versions_among(files: list[pafs.FileInfo]) -> list[int]:
    names = (file.base_name for file in files)
    found = sorted(int(name.removesuffix(".json")) for name in names if _MANIFEST.fullmatch(name))
    return [version for version in found if version != _MOVED]


def _sealed(line: bytes) -> bytes:
    """The line with its checksum before it."""
    return b"%016x %s" % (xxhash.xxh3_64_intdigest(line), line)


def _parse(line: bytes, path: str) -> tuple[Header, int]:
    line_itself = line[17:]
    if line != _sealed(line_itself):
        raise StateCorrupted(f"The manifest {path} is damaged: it is not what was written there.")
    with believed(path):
        first = json.loads(line_itself)
        if first["format"] != FORMAT:
            raise StateCorrupted(
                f"The manifest {path} has format {first['format']}, and this release reads format {FORMAT}: another "
                "release wrote it. Go on with that one, or start anew with another checkpoint and state."
            )
        header = Header(first["version"], first["identity"], first["summary"])
        kinds = (header.version, int), (first["checksum"], int), (header.identity, dict), (header.summary, dict)
        if not all(type(value) is kind for value, kind in kinds):
            raise TypeError("something is of another type")
    return header, first["checksum"]


@contextmanager
def believed(path: str) -> Iterator[None]:
    """Checksums tell what was damaged, not what was forged: whatever is wrong with content that has one is said so."""
    try:
        yield
    except (SoonerError, OSError, MemoryError):  # what a sound state meets as well
        raise
    except Exception as error:
        raise StateCorrupted(
            f"The manifest {path} has its checksum, but is not what a join writes ({type(error).__name__}: {error}). "
            "Start anew with another checkpoint and state."
        ) from error
