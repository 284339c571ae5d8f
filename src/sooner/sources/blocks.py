"""Inputs that can be read block by block, in any order: what is read in random order is a sample of the whole.

A block is a row group of Parquet files, or a slice of a table in memory. Blocks say how many rows they have before they
are read and, where that is known, between which keys these are.

Not covered: a row group with more than 2 GB of text in a column, which cannot be one batch: it is refused when it is
read. Over a network each block that is read opens its file again.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sooner.errors import SoonerError, SourceFailed
from sooner.kernels.gathering import as_one
from sooner.sources.checking import CheckedSource
from sooner.sources.datasets import DatasetSource, is_plain_parquet
from sooner.sources.in_memory import TableSource
from sooner.sources.key_ranges import Kind, Known, NoKeys, kind_of, overlapping, range_in_memory, ranges_in_file
from sooner.sources.one_schema import as_announced
from sooner.sources.parquet_batches import is_mostly_dictionary
from sooner.sources.parquet_files import ParquetPart, ParquetSource
from sooner.sources.parquet_footer import ParquetFooter, footer_of, one_batch
from sooner.sources.plain_columns import PlainColumns, plain_batch
from sooner.sources.source import Source

MOST_BLOCKS_OF_TABLE: Final = 1_024
FEWEST_ROWS_OF_BLOCK: Final = 256


class _Pieces(Protocol):
    """How blocks of one kind of input are read, and what is known of their keys."""

    n_rows: tuple[int, ...]

    def read(self, numbers: Sequence[int], *, encoded: bool) -> pa.RecordBatch: ...

    def keys(self, number: int) -> Known: ...


class Blocks:
    """The rows of a source in pieces; any thread can read any of them at any time."""

    def __init__(self, source: Source, pieces: _Pieces, kind: Kind | None) -> None:
        self.n_rows = pieces.n_rows  # of each block
        self.kind = kind  # of keys: ranges of one kind compare
        self._pieces = pieces
        self._source = source

    def read(self, *numbers: int, encoded: bool = False) -> pa.RecordBatch:
        """Whole blocks, one after the other, as one batch with the columns of the source.

        Encoded: texts that are dictionaries in a file may stay so, which is several times as fast.
        """
        with self._blaming_the_source(numbers):
            batch = self._pieces.read(numbers, encoded=encoded)
            if encoded:
                return batch
            if not batch.schema.equals(self._source.schema):
                batch = plain_batch(batch)
            return pa.RecordBatch.from_arrays(batch.columns, schema=self._source.schema)

    def keys(self, number: int) -> tuple[Any, Any] | None:
        """The smallest and the largest key of a block, or None if that is unknown or all its keys are null.

        Dates are days since 1970, and times nanoseconds: see `key_ranges`.
        """
        known = self.known_keys(number)
        return None if isinstance(known, NoKeys) else known

    def known_keys(self, number: int) -> Known:
        """Which of the two is the case if there is no range: `NO_KEYS` if all are null, None if it is unknown."""
        return None if self.kind is None else self._pieces.keys(number)

    @contextmanager
    def _blaming_the_source(self, numbers: Sequence[int]) -> Iterator[None]:
        try:
            yield
        except SoonerError:
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            blocks = ("block " if len(numbers) == 1 else "one of the blocks ") + ", ".join(map(str, numbers))
            raise SourceFailed(f"source {self._source.name!r} failed in {blocks}: {reason}") from error


def blocks_of(source: Source, keys: Sequence[str] = ()) -> Blocks | None:
    """The blocks of a source, or None if it can only be read from its beginning.

    With one key, blocks also say between which values of it they are; with several nothing is known.

    >>> blocks_of(TableSource("left", pa.table({"k": range(600)})), ["k"]).keys(1)
    (300, 599)
    """
    key = keys[0] if len(keys) == 1 and source.schema.names.count(keys[0]) == 1 else None
    kind = kind_of(source.schema.field(key).type) if key is not None else None
    inner = source
    while isinstance(inner, CheckedSource | PlainColumns):
        inner = inner.source
    pieces = _pieces(inner, key, kind)
    return Blocks(source, pieces, kind) if pieces is not None else None


def partners(left: Blocks, right: Blocks) -> list[tuple[int, ...]] | None:
    """For each left block the right blocks that may have a key of it, ascending; None if ranges are not all known."""
    if left.kind is None or left.kind != right.kind:
        return None
    ranges_of_left = _all_known(left)
    ranges_of_right = _all_known(right) if ranges_of_left is not None else None
    if ranges_of_left is None or ranges_of_right is None:
        return None
    return overlapping(ranges_of_left, ranges_of_right)


def shuffled_order(n_blocks: int, seed: int) -> list[int]:
    """The numbers of blocks in random order, the same for the same seed."""
    order: list[int] = np.random.default_rng(seed).permutation(n_blocks).tolist()
    return order


def _all_known(blocks: Blocks) -> list[Known] | None:
    """None at the first that is not: those of tables take time."""
    found: list[Known] = []
    for number in range(len(blocks.n_rows)):
        if (known := blocks.known_keys(number)) is None:
            return None
        found.append(known)
    return found


def _pieces(source: Source, key: str | None, kind: Kind | None) -> _Pieces | None:
    match source:
        case ParquetSource():
            announced = None if source.is_as_in_files else source.schema
            return _RowGroups([_file_of(source, part) for part in source.parts], announced, key, kind)
        case DatasetSource() if is_plain_parquet(source.dataset):
            return _RowGroups(list(_files_of(source)), source.schema, key, kind)
        case TableSource():
            return _Slices(source.table, key)
    return None


class _FilePart(NamedTuple):
    footer: ParquetFooter
    row_groups: Sequence[int]
    columns: Sequence[str] | None
    of_folder: Mapping[str, object]  # what the names of its folders say


def _file_of(source: ParquetSource, part: ParquetPart) -> _FilePart:
    return _FilePart(part.footer, range(part.n_groups), source.columns_of(part), part.of_folder)


def _files_of(source: DatasetSource) -> Iterator[_FilePart]:
    for fragment in source.dataset.get_fragments():
        footer = footer_of(fragment.path, fragment.filesystem, fragment.metadata)
        yield _FilePart(footer, [group.id for group in fragment.row_groups], *source.columns_of(fragment))


class _RowGroups:
    """The row groups of all files. Those of several are made alike: `announced` is the schema of all."""

    def __init__(self, parts: list[_FilePart], announced: pa.Schema | None, key: str | None, kind: Kind | None) -> None:
        self._parts = parts
        self._announced = announced
        self._key, self._kind = key, kind
        self._places = [(part, number) for part in parts for number in part.row_groups]
        self.n_rows = tuple(part.footer.metadata.row_group(number).num_rows for part, number in self._places)

    def read(self, numbers: Sequence[int], *, encoded: bool) -> pa.RecordBatch:
        dictionaries = self._dictionaries if encoded and self._announced is None else None
        found = []
        for part, places in itertools.groupby((self._places[number] for number in numbers), key=lambda one: one[0]):
            batch = part.footer.read([row_group for _, row_group in places], part.columns, dictionaries)
            found.append(batch if self._announced is None else as_announced(batch, self._announced, part.of_folder))
        return as_one(found)

    def keys(self, number: int) -> Known:
        return self._keys[number]

    @functools.cached_property
    def _dictionaries(self) -> list[str]:
        """Columns of texts whose values repeat, by the first row group."""
        part, number = self._places[0]
        schema, group = part.footer.metadata.schema, part.footer.metadata.row_group(number)
        chunks = [group.column(at) for at in range(group.num_columns)]
        texts = {schema.column(at).path for at in range(len(chunks)) if schema.column(at).physical_type == "BYTE_ARRAY"}
        return [one.path_in_schema for one in chunks if one.path_in_schema in texts and is_mostly_dictionary(one)]

    @functools.cached_property
    def _keys(self) -> list[Known]:
        found: list[Known] = []
        for part in self._parts:
            is_read = self._key is not None and (part.columns is None or self._key in part.columns)
            in_file = list(ranges_in_file(part.footer.metadata, self._key or "", self._kind if is_read else None))
            found += (in_file[number] for number in part.row_groups)
        return found


class _Slices:
    """Slices of a table in memory, all of about one size."""

    def __init__(self, table: pa.Table, key: str | None) -> None:
        n_blocks = max(1, min(MOST_BLOCKS_OF_TABLE, table.num_rows // FEWEST_ROWS_OF_BLOCK))
        ends = [table.num_rows * number // n_blocks for number in range(n_blocks + 1)]
        self.n_rows = tuple(end - begin for begin, end in itertools.pairwise(ends))
        self._begins = ends
        self._table, self._key = table, key

    def read(self, numbers: Sequence[int], *, encoded: bool) -> pa.RecordBatch:  # noqa: ARG002 - as it is
        slices = ((number, self._table.slice(self._begins[number], self.n_rows[number])) for number in numbers)
        return as_one([one_batch(rows, f"block {number}") for number, rows in slices])

    def keys(self, number: int) -> Known:
        if self._key is None:
            return None
        return range_in_memory(self._table.column(self._key).slice(self._begins[number], self.n_rows[number]))
