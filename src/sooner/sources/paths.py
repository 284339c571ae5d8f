"""Where files are: what a path, a pattern, a directory or an address stands for, on this machine or elsewhere.

Addresses such as s3:// and gs:// are opened by PyArrow, and all that it does not know by fsspec, if that is installed.
Names that begin with a dot or an underscore are marks of writers, and are passed over in directories and by patterns.

Not covered: patterns in addresses of the web, whose servers list nothing.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from sooner.errors import InvalidCall
from sooner.extras import missing

AnyPath: TypeAlias = str | os.PathLike[str]

LOOKED_AT_BYTES: Final = 64 * 2**10

_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_LOST_SLASH: Final = re.compile(r"(s3|gs|gcs|abfss?|https?|hdfs|file):/(?!/)")
_QUERY: Final = re.compile(r"\?[\w.-]+=.*$")
_PATTERN: Final = re.compile(r"[*?\[]")
_WEB: Final = ("http", "https")
_NULL_IN_HIVE: Final = "__HIVE_DEFAULT_PARTITION__"


class File(NamedTuple):
    """A file that was found, and what the names of its folders say of all its rows (`day=2024-01-01`)."""

    path: str
    filesystem: fs.FileSystem
    address: str  # what messages call it
    of_folder: Mapping[str, str | None]
    n_bytes: int | None = None  # where the file system says it
    compression: str | None = None

    def open(self) -> pa.NativeFile:
        """Its content from the beginning, unpacked."""
        return self.filesystem.open_input_stream(self.path, compression=self.compression)

    def beginning(self) -> bytes:
        """As much of it as one looks at to see what it is."""
        with self.open() as stream:
            begin: bytes = stream.read(LOOKED_AT_BYTES)
            return begin

    @property
    def file_name(self) -> str:
        path = urlsplit(self.address).path if self.address.startswith(_WEB) else self.path
        return path.rpartition("/")[2]


class _Place(NamedTuple):
    filesystem: fs.FileSystem
    path: str
    before: str  # what stands before the path in an address

    def file(self, info: fs.FileInfo, of_folder: Mapping[str, str | None]) -> File:
        return File(info.path, self.filesystem, self.before + info.path, of_folder, info.size)

    def info(self, path: str) -> fs.FileInfo:
        return self.filesystem.get_file_info(path)

    def below(self, folder: str, *, recursive: bool = False) -> list[fs.FileInfo]:
        """What is in a folder, by name, without the marks of writers."""
        found = self.filesystem.get_file_info(fs.FileSelector(folder, recursive=recursive))
        return sorted((one for one in found if not _is_mark(one.path, folder)), key=lambda one: one.path)


def files_at(path: AnyPath, name: str) -> list[File]:
    """All files that a path stands for: one, those of a directory, or those that a pattern matches."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip():
        raise InvalidCall(f"{name} is {path!r}, which is no path; give the path of a file")
    if lost := _LOST_SLASH.match(text):
        cure = text.replace(":/", "://", 1)
        raise InvalidCall(f"{name}: {text} is a {lost[1]} address that has lost a slash; give it as text, {cure!r}")
    try:
        return _found(_place_of(text, name), text, name)
    except UnicodeEncodeError as error:  # Arrow takes names that are text
        raise InvalidCall(f"{name}: {text} cannot be read: its name is not UTF-8; rename it") from error
    except (pa.ArrowException, OSError) as error:
        raise InvalidCall(f"{name}: {text} cannot be reached: {error}") from error


def is_local(file: File) -> bool:
    return isinstance(file.filesystem, fs.LocalFileSystem)


def _found(place: _Place, text: str, name: str) -> list[File]:
    info = place.info(place.path)
    if info.type == fs.FileType.Directory:
        return _in_directory(place, place.path, name)
    if info.type == fs.FileType.File:
        return [place.file(info, {})]
    if info.type == fs.FileType.Unknown:
        raise InvalidCall(f"{name}: {text} is neither a file nor a directory, and can be read only once; copy it first")
    if _PATTERN.search(place.path) and not text.startswith(_WEB):
        return _matched(place, text, name)
    raise InvalidCall(f"{name}: there is no file {text}{_nearest(place)}")


def _in_directory(place: _Place, folder: str, name: str) -> list[File]:
    shown = place.before + folder
    if place.info(f"{folder}/_delta_log").type == fs.FileType.Directory:
        raise InvalidCall(
            f"{name}: {shown} is a Delta table, and not all of its files are part of it; give "
            "deltalake.DeltaTable(...).to_pyarrow_dataset()"
        )
    files = [one for one in place.below(folder, recursive=True) if _is_file(one)]
    if not files:
        raise InvalidCall(f"{name}: the directory {shown} holds no file; names that begin with . or _ are passed over")
    return [place.file(one, _of_folder(one.path, folder)) for one in files]


def _matched(place: _Place, text: str, name: str) -> list[File]:
    parts = place.path.split("/")
    fixed = next(at for at, part in enumerate(parts) if _PATTERN.search(part))
    root = "/".join(parts[:fixed]) or ("/" if place.path.startswith("/") else ".")
    files: dict[str, File] = {}
    for info in _matching(place, root, parts[fixed:]):
        found = place.below(info.path, recursive=True) if info.type == fs.FileType.Directory else [info]
        files |= {one.path: place.file(one, _of_folder(one.path, root)) for one in found if _is_file(one)}
    if not files:
        raise InvalidCall(f"{name}: no file matches {text}")
    return [files[path] for path in sorted(files)]


def _matching(place: _Place, folder: str, pattern: Sequence[str]) -> Iterator[fs.FileInfo]:
    """What the parts of a pattern match below a folder; `**` is any number of folders."""
    first, *rest = pattern
    inside = place.below(folder) if place.info(folder).type == fs.FileType.Directory else []
    if first == "**":
        yield from _matching(place, folder, rest or ["*"])
        rest = list(pattern)
    else:
        inside = [info for info in inside if fnmatchcase(info.base_name, first)]
    for info in inside:
        if not rest:
            yield info
        elif info.type == fs.FileType.Directory:
            yield from _matching(place, info.path, rest)


def _is_file(info: fs.FileInfo) -> bool:
    return bool(info.type == fs.FileType.File)


def _is_mark(path: str, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.removeprefix(folder).strip("/").split("/"))


def _of_folder(path: str, root: str) -> dict[str, str | None]:
    """What the folders between a root and a file say: `year=2024/month=5`."""
    pairs = (part.partition("=") for part in path.removeprefix(root).strip("/").split("/")[:-1] if "=" in part)
    return {key: None if value == _NULL_IN_HIVE else unquote(value) for key, _, value in pairs}


def _nearest(place: _Place) -> str:
    folder, _, base = place.path.rpartition("/")
    if place.info(folder or ".").type != fs.FileType.Directory:
        return f"; there is no directory {place.before}{folder} either" if folder else ""
    near = difflib.get_close_matches(base, [one.base_name for one in place.below(folder or ".")], n=1)
    return f"; there is {near[0]}" if near else ""


def _place_of(text: str, name: str) -> _Place:
    address = _ADDRESS.match(text)
    if address is None:
        try:
            path = str(Path(text).expanduser())
        except RuntimeError as error:  # nobody of that name
            raise InvalidCall(f"{name}: {text} cannot be followed: {error}") from error
        return _Place(fs.LocalFileSystem(), path, "")
    scheme = address[1].lower()
    if scheme == "file":
        return _Place(fs.LocalFileSystem(), unquote(urlsplit(text).path), "")
    query = "" if scheme in _WEB or (found := _QUERY.search(text)) is None else found[0]
    server, _, path = text[address.end() :].removesuffix(query).partition("/")
    try:  # what follows the name of the server may be no URI: it may be a pattern
        filesystem, root = fs.FileSystem.from_uri(f"{address[0]}{server}{query}")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _by_fsspec(text, scheme, name)
    return _Place(filesystem, f"{root.rstrip('/')}/{path}".rstrip("/"), address[0])


def _by_fsspec(text: str, scheme: str, name: str) -> _Place:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise missing("fsspec", f"{name}: {text}", "remote") from error
    try:
        filesystem, path = url_to_fs(text)
    except (ImportError, ValueError) as error:  # a library that this kind of address needs, or no such kind
        raise InvalidCall(f"{name}: {text} cannot be reached: {error}") from error
    before = "" if "://" in path else f"{scheme}://"
    return _Place(fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path, before)
