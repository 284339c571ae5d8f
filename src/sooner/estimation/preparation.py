"""What is made of the rows of one side before they are joined: some are left out, of the others little is kept.

Each row gets a *tag*, one of a few random parts of its input: rows in turn where they come in random order, else all
rows of a block alike. So that it is known how many rows have come, also of those that are left out, each batch is
followed by *tallies*: rows without a key, whose tag is a negative number: how many rows of which tag they stand for.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sooner.expressions.checking import Typed
from sooner.expressions.tree import Column, columns_of
from sooner.kernels.arrays import to_arrow, to_numpy
from sooner.kernels.keys import decoded

TAG: Final = "#tag"
BY: Final = "#by"  # with a number
FACTOR: Final = "#factor"  # with a number
COLUMN: Final = "#column "  # with a name
MOST_TAGS: Final = 32
ALL_TAGS: Final = MOST_TAGS  # a tally of rows that were dealt out in turn
_TAG_BITS: Final = 6

Tags = npt.NDArray[np.int32]


class Factor(NamedTuple):
    """A number of each row: whole, at the scale of its kind, or as a double."""

    value: Typed
    is_whole: bool

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        found = self.value.evaluate(batch)
        if self.is_whole or not self.value.kind.is_exact:
            return found
        return to_arrow(to_numpy(found) / 10.0**self.value.kind.scale)


@dataclass(frozen=True)
class Preparation:
    keys: tuple[str, ...]
    source: pa.Schema
    filters: tuple[Typed, ...] = ()
    by: tuple[Typed, ...] = ()
    factors: tuple[Factor, ...] = ()
    columns: tuple[tuple[str, str], ...] = field(default=())  # for pairs: their names there, and here
    encodes: bool = False  # whether values of groups are given as dictionaries

    @cached_property
    def schema(self) -> pa.Schema:
        """Of what it gives."""
        fields = [self.source.field(name).with_nullable(True) for name in self.keys]
        fields += [pa.field(f"{BY}{at}", self._type_of_group(one)) for at, one in enumerate(self.by)]
        fields += [pa.field(COLUMN + name, self.source.field(here).type) for name, here in self.columns]
        fields += [
            pa.field(f"{FACTOR}{at}", pa.int64() if one.is_whole else pa.float64())
            for at, one in enumerate(self.factors)
        ]
        return pa.schema([*fields, pa.field(TAG, pa.int32())])

    def _type_of_group(self, one: Typed) -> pa.DataType:
        return pa.dictionary(pa.int32(), one.kind.type) if self.encodes else one.kind.type

    @cached_property
    def needed(self) -> list[str]:
        """The columns that are looked at."""
        nodes = [one.node for one in (*self.filters, *self.by, *(factor.value for factor in self.factors))]
        names = {column.name for node in nodes for column in columns_of(node)}
        names |= {*self.keys, *(here for _, here in self.columns)}
        return [name for name in self.source.names if name in names]

    def prepared(self, batch: pa.RecordBatch, tags: Tags, *, in_turn: bool) -> list[pa.RecordBatch]:
        """What is kept of these rows, and tallies: of all tags in turn, or of each that is there."""
        tallies = tally_tags(tags, in_turn=in_turn)
        batch = batch.select(self.needed)
        if self.filters:
            kept = self.filters[0].mask(batch)
            for one in self.filters[1:]:
                kept = kept & one.mask(batch)
            if not kept.all():
                batch, tags = batch.filter(to_arrow(kept)), tags[kept]
        arrays = [batch.column(name) for name in self.keys]
        arrays += [self._group(one, batch) for one in self.by]
        arrays += [batch.column(here) for _, here in self.columns]
        arrays += [factor.evaluate(batch) for factor in self.factors]
        arrays.append(to_arrow(tags))
        kinds = zip(arrays, self.schema.types, strict=True)
        rows = [array if array.type == type_ else decoded(array).cast(type_) for array, type_ in kinds]
        last = [*(_blanks(len(tallies), one) for one in self.schema.remove(len(self.schema) - 1)), to_arrow(tallies)]
        return [pa.RecordBatch.from_arrays(some, schema=self.schema) for some in (rows, last)]

    def _group(self, one: Typed, batch: pa.RecordBatch) -> pa.Array:
        """Its values, of a column that is a dictionary already as it is."""
        if not self.encodes:
            return one.evaluate(batch)
        column = batch.column(one.node.name) if isinstance(one.node, Column) else None
        array = column if isinstance(column, pa.DictionaryArray) else one.evaluate(batch)
        if not isinstance(array, pa.DictionaryArray):
            return array.dictionary_encode(null_encoding="encode")
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(one.kind.type))


def _blanks(rows: int, column: pa.Field) -> pa.Array:
    """Of factors, zeros: compiled loops look at nothing but values."""
    return pa.array([0] * rows, column.type) if column.name.startswith(FACTOR) else pa.nulls(rows, column.type)


def tally_tags(tags: Tags, *, in_turn: bool) -> Tags:
    """Of tallies for rows with these tags."""
    if in_turn:
        return np.array([~(len(tags) << _TAG_BITS | ALL_TAGS)], np.int32)
    begins = np.flatnonzero(np.diff(tags, prepend=-1))  # those of a block are all alike
    told: Tags = (~(np.diff(begins, append=len(tags)) << _TAG_BITS | tags[begins])).astype(np.int32)
    return told


def tallied(tags: Tags) -> npt.NDArray[np.int64]:
    """[tag]: how many rows tallies with these tags stand for, and at last those that were dealt out in turn."""
    told = ~tags[tags < 0].astype(np.int64)
    counts: npt.NDArray[Any] = np.zeros(MOST_TAGS + 1, np.int64)
    np.add.at(counts, told & ((1 << _TAG_BITS) - 1), told >> _TAG_BITS)
    return counts
