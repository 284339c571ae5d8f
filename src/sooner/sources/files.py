"""Files as sources: one, a directory, those that a pattern matches, or a list of all these, as long as all are alike.

Files are opened for their schema when the source is made, and again when they are read. In between no handle stays
open, and a source can be read more than once.

Not covered: files of several formats in one source.
"""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeGuard, TypeVar

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.sources.cutting import DEFAULT_BATCH_ROWS, cut
from sooner.sources.formats import Format, format_of, may_be_empty, with_compression
from sooner.sources.one_schema import as_announced, columns_to_read, schema_of_all, with_folders
from sooner.sources.parquet_files import ParquetSource, parquet_part
from sooner.sources.paths import AnyPath, File, files_at, is_local
from sooner.sources.source import Source

T = TypeVar("T")

AnyPaths: TypeAlias = AnyPath | Sequence[AnyPath]

_THREADS: Final = 16


class FileFormat(Protocol):
    """How files are read that come from their beginning to their end."""

    said: ClassVar[str]  # "cannot be read as ..."
    has_all_fields: ClassVar[bool]  # or what a row does not name is null

    def schema(self, file: File) -> pa.Schema: ...

    def batches(self, file: File, schema: pa.Schema, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class FileSource:
    """Files that are streamed, one after the other."""

    name: str
    schema: pa.Schema
    files: Sequence[File] = field(repr=False)
    of_folders: Sequence[Mapping[str, Any]] = field(repr=False)
    format: FileFormat
    in_files: pa.Schema = field(repr=False)  # all columns that they have
    columns: Sequence[str] | None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the files."""
        return cut(itertools.chain.from_iterable(map(self._read, self.files, self.of_folders)))

    def _read(self, file: File, of_folder: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        if len(self.files) == 1 and not of_folder:
            return self.format.batches(file, self.in_files, self.columns)
        wanted = columns_to_read(self.schema, self.in_files, of_folder)
        batches = self.format.batches(file, self.in_files, wanted)
        return (as_announced(batch, self.schema, of_folder) for batch in batches)


def file_source(path: AnyPaths, name: str) -> Source:
    """Files of any format that is known by their names, or else by their content.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "rows.csv")
    >>> file.write_text("k,v\\n1,one\\n2,two\\n")
    16
    >>> file_source(file, "left").schema.names
    ['k', 'v']
    """
    found = _of_each(_found(path, name), partial(format_of, name=name), "a file of rows", name)
    (format_, first), *others = found
    for other, file in others:
        if other != format_:
            raise InvalidCall(
                f"{name}: {first.address} is {format_} and {file.address} is {other}; all files of an input have one "
                "format, which a pattern such as 'rows/*.csv' can choose"
            )
    opened = [file for _, file in found]
    if format_ == "parquet":
        return _parquet(opened, None, DEFAULT_BATCH_ROWS, name)
    return _streamed(opened, _reading(format_), None, name)


def parquet(
    path: AnyPaths,
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    name: str | None = None,
) -> Source:
    """Parquet files: one, a directory (partitioned as Hive and Spark do, or not), a pattern, or a list of these.

    `columns` limits and orders the columns. No batch has more than `batch_rows` rows; the first have fewer.
    """
    if batch_rows < 1:
        raise InvalidCall(f"batch_rows is {batch_rows}; give 1 or more")
    name = name or _name_of(path)
    return _parquet(_found_and_unpacked(path, name), columns, batch_rows, name)


def csv(
    path: AnyPaths,
    *,
    columns: Sequence[str] | None = None,
    column_types: Mapping[str, pa.DataType] | None = None,
    delimiter: str | None = None,
    name: str | None = None,
) -> Source:
    """Files of delimited text with a line of names, compressed or not.

    Types that `column_types` does not give are guessed from the first megabyte; a later value of another type
    fails the source. `columns` limits and orders the columns. The delimiter is by default the one that is most frequent
    in the first line: a comma, a tab, a semicolon or a bar.
    """
    from sooner.sources.text_files import DelimitedText

    name = name or _name_of(path)
    source = _streamed(_found_and_unpacked(path, name), DelimitedText(delimiter, column_types), columns, name)
    for column in column_types or ():
        _require_column(source.in_files, column, name)
    return source


def json(path: AnyPaths, *, columns: Sequence[str] | None = None, name: str | None = None) -> Source:
    """Files of JSON objects, in lines, one after the other or in an array, compressed or not.

    Columns and types are those of the first megabyte; a later value of another type, or a new field, fails the source.
    """
    from sooner.sources.text_files import JsonText

    name = name or _name_of(path)
    return _streamed(_found_and_unpacked(path, name), JsonText(), columns, name)


def is_path(thing: object) -> TypeGuard[AnyPath]:
    return isinstance(thing, str | os.PathLike)


def _reading(format_: Format) -> FileFormat:
    """How it is read; most queries are of Parquet files, and need nothing of this."""
    if format_ == "arrow":
        from sooner.sources.arrow_files import ArrowFiles

        return ArrowFiles()
    from sooner.sources.text_files import DelimitedText, JsonText

    return JsonText() if format_ == "json" else DelimitedText("\t" if format_ == "tsv" else None)


def _parquet(found: Sequence[File], columns: Sequence[str] | None, batch_rows: int, name: str) -> Source:
    parts = _of_each(found, parquet_part, "Parquet", name)
    in_files = schema_of_all(found, [part.schema for part in parts], name)
    schema, of_folders = with_folders(in_files, found, name)
    parts = [replace(part, of_folder=values) for part, values in zip(parts, of_folders, strict=True)]
    return ParquetSource(name, _only(schema, columns, name), parts, columns, batch_rows)


def _streamed(found: Sequence[File], format_: FileFormat, columns: Sequence[str] | None, name: str) -> FileSource:
    schemas = _of_each(found, format_.schema, format_.said, name)
    in_files = schema_of_all(found, schemas, name, nulls_where_missing=not format_.has_all_fields)
    schema, of_folders = with_folders(in_files, found, name)
    return FileSource(name, _only(schema, columns, name), found, of_folders, format_, in_files, columns)


def _found(path: AnyPaths, name: str) -> list[File]:
    paths = [path] if isinstance(path, str | os.PathLike) else path
    found = [file for one in paths for file in files_at(one, name)]
    if not found:
        raise InvalidCall(f"{name}: the list of files is empty; give at least one path")
    with_rows = [file for file in found if file.n_bytes != 0 or not may_be_empty(file)]
    if not with_rows:
        raise InvalidCall(
            f"{name}: {found[0].address} is empty, so nobody knows its columns; give a file that names them"
        )
    return with_rows


def _found_and_unpacked(path: AnyPaths, name: str) -> list[File]:
    return _of_each(_found(path, name), with_compression, "a file of rows", name)


def _of_each(found: Sequence[File], work: Callable[[File], T], said: str, name: str) -> list[T]:
    """What is to be known of each file before it is read; over a network by several threads."""

    def of(file: File) -> T:
        try:
            return work(file)
        except InvalidCall:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:  # no row has been read yet: it is a bad argument
            raise InvalidCall(f"{name}: {file.address} cannot be read as {said}: {error}") from error

    if len(found) == 1 or is_local(found[0]):
        return list(map(of, found))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(of, found))


def _name_of(path: AnyPaths) -> str:
    if isinstance(path, str | os.PathLike):
        return os.fspath(path).rstrip("/").rpartition("/")[2]
    return "files"


def _only(schema: pa.Schema, columns: Sequence[str] | None, name: str) -> pa.Schema:
    """The schema of the chosen columns, each of which must be there once and be asked for once."""
    if columns is None:
        return schema
    if isinstance(columns, str) or not columns:
        raise InvalidCall(f"{name}: columns is {columns!r}; give a list of at least one column name")
    for column in columns:
        _require_column(schema, column, name)
        if columns.count(column) > 1:
            raise InvalidCall(f"{name}: columns names {column!r} {columns.count(column)} times; name it once")
    return pa.schema([schema.field(column) for column in columns], schema.metadata)


def _require_column(schema: pa.Schema, column: str, name: str) -> None:
    found = schema.names.count(column)
    if found == 0:
        raise InvalidCall(f"{name}: there is no column {column!r}; there are {', '.join(schema.names)}")
    if found > 1:
        raise InvalidCall(f"{name}: there are {found} columns {column!r}; rename all but one")
