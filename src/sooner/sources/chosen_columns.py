"""Some columns of a source: files are read for no others, and of other sources the rest is let go."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from sooner.sources.checking import CheckedSource, checked
from sooner.sources.datasets import DatasetSource
from sooner.sources.files import FileSource
from sooner.sources.in_memory import TableSource
from sooner.sources.parquet_files import ParquetSource
from sooner.sources.plain_columns import PlainColumns, with_plain_columns
from sooner.sources.source import Source, close_source, n_rows_of


class ChosenColumns:
    def __init__(self, source: Source, names: Sequence[str]) -> None:
        self._source = source
        self._names = list(names)
        self.name = source.name
        self.n_rows = n_rows_of(source)
        self.schema = pa.schema([source.schema.field(name) for name in names], source.schema.metadata)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source, without the other columns."""
        return (batch.select(self._names) for batch in self._source.batches())

    def close(self) -> None:
        """Close the source."""
        close_source(self._source)


def only_columns(source: Source, names: Sequence[str]) -> Source:
    """The same rows with these columns, each of which is there once."""
    chosen = ChosenColumns(checked(source), names)
    match source:
        case ParquetSource() | FileSource():
            return replace(source, schema=chosen.schema, columns=list(names))
        case DatasetSource():
            return replace(source, schema=chosen.schema)
        case TableSource():
            return replace(source, table=source.table.select(list(names)))
        case PlainColumns():  # or columns would be read, and made plain, to be let go
            return with_plain_columns(only_columns(source.source, names))
        case CheckedSource():
            return checked(only_columns(source.source, names))
    return chosen
