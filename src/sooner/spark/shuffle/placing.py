"""Which of the partitions a row goes to: any function of its key will do that gives equal keys equal places.

Keys that can be equal may differ in type (an int and a long, decimals of other scales), so both sides are brought to
one type first. Values that may be apart have bins beside the keys, see `grid`. The same function is there twice: as
columns of Spark, and for rows that are still in the hands of a reader of ours. Rows with a null in what is compared,
or a NaN that is near nothing, match nothing: they go nowhere, or where they are wanted anywhere, spread over all
partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, StringType, StructType

from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Flags, Positions
from sooner.kernels.arrays import to_arrow, to_flags
from sooner.kernels.content_order import hash_of_content
from sooner.kernels.keys import decoded, keys_in_common_type
from sooner.kernels.lines import can_match
from sooner.kernels.ranges import values_to_compare
from sooner.kernels.xxh64 import is_hashed, xxh64
from sooner.spark.shuffle.grid import Grid
from sooner.spark.shuffle.shared_columns import quoted

# Where the common type has no name in SQL, or would need casts that lose digits, a double does: this only places rows.
_PLACED_AS: Final = (
    (pa.types.is_integer, "bigint", pa.int64()),
    (pa.types.is_floating, "double", pa.float64()),
    (pa.types.is_decimal, "double", pa.float64()),
    (lambda type_: pa.types.is_timestamp(type_) and type_.tz is None, "timestamp_ntz", pa.timestamp("us")),
)


@dataclass(frozen=True)
class Placement:
    """What the place of an input's row follows from: its keys, and the bin of a value that may be apart."""

    keys: tuple[str, ...]
    types: tuple[pa.DataType, ...]  # in which keys of both sides are compared
    partitions: int
    grid: Grid | None = None
    keeps_keyless: bool = False  # whether rows come along that have a null in what is compared

    @property
    def is_a_readers(self) -> bool:
        """Whether a reader can do as Spark does."""
        return can_be_placed(self.types)

    def of_rows(self, rows: DataFrame) -> tuple[DataFrame, Sequence[Column]]:
        """The rows that are wanted, and the place of each; of an input that is copied, the first and the last."""
        keys = [comparable(name, type_) for name, type_ in zip(self.keys, self.types, strict=True)]
        complete = [F.col(quoted(name)).isNotNull() for name in self.keys]
        bins: Sequence[Column] = ()
        if self.grid is not None:
            values = comparable(self.grid.column, self.grid.type)
            is_nan = F.isnan(values) if pa.types.is_floating(self.grid.type) else F.lit(False)
            complete.append(F.col(quoted(self.grid.column)).isNotNull() & ~is_nan)
            bins = self.grid.of_column(values)
        places = [self._place(*columns) for columns in [[*keys, one] for one in bins] or [keys]]
        if not self.keeps_keyless:
            return rows.where(reduce(and_, complete)), places
        # Rows that match nothing go where all that they have says.
        elsewhere = self._place(*(F.col(quoted(field.name)) for field in rows.schema if not _has_map(field.dataType)))
        return rows, [F.when(reduce(and_, complete), place).otherwise(elsewhere) for place in places]

    def _place(self, *columns: Column) -> Column:
        return F.pmod(F.xxhash64(*columns), F.lit(self.partitions)).cast("int") if columns else F.lit(0)

    def places(self, rows: pa.RecordBatch) -> Sequence[npt.NDArray[np.int64]]:
        """The same of rows that have not reached Spark yet."""
        keys = keys_to_place(rows, self.keys, self.types)
        bins = () if self.grid is None else self.grid.of_values(self._values(rows, self.grid))
        hashed = [[*keys, one] for one in bins] or [keys]
        found = [
            remainders(xxh64(columns), self.partitions) if columns else np.zeros(len(rows), np.int64)
            for columns in hashed
        ]
        if (complete := self.complete(rows)) is not None:
            keyless = np.flatnonzero(~complete)
            elsewhere = dealt_by_content(rows, keyless, self.partitions)
            for places in found:
                places[keyless] = elsewhere
        return found

    def complete(self, rows: pa.RecordBatch) -> Flags | None:
        """Which rows have all that is compared (None: all)."""
        found = [have_keys(rows, self.keys)]
        if self.grid is not None:
            found.append(can_match(self._values(rows, self.grid)))
        known = [flags for flags in found if flags is not None]
        return reduce(and_, known) if known else None

    def _values(self, rows: pa.RecordBatch, grid: Grid) -> pa.Array:
        return values_to_compare(rows, grid.column, grid.type)


def remainders(numbers: npt.NDArray[np.int64], divisor: int) -> npt.NDArray[np.int64]:
    """What `%` gives, in an eighth of the time: NumPy divides by one number without dividing, but for remainders."""
    return numbers - numbers // divisor * divisor


def dealt_by_content(rows: pa.RecordBatch, some: Positions, partitions: int) -> npt.NDArray[np.int64]:
    """A partition for each of some rows that may be in any: the same whoever reads them, and beside which others."""
    flat = [column.take(to_arrow(some)) for column in rows.columns if not pa.types.is_nested(column.type)]
    hashes = hash_of_content(flat) if flat else np.zeros(len(some), np.uint64)
    return (hashes % np.uint64(partitions)).astype(np.int64)


def can_be_placed(types: Sequence[pa.DataType]) -> bool:
    """Whether a reader can place values that are compared in these types."""
    return all(map(is_hashed, map(placed_type, types)))


def keys_to_place(rows: pa.RecordBatch, names: Sequence[str], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The keys of rows in a reader's hands, as Spark hashes them."""
    return keys_in_common_type(rows, names, [placed_type(type_) for type_ in types])


def have_keys(rows: pa.RecordBatch, names: Sequence[str]) -> Flags | None:
    """Which rows have no null in these columns (None: all)."""
    columns = [decoded(rows.column(name)) for name in names]
    found = [to_flags(column.is_valid()) for column in columns if column.null_count]
    return reduce(and_, found) if found else None


def placed_type(type_: pa.DataType) -> pa.DataType:
    """The type in which values are placed that are compared in this one."""
    return next((arrow for belongs, _, arrow in _PLACED_AS if belongs(type_)), type_)


def _has_map(type_: DataType) -> bool:
    """Spark hashes everything but these."""
    return any(word in type_.simpleString() for word in ("map<", "variant"))


def require_binary_collation(side: str, schema: StructType, names: Sequence[str]) -> None:
    """Under a collation different texts can be equal, which codes do not know."""
    for name, type_ in ((field.name, field.dataType) for field in schema if field.name in names):
        if isinstance(type_, StringType) and not type_.isUTF8BinaryCollation():
            raise InvalidJoin(
                f"key {name!r} on the {side} has the collation {type_.collation}; join on a column that compares "
                "bytes, such as lower(...) of it"
            )


def comparable(name: str, type_: pa.DataType) -> Column:
    column = F.col(quoted(name))
    sql_type = next((name for belongs, name, _ in _PLACED_AS if belongs(type_)), None)
    if sql_type is None:
        return column
    # Adding zero makes -0.0 what equals it.
    return column.cast(sql_type) + F.lit(0.0) if sql_type == "double" else column.cast(sql_type)
