"""What is made of the rows of one side before they are joined: some are left out, of the others little is kept.

Each row gets a tag. So that it is known how many rows have come, also of those that are left out, each batch is
followed by tallies, which are rows without a key.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.estimation.tags import Tagging
from sooner.expressions.checking import Typed
from sooner.expressions.kinds import NULL
from sooner.expressions.tree import Column
from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.arrays import to_arrow, to_flags, to_numpy
from sooner.kernels.folding import with_absent
from sooner.kernels.gathering import gather
from sooner.kernels.keys import decoded
from sooner.kernels.python_values import column_of, constant

TAG: Final = "#tag"
BY: Final = "#by"  # with a number
FACTOR: Final = "#factor"  # with a number
COLUMN: Final = "#column "  # with a name
FEW: Final = 8  # conditions are looked at for the rows that are left, if these are one in so many or less


class Factor(NamedTuple):
    """A number of each row: whole, at the scale of its kind, or as a double; 0 or ABSENT where it is null."""

    value: Typed
    is_whole: bool

    @property
    def type(self) -> pa.DataType:
        return pa.int64() if self.is_whole else pa.float64()

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        found = self.value.evaluate(batch)
        if self.value.kind == NULL:
            found = found.cast(self.type)
        if self.is_whole:
            return found.fill_null(constant(0, found.type)) if found.null_count else found
        values = to_numpy(found)
        if self.value.kind.is_exact:
            values = values / 10.0**self.value.kind.scale
        return to_arrow(with_absent(values, to_flags(found.is_valid()) if found.null_count else None))


@dataclass(frozen=True)
class Preparation:
    keys: tuple[str, ...]
    source: pa.Schema
    filters: tuple[Typed, ...] = ()
    by: tuple[Typed, ...] = ()
    factors: tuple[Factor, ...] = ()
    columns: tuple[tuple[str, str], ...] = field(default=())  # that are kept as they are: their names then, and here
    encodes: bool = False  # whether values of groups are given as dictionaries

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of prepared rows."""
        fields = [self.source.field(name).with_nullable(True) for name in self.keys]
        fields += [pa.field(f"{BY}{at}", self._type_of_group(one)) for at, one in enumerate(self.by)]
        fields += [pa.field(name, self.source.field(here).type) for name, here in self.columns]
        fields += [pa.field(f"{FACTOR}{at}", one.type) for at, one in enumerate(self.factors)]
        return pa.schema([*fields, pa.field(TAG, pa.int32())])

    def _type_of_group(self, one: Typed) -> pa.DataType:
        return pa.dictionary(pa.int32(), one.kind.type) if self.encodes else one.kind.type

    @cached_property
    def needed(self) -> list[str]:
        """The columns that are looked at."""
        values = [*self.filters, *self.by, *(factor.value for factor in self.factors)]
        names = {*self.keys, *(here for _, here in self.columns)}.union(*(one.columns for one in values))
        return [name for name in self.source.names if name in names]

    def prepared(self, batch: pa.RecordBatch, tagging: Tagging) -> list[pa.RecordBatch]:
        """What is kept of these rows, and tallies of all."""
        batch, positions = self._filtered(batch)
        arrays = [batch.column(name) for name in self.keys]
        arrays += [self._group(one, batch) for one in self.by]
        arrays += [batch.column(here) for _, here in self.columns]
        arrays += [factor.evaluate(batch) for factor in self.factors]
        arrays.append(to_arrow(tagging.of_rows(positions)))
        kinds = zip(arrays, self.schema.types, strict=True)
        rows = [array if array.type == type_ else decoded(array).cast(type_) for array, type_ in kinds]
        tallies = tagging.tallies()
        last = [*(_blanks(len(tallies), one) for one in self.schema.remove(len(self.schema) - 1)), to_arrow(tallies)]
        return [pa.RecordBatch.from_arrays(some, schema=self.schema) for some in (rows, last)]

    def _filtered(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Positions | None]:
        """The rows for which all conditions hold, and where they were; None: they are all."""
        positions: Positions | None = None
        kept: Flags | None = None
        for at, (condition, needed) in enumerate(self._conditions, 1):
            found = condition.mask(batch)
            kept = found if kept is None else kept & found
            n_kept = np.count_nonzero(kept)
            if n_kept * FEW <= len(kept) or (at == len(self._conditions) and n_kept < len(kept)):
                left = np.flatnonzero(kept)
                positions = left if positions is None else positions[left]
                batch, kept = gather(batch.select(needed), left), None
        return batch, positions

    @cached_property
    def _conditions(self) -> list[tuple[Typed, list[str]]]:
        """The conditions, those with the fewest columns first, each with the columns that are needed after it."""
        in_turn = sorted(self.filters, key=lambda one: len(one.columns))
        rest = [*self.by, *(factor.value for factor in self.factors)]
        kept = {*self.keys, *(here for _, here in self.columns)}.union(*(one.columns for one in rest))
        found: list[tuple[Typed, list[str]]] = []
        for one in reversed(in_turn):
            found.append((one, [name for name in self.source.names if name in kept]))
            kept |= one.columns
        return found[::-1]

    def _group(self, one: Typed, batch: pa.RecordBatch) -> pa.Array:
        """The values of a group column; a column that is a dictionary already stays as it is."""
        if not self.encodes:
            return one.evaluate(batch)
        column = batch.column(one.node.name) if isinstance(one.node, Column) else None
        array = column if isinstance(column, pa.DictionaryArray) else one.evaluate(batch)
        if not isinstance(array, pa.DictionaryArray):
            return array.dictionary_encode(null_encoding="encode")
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(one.kind.type))


def _blanks(rows: int, column: pa.Field) -> pa.Array:
    """Nulls, but zeros for factors: compiled loops look at nothing but values."""
    return column_of([0] * rows, column.type) if column.name.startswith(FACTOR) else pa.nulls(rows, column.type)
