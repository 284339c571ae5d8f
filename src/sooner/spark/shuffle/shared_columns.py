"""Rows of several schemas in one DataFrame: columns of equal type share a column.

All inputs must travel through one shuffle, so that a task gets all. A row fills the columns of its input and leaves the
others null; with shared columns, few are left null. `kind` tells rows apart, see `row_kinds`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.types import DataType, StructType

from sooner.kernels.arrays import to_arrow
from sooner.spark.shuffle.row_kinds import Kinds, kind_of, of_copy, of_input

KIND: Final = "kind"
WORD: Final = "word"
SAID: Final = "said"  # by a pulse


@dataclass(frozen=True)
class SharedColumns:
    """Which shared column each column of an input travels in. With `words` there is one more: for a pulse what it says
    beside its kind, and for a mark the time of its batch, if somebody asks for `times`.
    """

    types: tuple[DataType, ...]
    of_input: tuple[tuple[int, ...], ...]
    words: bool = False
    times: bool = False

    def tagged(self, rows: DataFrame, names: Sequence[str], which: int, *places: Column) -> DataFrame:
        """Rows of one input with these columns, ready for the union; with a copy in a place that is another."""
        found = dict(zip(self.of_input[which], names, strict=True))
        columns = [self._filled(i, F.col(quoted(found[i])) if i in found else None) for i in range(len(self.types))]
        columns += self._word(F.lit(None))
        if len(places) == 1:
            return rows.select(_kind(F.lit(which), *places), *columns)
        numbered = F.posexplode(F.array_distinct(F.array(*places))).alias("number", "place")
        kind = _kind(F.lit(which), of_copy(F.col("place"), F.col("number")))
        exploded = rows.select(*columns, numbered)
        return exploded.select(kind, *exploded.columns[: len(columns)])

    def beats(self, beats: DataFrame) -> DataFrame:
        """Marks and pulses, which have their kind, and of a pulse what it says. What Spark calls the current time is
        that of the batch, which is in its log.
        """
        time = F.unix_micros(F.current_timestamp()).cast("string") if self.times else F.lit(None)
        columns = (self._filled(i, None) for i in range(len(self.types)))
        return beats.select(KIND, *columns, *self._word(F.coalesce(F.col(SAID), time)))

    def _word(self, word: Column) -> list[Column]:
        return [word.cast("string").alias(WORD)] if self.words else []

    def word_of(self, batch: pa.RecordBatch, kinds: Kinds, what: int) -> str | None:
        """What the first row of a kind says, if there is one and there are words."""
        at = np.flatnonzero(of_input(kinds, what))
        word: str | None = batch.column(batch.num_columns - 1)[int(at[0])].as_py() if self.words and len(at) else None
        return word

    def _filled(self, position: int, column: Column | None) -> Column:
        value = F.lit(None).cast(self.types[position]) if column is None else column
        return value.alias(f"c{position}")

    def rows_of(self, batch: pa.RecordBatch, kinds: Kinds, which: int) -> pa.Table:
        """The rows of one input in a batch of the union, their columns unnamed."""
        mine = of_input(kinds, which)
        columns = [batch.column(1 + position) for position in self.of_input[which]]
        table = pa.table(columns, [str(position) for position in range(len(columns))])
        return table if mine.all() else table.filter(to_arrow(mine))


def share_columns(*schemas: StructType, words: bool = False, times: bool = False) -> SharedColumns:
    """As few columns as hold a row of any of these."""
    types: list[DataType] = []
    of_input = tuple(_places_in(types, [field.dataType for field in schema]) for schema in schemas)
    return SharedColumns(tuple(types), of_input, words or times, times)


def _places_in(types: list[DataType], wanted: Sequence[DataType]) -> tuple[int, ...]:
    taken: list[int] = []
    for type_ in wanted:
        place = next((i for i, other in enumerate(types) if other == type_ and i not in taken), len(types))
        if place == len(types):
            types.append(type_)
        taken.append(place)
    return tuple(taken)


def _kind(what: Column, place: Column) -> Column:
    kind: Column = kind_of(what.cast("long"), place.cast("long"))
    return kind.alias(KIND)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def as_one_batch(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.RecordBatch:
    """One batch; a column without a null keeps no bitmap, wherever its rows came from."""
    batches = pa.concat_tables(tables).combine_chunks().to_batches() if tables else []
    if not batches:
        return pa.RecordBatch.from_pylist([], schema)
    [batch] = batches
    return pa.RecordBatch.from_arrays([_without_idle_bitmap(column) for column in batch.columns], schema=schema)


def _without_idle_bitmap(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        return _without_idle_bitmaps_inside(column)
    bitmap, *others = column.buffers()
    if bitmap is None or column.null_count or pa.types.is_null(column.type):
        return column
    return pa.Array.from_buffers(column.type, len(column), [None, *others], null_count=0, offset=column.offset)


def _without_idle_bitmaps_inside(column: pa.Array) -> pa.Array:
    """Arrow's own format leaves out the bitmaps of what has no null, at any depth."""
    batch = pa.record_batch([column], ["column"])
    return pa.ipc.read_record_batch(batch.serialize(), batch.schema).column(0)
