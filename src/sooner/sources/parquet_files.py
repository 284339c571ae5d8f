"""Parquet files as a source, one or many: row groups that are read in their order, or as blocks in any.

All footers are read when the source is made, so it knows how many rows there are, and all columns.

Not covered: parts of nested columns.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from sooner.finalizing import Finalizer
from sooner.sources.cutting import FIRST_BATCH_ROWS, cut
from sooner.sources.one_schema import as_announced, columns_to_read
from sooner.sources.parquet_batches import ParquetBatches, open_parquet
from sooner.sources.parquet_footer import ParquetFooter, read_footer
from sooner.sources.paths import File

_COPIED_BYTES: Final = 2**20


@dataclass(frozen=True)
class ParquetPart:
    """One of the files: its own columns, and what the names of its folders say of all its rows."""

    footer: ParquetFooter
    of_folder: dict[str, Any] = field(default_factory=dict)
    unpacked: object = None  # kept as long as the source is

    @property
    def schema(self) -> pa.Schema:
        """Of the file itself."""
        return self.footer.metadata.schema.to_arrow_schema()

    @property
    def n_groups(self) -> int:
        n_groups: int = self.footer.metadata.num_row_groups
        return n_groups

    @contextmanager
    def open(self) -> Iterator[ParquetBatches]:
        with open_parquet(self.footer.path, self.footer.filesystem, footer=self.footer.metadata) as file:
            self.footer.require_same_file()
            yield file


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files with the same columns, their row groups streamed."""

    name: str
    schema: pa.Schema
    parts: Sequence[ParquetPart] = field(repr=False, compare=False)
    columns: Sequence[str] | None
    batch_rows: int

    @property
    def n_rows(self) -> int:
        """How many the footers say."""
        return sum(part.footer.metadata.num_rows for part in self.parts)

    @property
    def rows_are_shuffled(self) -> bool:
        """Whether the rows are in random order, as `sooner.sources.shuffle` writes them: the first are a sample."""
        return len(self.parts) == 1 and self.parts[0].footer.rows_are_shuffled

    @property
    def is_as_in_files(self) -> bool:
        """Whether there is one file, of which nothing has to be changed."""
        return len(self.parts) == 1 and not self.parts[0].of_folder

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the files, one after the other."""
        return cut(itertools.chain.from_iterable(map(self._read, self.parts)), self.batch_rows)

    def read(self, part: ParquetPart, file: ParquetBatches, group: int, most_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a row group of a file that is open."""
        for batch in file.read(group, self.columns_of(part), most_rows):
            yield batch if self.is_as_in_files else as_announced(batch, self.schema, part.of_folder)

    def columns_of(self, part: ParquetPart) -> Sequence[str] | None:
        """Which columns are read from a file; None is all."""
        if self.is_as_in_files:
            return self.columns
        return columns_to_read(self.schema, part.schema, part.of_folder)

    def _read(self, part: ParquetPart) -> Iterator[pa.RecordBatch]:
        rows = min(FIRST_BATCH_ROWS, self.batch_rows)  # decoded by themselves, so that they are there early
        with part.open() as file:
            for group in file.row_groups:
                yield from self.read(part, file, group, rows)
                rows = self.batch_rows


def parquet_part(file: File) -> ParquetPart:
    """A file with its footer, which is read."""
    if file.compression is None:
        return ParquetPart(read_footer(file.path, file.filesystem))
    unpacked = _Unpacked(file)
    return ParquetPart(read_footer(unpacked.path, fs.LocalFileSystem()), unpacked=unpacked)


class _Unpacked:
    """What a compressed file has in it, beside other temporary files: Parquet is not read from its beginning on."""

    def __init__(self, file: File) -> None:
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="sooner-", suffix=".parquet", delete=False) as copy:
            Finalizer(self, Path(copy.name).unlink, True)  # also if it is gone
            with file.open() as packed:
                while piece := packed.read(_COPIED_BYTES):
                    copy.write(piece)
        self.path = copy.name
