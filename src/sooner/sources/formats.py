"""What is in a file: by the ending of its name, or else by how its content begins."""

import json
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, TypeVar

from sooner.errors import InvalidCall
from sooner.sources.paths import LOOKED_AT_BYTES, File

T = TypeVar("T")

Format: TypeAlias = Literal["parquet", "arrow", "csv", "tsv", "json"]

FORMATS: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
DELIMITERS: Final = ",\t;|"

_PACKED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
_BINARY: Final[dict[bytes, Format]] = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_QUOTED: Final = re.compile(r'"[^"]*"')
_BYTE_ORDER_MARK: Final = "\ufeff"


def named_format(file_name: str) -> tuple[Format | None, str | None]:
    """The format and the compression that a name says: `orders.csv.gz`."""
    stem, ending = _split(file_name)
    compression = COMPRESSIONS.get(ending)
    if compression is not None:
        _, ending = _split(stem)
    return FORMATS.get(ending), compression


def may_be_empty(file: File) -> bool:
    """Whether a file of no bytes may be one of several: some writers leave such for parts of text without rows."""
    return named_format(file.file_name)[0] not in _BINARY.values()


def format_of(file: File, name: str) -> tuple[Format, File]:
    """What is in a file, and the file with how it is packed. Only names that do not say it are looked into."""
    file = with_compression(file)
    format_, _ = named_format(file.file_name)
    if format_ is None:
        begin = file.beginning()
        format_ = _marked(begin, _BINARY) or _text_format(begin, file, name)
    return format_, file


def with_compression(file: File) -> File:
    """The file with how it is packed, if anything is known of that: by its name, or else by its content."""
    format_, compression = named_format(file.file_name)
    if format_ is None and compression is None:
        compression = _marked(file.beginning(), _PACKED)
    return file._replace(compression=compression)


def delimiter_in(begin: bytes) -> str | None:
    """The most frequent delimiter of the first line, or None if there is none."""
    line = _QUOTED.sub("", _text(begin).partition("\n")[0])
    counts = {delimiter: line.count(delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=counts.__getitem__)  # of equals the first
    return best if counts[best] else None


def is_json_array(begin: bytes) -> bool:
    return _text(begin).lstrip().startswith("[")


def are_json_lines(begin: bytes) -> bool:
    """Whether the first line is a whole value, or a line that is too long to see."""
    line, end, _ = _text(begin).lstrip().partition("\n")
    try:
        json.loads(line)
    except ValueError:
        return not end and len(begin) >= LOOKED_AT_BYTES
    return True


def _text_format(begin: bytes, file: File, name: str) -> Format:
    if b"\0" not in begin:
        if _text(begin).lstrip().startswith(("{", "[")):
            return "json"
        if delimiter_in(begin) is not None:
            return "csv"
    _, ending = _split(file.file_name)
    raise InvalidCall(
        f"{name}: {file.address} {f'ends in {ending!r}' if ending else 'has no ending'}, and by its first bytes it is "
        f"none of Parquet, Arrow, JSON and delimited text; give a name that ends in one of {', '.join(FORMATS)}, open "
        "it yourself with sooner.sources, or choose the files beside it by a pattern such as '*.csv'"
    )


def _text(begin: bytes) -> str:
    return begin.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)


def _split(file_name: str) -> tuple[str, str]:
    stem, dot, ending = file_name.rpartition(".")
    return (stem, f".{ending.lower()}") if dot else (file_name, "")


def _marked(begin: bytes, marks: Mapping[bytes, T]) -> T | None:
    return next((meaning for mark, meaning in marks.items() if begin.startswith(mark)), None)
