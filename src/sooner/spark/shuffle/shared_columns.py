"""Rows of two schemas in one DataFrame: columns of equal type on both sides share a column.

Left and right must travel through one shuffle, so that a task gets both. A row fills the columns of its side and leaves
the others null; with shared columns, few are left null. `kind` tells rows apart, see `row_kinds`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.types import DataType, StructType

from sooner.kernels.arrays import to_arrow
from sooner.sides import LEFT, RIGHT
from sooner.spark.shuffle.row_kinds import MARK, PULSE, Kinds, kind_of, of_side

KIND: Final = "kind"


@dataclass(frozen=True)
class SharedColumns:
    """Which shared column each column of a side travels in."""

    types: tuple[DataType, ...]
    of_side: tuple[tuple[int, ...], tuple[int, ...]]

    def tagged(self, rows: DataFrame, side: int, place: Column) -> DataFrame:
        """Rows of one side, ready for the union."""
        found = dict(zip(self.of_side[side], rows.columns, strict=True))
        columns = [self._filled(i, F.col(quoted(found[i])) if i in found else None) for i in range(len(self.types))]
        return rows.select(_kind(F.lit(side), place), *columns)

    def pulses(self, pulses: DataFrame, partitions: int) -> DataFrame:
        """A pulse in every place. `pulses` has `ended`: 1 if the left has, 2 if the right has, 3; and `settling`."""
        places = pulses.select("*", F.explode(F.sequence(F.lit(0), F.lit(partitions - 1))).alias("place"))
        return self._empty(places, _kind(F.lit(PULSE) + F.col("ended"), F.col("place"), F.col("settling")))

    def marks(self, places: DataFrame) -> DataFrame:
        """The mark of each place."""
        return self._empty(places, _kind(F.lit(MARK), F.col("place")))

    def _empty(self, rows: DataFrame, kind: Column) -> DataFrame:
        return rows.select(kind, *(self._filled(i, None) for i in range(len(self.types))))

    def _filled(self, position: int, column: Column | None) -> Column:
        value = F.lit(None).cast(self.types[position]) if column is None else column
        return value.alias(f"c{position}")

    def rows_of(self, batch: pa.RecordBatch, kinds: Kinds, side: int) -> pa.Table:
        """The rows of one side in a batch of the union, their columns unnamed."""
        mine = of_side(kinds, side)
        columns = [batch.column(1 + position) for position in self.of_side[side]]
        table = pa.table(columns, [str(position) for position in range(len(columns))])
        return table if mine.all() else table.filter(to_arrow(mine))


def share_columns(left: StructType, right: StructType) -> SharedColumns:
    """As few columns as hold a row of either side."""
    types: list[DataType] = []
    of_side = [_places_in(types, [field.dataType for field in schema]) for schema in (left, right)]
    return SharedColumns(tuple(types), (of_side[LEFT], of_side[RIGHT]))


def _places_in(types: list[DataType], wanted: Sequence[DataType]) -> tuple[int, ...]:
    taken: list[int] = []
    for type_ in wanted:
        place = next((i for i, other in enumerate(types) if other == type_ and i not in taken), len(types))
        if place == len(types):
            types.append(type_)
        taken.append(place)
    return tuple(taken)


def _kind(what: Column, place: Column, settling: Column | int = 0) -> Column:
    kind: Column = kind_of(what.cast("long"), place, settling)
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
