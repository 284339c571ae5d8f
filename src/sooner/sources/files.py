"""Files and datasets as sources: Parquet, CSV, Arrow.

A file is opened twice: once for its schema, when the source is made, and again when it is read. In between no
handle stays open, and a source can be read more than once.

Not covered: remote paths (give a `pyarrow.dataset.Dataset`), directories of other formats than Parquet, and
parts of nested columns. In a directory or list of Parquet files the first file decides the schema; a column
that is missing in a later file is null there, as in every `pyarrow.dataset`.
"""

import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv

from sooner.errors import InvalidCall
from sooner.sources.cutting import DEFAULT_BATCH_ROWS, FIRST_BATCH_ROWS, cut
from sooner.sources.parquet_batches import AnyPath, open_parquet
from sooner.sources.parquet_footer import ParquetFooter, read_footer
from sooner.sources.source import Source

if TYPE_CHECKING:
    import pyarrow.dataset as arrow_dataset


@dataclass(frozen=True)
class ParquetSource:
    """One Parquet file, its row groups streamed."""

    name: str
    schema: pa.Schema
    path: Path
    columns: Sequence[str] | None
    batch_rows: int
    footer: ParquetFooter = field(repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """How many the footer says."""
        n_rows: int = self.footer.metadata.num_rows
        return n_rows

    @property
    def rows_are_shuffled(self) -> bool:
        """Whether the rows are in random order, as `sooner.sources.shuffle` writes them: the first are a sample."""
        return self.footer.rows_are_shuffled

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        with open_parquet(self.path) as file:
            first_rows = min(FIRST_BATCH_ROWS, self.batch_rows)  # decoded by themselves, so that they are there early
            groups = (
                file.read(group, self.columns, self.batch_rows if group else first_rows) for group in file.row_groups
            )
            yield from cut(itertools.chain.from_iterable(groups), self.batch_rows)


@dataclass(frozen=True)
class DatasetSource:
    """A `pyarrow.dataset.Dataset`: many files, any format, anywhere."""

    name: str
    schema: pa.Schema
    dataset: "arrow_dataset.Dataset"
    batch_rows: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the dataset, file by file."""
        if not is_plain_parquet(self.dataset):
            return cut(self._scanned(), self.batch_rows)
        fragments = map(self._read, self.dataset.get_fragments())
        return cut(itertools.chain.from_iterable(fragments), self.batch_rows)

    def _scanned(self) -> Iterator[pa.RecordBatch]:
        """The batches that PyArrow scans: those of Arrow files and row groups of Parquet files are read as wholes."""
        # Its defaults read far ahead: 305 MB instead of 63 MB for two files, and no faster.
        scanner = self.dataset.scanner(
            columns=self.schema.names, batch_size=self.batch_rows, batch_readahead=2, fragment_readahead=1
        )
        batches: Iterator[pa.RecordBatch] = scanner.to_batches()
        return batches

    def _read(self, fragment: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a Parquet file; what the names of its folders say of them is the same for all."""
        columns, of_folder = self.columns_of(fragment)
        with open_parquet(fragment.path, fragment.filesystem) as file:
            for row_group in fragment.row_groups:
                for batch in file.read(row_group.id, columns, self.batch_rows):
                    yield self.as_announced(batch, of_folder)

    def columns_of(self, fragment: Any) -> tuple[list[str], dict[str, object]]:
        """Which columns are read from a file, and what the names of its folders say."""
        import pyarrow.dataset as arrow_dataset

        of_folder = arrow_dataset.get_partition_keys(fragment.partition_expression)
        in_file = set(fragment.physical_schema.names) - set(of_folder)
        return [name for name in self.schema.names if name in in_file], of_folder

    def as_announced(self, batch: pa.RecordBatch, of_folder: Mapping[str, object]) -> pa.RecordBatch:
        """The batch with the columns of this source, in their types and order."""
        columns = [
            batch.column(field.name).cast(field.type)
            if field.name in batch.schema.names
            else pa.repeat(pa.scalar(of_folder.get(field.name), field.type), batch.num_rows)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


@dataclass(frozen=True)
class CsvSource:
    """One CSV file with a header line."""

    name: str
    schema: pa.Schema
    path: Path
    columns: Sequence[str] | None
    delimiter: str

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        types = {field.name: field.type for field in self.schema}
        with _open_csv(self.path, self.columns, types, self.delimiter) as reader:
            yield from cut(reader)


@dataclass(frozen=True)
class ArrowFileSource:
    """One Arrow IPC file, also known as Feather version 2, mapped into memory."""

    name: str
    schema: pa.Schema
    path: Path

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        with pa.memory_map(str(self.path)) as mapped, pa.ipc.open_file(mapped) as file:
            yield from cut(file.get_batch(index) for index in range(file.num_record_batches))


def parquet(
    path: AnyPath | Sequence[AnyPath],
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    name: str | None = None,
) -> Source:
    """A Parquet file, a directory of them (partitioned as Hive and Spark do, or not), or a list of files.

    `columns` limits and orders the columns. No batch has more than `batch_rows` rows; the first have fewer.
    """
    if batch_rows < 1:
        raise InvalidCall(f"batch_rows is {batch_rows}; give 1 or more")
    if not isinstance(path, str | os.PathLike):
        return _parquet_list([Path(one) for one in path], columns, batch_rows, name or "parquet")
    file = Path(path)
    name = name or file.name
    if file.is_dir():
        return _parquet_directory(file, columns, batch_rows, name)
    _require_file(file, name)
    with _refusing(f"{name}: {file} cannot be read as Parquet"):
        footer = read_footer(file)
        schema = footer.metadata.schema.to_arrow_schema()
    return ParquetSource(name, _only(schema, columns, name), file, columns, batch_rows, footer)


def csv(
    path: AnyPath,
    *,
    columns: Sequence[str] | None = None,
    column_types: Mapping[str, pa.DataType] | None = None,
    delimiter: str = ",",
    name: str | None = None,
) -> Source:
    """A CSV file with a header line, compressed or not.

    Types that `column_types` does not give are guessed from the first megabyte; a later value of another type
    fails the source. `columns` limits and orders the columns.
    """
    file = Path(path)
    name = name or file.name
    _require_file(file, name)
    with (
        _refusing(f"{name}: {file} cannot be read as CSV"),
        _open_csv(file, None, column_types, delimiter) as reader,
    ):
        schema = reader.schema
    for column in column_types or ():
        _require_column(schema, column, name)
    return CsvSource(name, _only(schema, columns, name), file, columns, delimiter)


def arrow_file(path: AnyPath, *, name: str | None = None) -> Source:
    """An Arrow IPC file: `.arrow`, or `.feather` of version 2."""
    file = Path(path)
    name = name or file.name
    _require_file(file, name)
    with (
        _refusing(f"{name}: {file} cannot be read as an Arrow file"),
        pa.memory_map(str(file)) as mapped,
        pa.ipc.open_file(mapped) as reader,
    ):
        return ArrowFileSource(name, reader.schema, file)


def is_dataset(thing: Any, kind: Literal["Dataset", "Scanner"]) -> bool:
    """Whether this is of `pyarrow.dataset`, which is not loaded to find out: who made one has loaded it."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(thing, getattr(module, kind))


def dataset_source(
    dataset: "arrow_dataset.Dataset",
    name: str,
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
) -> Source:
    """A `pyarrow.dataset.Dataset`; unlike other sources it cannot have two columns of one name."""
    wanted = dataset.schema.names if columns is None else columns
    return DatasetSource(name, _only(dataset.schema, wanted, name), dataset, batch_rows)


def _parquet_list(files: list[Path], columns: Sequence[str] | None, batch_rows: int, name: str) -> Source:
    if not files:
        raise InvalidCall(f"{name}: the list of Parquet files is empty; give at least one path")
    for file in files:
        _require_file(file, name)
    with _refusing(f"{name}: the list of files cannot be read as Parquet"):
        dataset = _parquet_dataset([str(file) for file in files])
    return dataset_source(dataset, name, columns=columns, batch_rows=batch_rows)


def _parquet_directory(folder: Path, columns: Sequence[str] | None, batch_rows: int, name: str) -> Source:
    if (folder / "_delta_log").is_dir():
        raise InvalidCall(
            f"{name}: {folder} is a Delta table, and not all of its files are part of it; give "
            "deltalake.DeltaTable(...).to_pyarrow_dataset()"
        )
    with _refusing(f"{name}: {folder} cannot be read as a directory of Parquet files"):
        dataset = _parquet_dataset(str(folder), partitioning="hive")
    if not dataset.files:
        raise InvalidCall(f"{name}: the directory {folder} holds no Parquet file")
    return dataset_source(dataset, name, columns=columns, batch_rows=batch_rows)


def _parquet_dataset(source: str | list[str], partitioning: str | None = None) -> "arrow_dataset.Dataset":
    import pyarrow.dataset as arrow_dataset  # here, because it loads pandas, which takes longer than all else

    options = arrow_dataset.ParquetFragmentScanOptions(pre_buffer=False)
    format_ = arrow_dataset.ParquetFileFormat(default_fragment_scan_options=options)
    return arrow_dataset.dataset(source, format=format_, partitioning=partitioning)


def is_plain_parquet(dataset: "arrow_dataset.Dataset") -> bool:
    """Whether it consists of Parquet files, all rows of which are meant."""
    import pyarrow.dataset as arrow_dataset

    return (
        isinstance(dataset, arrow_dataset.FileSystemDataset)
        and isinstance(dataset.format, arrow_dataset.ParquetFileFormat)
        and not dataset._scan_options  # a filter
    )


def _open_csv(
    path: Path,
    columns: Sequence[str] | None,
    column_types: Mapping[str, pa.DataType] | None,
    delimiter: str,
) -> arrow_csv.CSVStreamingReader:
    return arrow_csv.open_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
        convert_options=arrow_csv.ConvertOptions(include_columns=columns, column_types=column_types),
    )


def _require_file(path: Path, name: str) -> None:
    if path.is_dir():
        raise InvalidCall(f"{name}: {path} is a directory; give a file")
    if not path.exists():
        raise InvalidCall(f"{name}: there is no file {path}")


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


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Files that cannot be opened are bad arguments: no row has been read yet."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InvalidCall(f"{what}: {error}") from error
    except UnicodeEncodeError as error:  # Arrow takes names that are text
        raise InvalidCall(f"{what}: its name is not UTF-8; rename it") from error
