"""Rows by their columns, as compiled loops are told of them and as Arrow has them.

Loops are told by Arrow's C data interface. Rows that are gathered, or read from a block, lie in one buffer, and a table
of their columns in another: Arrow's own arrays are made of them when somebody asks, since to make them takes longer for
many columns than most loops on few rows do.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.native import address, addresses, capsule_address, loop, prototypes
from sooner.kernels.native.prototypes import Address

BITS: Final = "bits"
TEXTS: Final = "texts"
OTHER: Final = "other"
Layout: TypeAlias = int | Literal["bits", "texts", "other"]  # a number is the bytes of each value
_LAYOUTS_IN_C: Final = {BITS: -1, TEXTS: -2, OTHER: -4}
_LARGE_TEXTS_IN_C: Final = -3
_BATCH_WORDS: Final = 10  # of a table: a struct of Arrow's for the batch,
_COLUMN_WORDS: Final = 14  # and where that of a column is, the struct itself, and where its buffers are

Words: TypeAlias = npt.NDArray[np.int64]

_slice_columns: Final = loop(prototypes.slice_columns)
_choose_columns: Final = loop(prototypes.choose_columns)
_bytes_of_columns: Final = loop(prototypes.bytes_of_columns)


@dataclass(frozen=True, eq=False)
class Layouts:
    """How the columns of a schema lie in memory; to ask a schema takes longer than to remember what it said."""

    schema: pa.Schema

    @cached_property
    def types(self) -> list[pa.DataType]:
        types: list[pa.DataType] = self.schema.types
        return types

    @cached_property
    def _in_c(self) -> Words:
        return np.array([_layout_in_c(kind) for kind in self.types], np.int64)

    @cached_property
    def in_c(self) -> tuple[int, Address]:
        """For loops: how many columns there are, and where their layouts are told."""
        return len(self.types), address(self._in_c)

    @cached_property
    def are_plain(self) -> bool:
        """Whether all columns have numbers, texts and the like, which compiled loops know."""
        return OTHER not in map(layout_of, self.types)


@functools.cache
def layouts_of(schema: pa.Schema) -> Layouts:
    return Layouts(schema)


@functools.cache
def layout_of(kind: pa.DataType) -> Layout:
    """How the values of a column of this type lie in memory."""
    types = pa.types
    if types.is_boolean(kind):
        return BITS
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind):
        width: int = kind.bit_width // 8
        return width
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return TEXTS
    return OTHER


def _layout_in_c(kind: pa.DataType) -> int:
    if kind in (pa.large_string(), pa.large_binary()):
        return _LARGE_TEXTS_IN_C
    layout = layout_of(kind)
    return layout if isinstance(layout, int) else _LAYOUTS_IN_C[layout]


class Named(Protocol):
    """Rows, as far as anybody asks for a column by its name: a batch of Arrow's, or `Columns`."""

    def column(self, name: str, /) -> pa.Array: ...


class Columns:
    """Immutable rows of one schema."""

    def __init__(self, layouts: Layouts, n_rows: int, source: "_Source") -> None:
        self.layouts = layouts
        self._n_rows = n_rows
        self._source = source
        self._arrays: dict[int, pa.Array] = {}
        self._choices: dict[tuple[int, ...], Columns] = {}

    @staticmethod
    def of(rows: pa.RecordBatch) -> "Columns":
        return Columns(layouts_of(rows.schema), rows.num_rows, _Batch(rows))

    def __len__(self) -> int:
        return self._n_rows

    @property
    def schema(self) -> pa.Schema:
        return self.layouts.schema

    @property
    def address(self) -> Address:
        """Where they are told."""
        return self._source.address

    @cached_property
    def rows(self) -> pa.RecordBatch:
        return self._source.batch or pa.RecordBatch.from_arrays(self.arrays, schema=self.schema)

    @property
    def arrays(self) -> list[pa.Array]:
        return [self.array(number) for number in range(len(self.layouts.types))]

    def array(self, number: int) -> pa.Array:
        if (found := self._arrays.get(number)) is None:
            found = self._arrays[number] = self._source.array(number)
        return found

    def column(self, name: str, /) -> pa.Array:
        return self.array(self.schema.get_field_index(name))

    @cached_property
    def n_bytes(self) -> int:
        """What they take in memory, as Arrow's `nbytes` has it."""
        if not self._source.is_packed:
            return int(self.rows.nbytes)
        return _bytes_of_columns(0, *self.layouts.in_c, self.address)

    def slice(self, begin: int, end: int) -> "Columns":
        """The rows at positions begin to end, sharing buffers with these."""
        n_rows = max(end - begin, 0)
        return Columns(self.layouts, n_rows, _Slice(self, begin, n_rows))

    def only(self, numbers: tuple[int, ...]) -> "Columns":
        """Some of the columns, by their numbers."""
        if numbers == tuple(range(len(self.layouts.types))):
            return self
        if numbers not in self._choices:
            chosen = _Choice([(self._source, number) for number in numbers])  # which knows nothing of these: no cycle
            self._choices[numbers] = Columns(_chosen(self.layouts, numbers), len(self), chosen)
        return self._choices[numbers]


@functools.cache
def _chosen(layouts: Layouts, numbers: tuple[int, ...]) -> Layouts:
    return Layouts(pa.schema([layouts.schema.field(number) for number in numbers]))


def side_by_side(layouts: Layouts, sides: Sequence[Columns]) -> Columns:
    """All columns of several that have equally many rows."""
    columns = [(side._source, number) for side in sides for number in range(len(side.layouts.types))]
    return Columns(layouts, len(sides[0]), _Choice(columns))


def packed(layouts: Layouts, n_rows: int, buffer: pa.Buffer, spans: Words, nulls: Words, table: Words) -> Columns:
    """Columns that a compiled loop has put into one buffer and told in a table: where in the buffer each of a column's
    own begins, and how large it is.
    """
    return Columns(layouts, n_rows, _Packed(layouts.types, n_rows, buffer, spans, nulls, table))


def new_table(n_columns: int) -> Words:
    """Room for what loops are told of so many columns."""
    return np.empty(_BATCH_WORDS + _COLUMN_WORDS * n_columns, np.int64)


class _Source(Protocol):
    """Where columns come from."""

    @property
    def address(self) -> Address: ...

    @property
    def batch(self) -> pa.RecordBatch | None:
        """All of them as Arrow has them, if that is there."""

    @property
    def is_packed(self) -> bool:
        """Whether no two columns share a buffer, and none says of each row that it is not null."""

    def array(self, number: int) -> pa.Array: ...


@dataclass(frozen=True)
class _Batch:
    batch: pa.RecordBatch
    is_packed = False

    @cached_property
    def _capsules(self) -> tuple[object, object]:
        """They own what is told."""
        capsules: tuple[object, object] = self.batch.__arrow_c_array__()
        return capsules

    @cached_property
    def address(self) -> Address:
        return capsule_address(self._capsules[1], "arrow_array")

    def array(self, number: int) -> pa.Array:
        return self.batch.column(number)


@dataclass(frozen=True)
class _Packed:
    types: Sequence[pa.DataType]
    n_rows: int
    buffer: pa.Buffer
    spans: Words
    nulls: Words
    table: Words
    batch = None
    is_packed = True

    @property
    def address(self) -> Address:
        return address(self.table)

    def array(self, number: int) -> pa.Array:
        kind, nulls = self.types[number], int(self.nulls[number])
        validity, values, texts = self.spans[number].tolist()
        buffers = [self.buffer.slice(*validity) if nulls else None, self.buffer.slice(*values)]
        if layout_of(kind) == TEXTS:
            buffers.append(self.buffer.slice(*texts))
        return pa.Array.from_buffers(kind, self.n_rows, buffers, null_count=nulls)


@dataclass(frozen=True)
class _Slice:
    of: Columns
    begin: int
    n_rows: int

    @cached_property
    def _table(self) -> Words:
        n_columns = len(self.of.layouts.types)
        table = new_table(n_columns)
        _slice_columns(0, n_columns, self.of.address, self.begin, self.n_rows, address(table))
        return table

    @property
    def address(self) -> Address:
        return address(self._table)

    @property
    def batch(self) -> pa.RecordBatch:
        return self.of.rows.slice(self.begin, self.n_rows)

    @property
    def is_packed(self) -> bool:
        return self.of._source.is_packed

    def array(self, number: int) -> pa.Array:
        return self.of.array(number).slice(self.begin, self.n_rows)


@dataclass(frozen=True)
class _Choice:
    columns: Sequence[tuple[_Source, int]]
    batch = None
    is_packed = False

    @cached_property
    def _table(self) -> Words:
        n_columns, table = len(self.columns), new_table(len(self.columns))
        batches = addresses([source.address for source, _ in self.columns])
        numbers = np.array([number for _, number in self.columns], np.int32)
        _choose_columns(0, n_columns, address(batches), address(numbers), address(table))
        return table

    @property
    def address(self) -> Address:
        return address(self._table)

    def array(self, number: int) -> pa.Array:
        source, there = self.columns[number]
        return source.array(there)
