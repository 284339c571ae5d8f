"""The rows of a join as SELECT and WHERE want them: sources that give fewer rows and columns, and results changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sooner.expressions.checking import Typed
from sooner.kernels.arrays import to_arrow
from sooner.sources.chosen_columns import only_columns
from sooner.sources.source import Source, close_source, n_rows_of


class FilteredSource:
    """Rows for which conditions hold, and of them some columns by other names."""

    def __init__(self, source: Source, filters: Sequence[Typed], names: Sequence[tuple[str, str]]) -> None:
        wanted = {name for name, _ in names} | {column for one in filters for column in one.columns}
        self._source = only_columns(source, [name for name in source.schema.names if name in wanted])
        self._filters = filters
        self._names = [name for name, _ in names]
        self.name = source.name
        self.n_rows = None if filters else n_rows_of(source)
        self.schema = pa.schema([source.schema.field(name).with_name(to) for name, to in names])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the source that are left."""
        for batch in self._source.batches():
            kept = filtered(batch, self._filters)
            if kept.num_rows:
                yield pa.RecordBatch.from_arrays([kept.column(name) for name in self._names], schema=self.schema)

    def close(self) -> None:
        """Close the source."""
        close_source(self._source)


def filtered(batch: pa.RecordBatch, filters: Sequence[Typed]) -> pa.RecordBatch:
    for one in filters:
        mask = one.mask(batch)
        batch = batch if mask.all() else batch.filter(to_arrow(mask))
    return batch


@dataclass(frozen=True)
class Selection:
    """What becomes of joined rows: some are left out, of the others there are columns and expressions by names."""

    filters: tuple[Typed, ...]
    outputs: tuple[tuple[str, str | Typed], ...]  # the name, and a column or an expression
    joined: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                self.joined.field(of).with_name(name) if isinstance(of, str) else pa.field(name, _type(of))
                for name, of in self.outputs
            ]
        )

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for batch in batches:
            kept = filtered(batch, self.filters)
            if kept.num_rows:
                arrays = [kept.column(of) if isinstance(of, str) else _values(of, kept) for _, of in self.outputs]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _type(expression: Typed) -> pa.DataType:
    kind = expression.kind
    return pa.decimal128(38, kind.scale) if kind.is_exact and kind.scale else kind.type


def _values(expression: Typed, batch: pa.RecordBatch) -> pa.Array:
    """Exact numbers are evaluated without their point, which is put back here."""
    found, type_ = expression.evaluate(batch), _type(expression)
    if pa.types.is_decimal(type_):
        unscaled = found.cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(type_, len(unscaled), unscaled.buffers(), offset=unscaled.offset)
    return found if found.type == type_ else found.cast(type_)
