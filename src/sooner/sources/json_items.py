"""An array of JSON objects as lines, an object each, since that is what PyArrow reads; only some text is in memory."""

import io
import json
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

_CHARACTERS: Final = 2**18  # that are read at a time
_BLANKS: Final = " \t\r\n"
_NO_BREAKS: Final = str.maketrans("\r\n", "  ")  # between values: in a text there is none


class ItemsAsLines(io.RawIOBase):
    """A file of bytes."""

    def __init__(self, stream: pa.NativeFile, address: str) -> None:
        self._items = _Items(io.TextIOWrapper(stream, "utf-8-sig"), address)
        self._lines = iter(self._items)
        self._line = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as are asked for, unless this is the end."""
        parts, n_bytes = [self._line], len(self._line)
        while (size < 0 or n_bytes < size) and (line := next(self._lines, None)) is not None:
            parts.append(line)
            n_bytes += len(line)
        found = b"".join(parts)
        cut = n_bytes if size < 0 else size
        self._line = found[cut:]
        return found[:cut]


class _Items:
    def __init__(self, file: io.TextIOBase, address: str) -> None:
        self._file = file
        self._address = address
        self._decoder = json.JSONDecoder()
        self._text, self._at = "", 0

    def __iter__(self) -> Iterator[bytes]:
        """The text of each object, in a line."""
        self._require("[")
        while self._next() != "]":
            yield self._object().translate(_NO_BREAKS).encode() + b"\n"
            if self._next() != "]":
                self._require(",")
        self._require("]")
        if self._next():
            raise self._refused("something follows the array")

    def _object(self) -> str:
        while True:
            try:
                item, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._read(len(self._text) - self._at):
                    raise self._refused(error.msg) from None
                continue
            text, self._at = self._text[self._at : end], end
            if not isinstance(item, dict):
                raise self._refused(f"the array holds {text[:40]}, which is no object with fields")
            return text

    def _require(self, mark: str) -> None:
        if self._next() != mark:
            raise self._refused(f"there should be a {mark!r}")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no blank; nothing at the end."""
        while True:
            while self._at < len(self._text):
                if (character := self._text[self._at]) not in _BLANKS:
                    return character
                self._at += 1
            if not self._read():
                return ""

    def _read(self, least: int = 0) -> bool:
        """Some more text, if there is any: of a large object as much as there is, or this would take ages."""
        more = self._file.read(max(least, _CHARACTERS))
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _refused(self, why: str) -> ValueError:
        return ValueError(f"{self._address} is no array of JSON objects: {why}")
