"""The files of a Parquet input: which there are, what their footers say, and whether they are still the same.

Only footers are read here. Files are found again in every run, so a file that was changed, added or removed since the
query started is noticed: the same offset would mean other rows.

Not covered: folders such as `year=2024`, whose names stand for columns, and a change that leaves name, size and
modification time of a file as they were.
"""

import glob
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from pyarrow import fs

from sooner.errors import InvalidCall, SourceFailed
from sooner.extras import require
from sooner.spark.interop.locations import open_location
from sooner.spark.sources.row_order import RowGroup


@dataclass(frozen=True)
class ParquetFile:
    """A file as it was when the query was planned."""

    path: str
    size_bytes: int
    modified_nanoseconds: int
    rows_of_groups: tuple[int, ...] = field(default=(), compare=False)
    content_bytes: int = field(default=0, compare=False)  # of its rows, encoded but not compressed


@dataclass(frozen=True)
class ParquetInput:
    """All files of an input, in the order of their paths."""

    files: tuple[ParquetFile, ...]
    schema: pa.Schema

    @property
    def row_groups(self) -> list[RowGroup]:
        """The row groups of all files, in file order."""
        return [
            RowGroup(number, group, rows)
            for number, file in enumerate(self.files)
            for group, rows in enumerate(file.rows_of_groups)
        ]

    @property
    def row_bytes(self) -> float:
        """What a row weighs, on the average."""
        rows = sum(sum(file.rows_of_groups) for file in self.files)
        return sum(file.content_bytes for file in self.files) / max(rows, 1)

    @property
    def fingerprint(self) -> str:
        """Another one for other files. Where the files lie does not count, so that they can be moved together."""
        folder = _common_folder([file.path for file in self.files])
        facts = [
            [file.path.removeprefix(folder), file.size_bytes, file.modified_nanoseconds, file.rows_of_groups]
            for file in self.files
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def find_parquet(path: str, columns: Sequence[str] | None, version: int | None = None) -> ParquetInput:
    """Read the footers of a file, of a directory or of what a pattern such as `orders/*.parquet` matches.

    A Delta table has files that are no longer, or not yet, part of it: `version` tells which are.
    """
    try:
        filesystem, inside = open_location(path)
        files = _delta_files(filesystem, path, version) if is_delta(path) else _found(filesystem, inside, path)
        footers = [arrow_parquet.read_metadata(info.path, filesystem=filesystem) for info in files]
    except (pa.ArrowException, OSError) as error:
        raise InvalidCall(f"{path} cannot be read as Parquet: {error}") from error
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    for info, schema in zip(files, schemas, strict=True):
        _require_same_columns(schema, schemas[0], info.path, files[0].path)
    return ParquetInput(
        tuple(_file(info, footer) for info, footer in zip(files, footers, strict=True)),
        _only(schemas[0], columns, path),
    )


def is_delta(path: str) -> bool:
    """Whether a path is that of a Delta table."""
    filesystem, inside = open_location(path)
    return bool(filesystem.get_file_info(f"{inside}/_delta_log").type == fs.FileType.Directory)


def newest_version(path: str) -> int:
    """Of a Delta table. Refuses those that are more than their Parquet files."""
    require("deltalake", "a Delta table", "delta")
    from deltalake import DeltaTable

    table = DeltaTable(path)
    instead = "read it with Spark, or give deltalake.DeltaTable(...).to_pyarrow_dataset()"
    if table.metadata().partition_columns:
        raise InvalidCall(f"{path} has columns that are in the names of its folders; {instead}")
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise InvalidCall(f"{path} marks rows of its files as deleted; {instead}")
    return int(table.version())


def _delta_files(filesystem: fs.FileSystem, path: str, version: int | None) -> list[fs.FileInfo]:
    from deltalake import DeltaTable

    if version is None:
        raise InvalidCall(
            f"{path} is a Delta table, and not all of its files are part of it; give it to sooner.spark.enrich as "
            "master, or read it with Spark"
        )
    uris = DeltaTable(path, version=version).file_uris()
    return sorted(filesystem.get_file_info([open_location(uri)[1] for uri in uris]), key=lambda info: info.path)


def require_unchanged(filesystem: fs.FileSystem, file: ParquetFile) -> None:
    """Refuse a file that is not what it was when the batch was planned."""
    info = filesystem.get_file_info(file.path)
    if info.type != fs.FileType.File or (info.size, info.mtime_ns) != (file.size_bytes, file.modified_nanoseconds):
        raise SourceFailed(
            f"{file.path} changed while the query was running; restore it, or start over with a new checkpoint"
        )


def _found(filesystem: fs.FileSystem, inside: str, path: str) -> list[fs.FileInfo]:
    if glob.has_magic(inside) and filesystem.get_file_info(inside).type == fs.FileType.NotFound:
        if not isinstance(filesystem, fs.LocalFileSystem):
            raise InvalidCall(f"{path}: patterns work for local files only; give the directory")
        found = filesystem.get_file_info(sorted(glob.glob(inside, recursive=True)))  # noqa: PTH207 - an absolute pattern
    else:
        found = [filesystem.get_file_info(inside)]
    if not found or found[0].type == fs.FileType.NotFound:
        raise InvalidCall(f"{path}: there is no such file")
    files = [file for info in found for file in _files_of(filesystem, info, path)]
    if not files:
        raise InvalidCall(f"{path}: there is no file in it that ends in .parquet")
    return sorted(files, key=lambda info: info.path)


def _files_of(filesystem: fs.FileSystem, info: fs.FileInfo, path: str) -> list[fs.FileInfo]:
    if info.type == fs.FileType.File:
        return [info]
    inside = filesystem.get_file_info(fs.FileSelector(info.path, recursive=True))
    files = []
    for file in inside:
        parts = file.path.removeprefix(info.path).strip("/").split("/")
        # Writers put what is not (yet) data under such names: _SUCCESS, _delta_log, .part-0.crc.
        if file.type != fs.FileType.File or not parts[-1].endswith(".parquet"):
            continue
        if any(part.startswith(("_", ".")) for part in parts):
            continue
        if any("=" in part for part in parts[:-1]):
            raise InvalidCall(
                f"{path} has the folder {'/'.join(parts[:-1])!r}, whose name stands for a column; "
                "give one such folder, or files that have the column inside"
            )
        files.append(file)
    return files


def _file(info: fs.FileInfo, footer: arrow_parquet.FileMetaData) -> ParquetFile:
    groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
    rows = tuple(group.num_rows for group in groups)
    return ParquetFile(info.path, info.size, info.mtime_ns, rows, sum(group.total_byte_size for group in groups))


def _require_same_columns(schema: pa.Schema, first: pa.Schema, path: str, first_path: str) -> None:
    if not schema.equals(first):
        mine, others = (", ".join(f"{field.name} {field.type}" for field in one) for one in (schema, first))
        raise InvalidCall(f"{path} has the columns {mine}, but {first_path} has {others}; read them one by one")


def _only(schema: pa.Schema, columns: Sequence[str] | None, path: str) -> pa.Schema:
    if columns is None:
        return schema.remove_metadata()
    for column in columns:
        if schema.names.count(column) != 1:
            raise InvalidCall(f"{path}: there is no column {column!r}; there are {', '.join(schema.names)}")
    return pa.schema([schema.field(column) for column in columns])


def _common_folder(paths: Sequence[str]) -> str:
    first, last = min(paths), max(paths)
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("/", 0, same) + 1]
