"""Files that appear under their name when they are whole: written beside it, and renamed in the end."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sooner.errors import InvalidCall


def new_file(path: str | os.PathLike[str]) -> Path:
    """Where to write. Refused now, and not after minutes of work, if that cannot be."""
    if not isinstance(path, str | os.PathLike) or not isinstance(text := os.fspath(path), str):
        raise InvalidCall(f"path={path!r} is no path; give the name of a file")
    if "://" in text:
        raise InvalidCall(f"path={text!r} is not on this machine; write to a path, and copy the file when it is whole")
    file = Path(text).expanduser()
    if not text.strip() or file.is_dir():
        raise InvalidCall(f"path={text!r} is {'a directory' if text.strip() else 'empty'}; give the name of a file")
    if not _is_utf8(str(file.absolute())):
        raise InvalidCall(f"path={text!r} is not UTF-8; give another name")
    if not file.parent.is_dir():
        raise InvalidCall(f"path={text!r} is in a directory that is not there; make it first")
    return file.resolve()  # a link stays, and what it leads to is replaced


@contextmanager
def in_place_of(target: Path) -> Iterator[Path]:
    """A file beside it, which takes its place at the end or is gone. Readers of directories pass over hidden files."""
    file = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield file
        file.replace(target)
    finally:
        file.unlink(missing_ok=True)


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)
