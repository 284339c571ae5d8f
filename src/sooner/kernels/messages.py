"""Rows as messages of Arrow's IPC format, and back: many blocks of one schema, each written and read as a whole.

Messages of one schema have the same header but for a few numbers: how many rows there are, how many nulls, and where
buffers lie. So compiled loops write and read them without Arrow, as far as they know the types of all columns.
"""

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.columns import Columns, Layouts, Words, new_table, packed, side_by_side
from sooner.kernels.gathering import POOL
from sooner.kernels.native import address, buffer_address, loop, prototypes
from sooner.kernels.native.prototypes import Address

Cuts = npt.NDArray[np.int64]  # of each block the first of its rows, and the one after its last
Helpers = Sequence[npt.NDArray[Any]]

_plan_blocks: Final = loop(prototypes.plan_blocks)
_write_blocks: Final = loop(prototypes.write_blocks)
_read_block: Final = loop(prototypes.read_block)
_VALUES: Final = 1  # of the buffers of a column


class Messages:
    """Of one schema, whose first columns are numbers that help to find the rows, and have no nulls."""

    def __init__(self, schema: pa.Schema, n_helpers: int) -> None:
        self._all = Layouts(schema)
        self._rows = Layouts(pa.schema(list(schema)[n_helpers:], schema.metadata))
        self._n_helpers = n_helpers
        self._dtypes = [np.dtype(kind.to_pandas_dtype()) for kind in self._all.types[:n_helpers]]

    @property
    def schema(self) -> pa.Schema:
        return self._all.schema

    def write(self, helpers: Helpers, columns: Columns, cuts: Cuts) -> list[pa.Buffer]:
        """A message for each block."""
        beside = pa.RecordBatch.from_arrays(list(map(to_arrow, helpers)), schema=self._helper_schema)
        if not self._all.are_plain:
            rows = pa.RecordBatch.from_arrays(beside.columns + columns.arrays, schema=self.schema)
            return [rows.slice(begin, end - begin).serialize(memory_pool=POOL) for begin, end in cuts.tolist()]
        told, n_rows = side_by_side(self._all, [Columns.of(beside), columns]), len(columns)
        places = np.empty((len(cuts), 2), np.int64)
        what = (*self._all.in_c, told.address, len(cuts), address(cuts), self._header.address, address(places))
        room = np.empty(_plan_blocks(n_rows, *what), np.uint8)
        _write_blocks(n_rows, *what, address(room))
        buffer = pa.py_buffer(room)
        return [buffer.slice(*place) for place in places.tolist()]

    def read(self, content: memoryview | pa.Buffer) -> tuple[Helpers, Columns]:
        """The helpers and rows of a message, sharing memory with it."""
        buffer, n_columns = pa.py_buffer(content), len(self._all.types)
        if self._all.are_plain:
            spans, nulls = np.zeros((n_columns, 3, 2), np.int64), np.empty(n_columns, np.int64)
            table = new_table(n_columns - self._n_helpers)
            what = (*self._all.in_c, self._n_helpers, buffer_address(buffer), buffer.size, self._header.address)
            n_rows = _read_block(0, *what, address(spans), address(nulls), address(table))
            if n_rows >= 0:
                begins = spans[: self._n_helpers, _VALUES, 0].tolist()
                view, own = memoryview(buffer), slice(self._n_helpers, None)
                found = zip(self._dtypes, begins, strict=True)
                helpers = [np.frombuffer(view, dtype, n_rows, begin) for dtype, begin in found]
                return helpers, packed(self._rows, n_rows, buffer, spans[own], nulls[own], table)
        batch = pa.ipc.read_record_batch(pa.ipc.read_message(buffer), self.schema)
        rows = batch.select(range(self._n_helpers, n_columns))
        return [to_numpy(batch.column(number)) for number in range(self._n_helpers)], Columns.of(rows)

    @cached_property
    def _helper_schema(self) -> pa.Schema:
        return pa.schema(list(self.schema)[: self._n_helpers])

    @cached_property
    def _header(self) -> "_Header":
        return _Header.of(self._all)


class _Header(NamedTuple):
    """What messages of one schema begin with, as loops are told: the bytes, a mask of those that are always the same,
    and where the others are.
    """

    content: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    words: Words

    @property
    def address(self) -> Address:
        return address(self.words)

    @staticmethod
    def of(layouts: Layouts) -> "_Header":
        """Read off a message of Arrow's own, by the format of its metadata (FlatBuffers; Arrow's Message.fbs)."""
        one_row = [pa.nulls(1, kind) for kind in layouts.types]
        written = pa.RecordBatch.from_arrays(one_row, schema=layouts.schema).serialize()
        content = memoryview(written)
        message = _Table(content, _Table.HEADER)
        batch = message.table(2)
        rows, body, nodes, buffers = batch.field(0), message.field(3), batch.vector(1), batch.vector(2)
        size = written.size - int(struct.unpack_from("<q", content, body)[0])
        mask = np.full(size, 255, np.uint8)
        ends = rows + 8, body + 8, *(at + 16 * struct.unpack_from("<i", content, at - 4)[0] for at in (nodes, buffers))
        for begin, end in zip((rows, body, nodes, buffers), ends, strict=True):
            mask[begin:end] = 0
        header = np.frombuffer(content, np.uint8, size).copy()
        words = np.array([address(header), address(mask), size, rows, body, nodes, buffers], np.int64)
        return _Header(header, mask, words)


class _Table:
    """A table of FlatBuffers: fields are found by numbers, and told by how far away from themselves they are."""

    HEADER: Final = 8  # bytes before the metadata: a marker, and how long it is

    def __init__(self, content: memoryview, reference: int) -> None:
        self._content = content
        self._begin = self._followed(reference)
        self._fields = self._begin - struct.unpack_from("<i", content, self._begin)[0]

    def _followed(self, reference: int) -> int:
        return reference + int(struct.unpack_from("<I", self._content, reference)[0])

    def field(self, number: int) -> int:
        """Where a field lies that is there."""
        return self._begin + int(struct.unpack_from("<H", self._content, self._fields + 4 + 2 * number)[0])

    def table(self, number: int) -> "_Table":
        return _Table(self._content, self.field(number))

    def vector(self, number: int) -> int:
        """Where the first of its elements lies; how many they are stands before it."""
        return self._followed(self.field(number)) + 4
