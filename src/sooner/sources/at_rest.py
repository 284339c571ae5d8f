"""Inputs that are here as a whole, and come as fast as they can be read: no silence, and an end that is known."""

from sooner.sources.checking import CheckedSource
from sooner.sources.in_memory import TableSource
from sooner.sources.parquet_files import ParquetSource
from sooner.sources.plain_columns import PlainColumns
from sooner.sources.source import Source


def resting_rows(source: Source) -> int | None:
    """How many rows a table or Parquet files have; None of all else: it may take its time, or not know."""
    match source:
        case TableSource() | ParquetSource():
            return source.n_rows
        case PlainColumns() | CheckedSource():
            return resting_rows(source.source)
    return None
