"""Datasets of PyArrow as sources: many files, any format, anywhere, as who made them wants them to be read."""

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sooner.errors import InvalidCall
from sooner.sources.cutting import DEFAULT_BATCH_ROWS, cut
from sooner.sources.one_schema import as_announced, columns_to_read
from sooner.sources.parquet_batches import open_parquet
from sooner.sources.source import Source

if TYPE_CHECKING:
    import pyarrow.dataset as arrow_dataset


@dataclass(frozen=True)
class DatasetSource:
    """A `pyarrow.dataset.Dataset`."""

    name: str
    schema: pa.Schema
    dataset: "arrow_dataset.Dataset"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the dataset, file by file."""
        if not is_plain_parquet(self.dataset):
            return cut(self._scanned())
        fragments = map(self._read, self.dataset.get_fragments())
        return cut(itertools.chain.from_iterable(fragments))

    def _scanned(self) -> Iterator[pa.RecordBatch]:
        """The batches that PyArrow scans: those of Arrow files and row groups of Parquet files are read as wholes."""
        # Its defaults read far ahead: 305 MB instead of 63 MB for two files, and no faster.
        scanner = self.dataset.scanner(
            columns=self.schema.names, batch_size=DEFAULT_BATCH_ROWS, batch_readahead=2, fragment_readahead=1
        )
        batches: Iterator[pa.RecordBatch] = scanner.to_batches()
        return batches

    def _read(self, fragment: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a Parquet file; what the names of its folders say of them is the same for all."""
        columns, of_folder = self.columns_of(fragment)
        with open_parquet(fragment.path, fragment.filesystem) as file:
            for row_group in fragment.row_groups:
                for batch in file.read(row_group.id, columns, DEFAULT_BATCH_ROWS):
                    yield as_announced(batch, self.schema, of_folder)

    def columns_of(self, fragment: Any) -> tuple[list[str], dict[str, object]]:
        """Which columns are read from a file, and what the names of its folders say."""
        import pyarrow.dataset as arrow_dataset

        of_folder = arrow_dataset.get_partition_keys(fragment.partition_expression)
        return columns_to_read(self.schema, fragment.physical_schema, of_folder), of_folder


def is_of(thing: object, module: str, kind: str) -> bool:
    """Whether this is of a library that is not loaded to find out: who made it has loaded it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(thing, getattr(loaded, kind))


def dataset_source(dataset: "arrow_dataset.Dataset", name: str) -> Source:
    """Unlike other sources it cannot have two columns of one name."""
    names = dataset.schema.names
    for column in names:
        if names.count(column) > 1:
            raise InvalidCall(f"{name}: there are {names.count(column)} columns {column!r}; rename all but one")
    return DatasetSource(name, dataset.schema, dataset)


def is_plain_parquet(dataset: "arrow_dataset.Dataset") -> bool:
    """Whether it consists of Parquet files, all rows of which are meant."""
    import pyarrow.dataset as arrow_dataset

    return (
        isinstance(dataset, arrow_dataset.FileSystemDataset)
        and isinstance(dataset.format, arrow_dataset.ParquetFileFormat)
        and not dataset._scan_options  # a filter
    )
