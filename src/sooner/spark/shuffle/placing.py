"""Which of the partitions a row goes to: any function of its key will do that gives equal keys equal places.

Keys that can be equal may differ in type (an int and a long, decimals of other scales), so both sides are brought to
one type first. The same function is there twice: as a column of Spark, and for rows that are still in the hands of a
reader of ours. Rows with a null in their key match nothing: they go nowhere, or where they are wanted anywhere, spread
over all partitions.
"""

from collections.abc import Sequence
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
from sooner.kernels.arrays import to_flags
from sooner.kernels.keys import KeyPlan, keys_in_common_type
from sooner.kernels.xxh64 import is_hashed, xxh64
from sooner.spark.shuffle.shared_columns import quoted

# Where the common type has no name in SQL, or would need casts that lose digits, a double does: this only places rows.
_PLACED_AS: Final = (
    (pa.types.is_integer, "bigint", pa.int64()),
    (pa.types.is_floating, "double", pa.float64()),
    (pa.types.is_decimal, "double", pa.float64()),
    (lambda type_: pa.types.is_timestamp(type_) and type_.tz is None, "timestamp_ntz", pa.timestamp("us")),
)


def with_whole_keys(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Without the rows that can match nothing."""
    for name in names:
        rows = rows.where(F.col(quoted(name)).isNotNull())
    return rows


def place(names: Sequence[str], keys: KeyPlan, partitions: int) -> Column:
    columns = [_comparable(F.col(quoted(name)), type_) for name, type_ in zip(names, keys.types, strict=True)]
    return F.pmod(F.xxhash64(*columns), F.lit(partitions)).cast("int")


def spreading_keyless(place: Column, rows: DataFrame, names: Sequence[str], partitions: int) -> Column:
    """The same place, but for rows with a null in their key one that follows from all that they have."""
    has_key = reduce(and_, (F.col(quoted(name)).isNotNull() for name in names))
    hashed = [F.col(quoted(field.name)) for field in rows.schema if not _has_map(field.dataType)]
    return F.when(has_key, place).otherwise(F.pmod(F.xxhash64(*hashed), F.lit(partitions)).cast("int"))


def _has_map(type_: DataType) -> bool:
    """Spark hashes everything but these."""
    return any(word in type_.simpleString() for word in ("map<", "variant"))


def placed_types(keys: KeyPlan) -> tuple[pa.DataType, ...] | None:
    """The types in which keys are placed by a reader; None if it cannot do as Spark does."""
    types = tuple(next((arrow for belongs, _, arrow in _PLACED_AS if belongs(type_)), type_) for type_ in keys.types)
    return types if all(map(is_hashed, types)) else None


def places(
    rows: pa.RecordBatch, names: Sequence[str], types: Sequence[pa.DataType], partitions: int
) -> npt.NDArray[np.int64]:
    """What `place` says of rows that have not reached Spark yet; `types` are those of `placed_types`."""
    keys = keys_in_common_type(rows, names, types)
    found: npt.NDArray[np.int64] = xxh64(keys) % partitions
    for key in keys:
        if key.null_count:
            keyless = np.flatnonzero(~to_flags(key.is_valid()))
            found[keyless] = np.arange(len(keyless)) % partitions
    return found


def require_binary_collation(side: str, schema: StructType, names: Sequence[str]) -> None:
    """Under a collation different texts can be equal, which codes do not know."""
    for name, type_ in ((field.name, field.dataType) for field in schema if field.name in names):
        if isinstance(type_, StringType) and not type_.isUTF8BinaryCollation():
            raise InvalidJoin(
                f"key {name!r} on the {side} has the collation {type_.collation}; join on a column that compares "
                "bytes, such as lower(...) of it"
            )


def _comparable(column: Column, type_: pa.DataType) -> Column:
    sql_type = next((name for belongs, name, _ in _PLACED_AS if belongs(type_)), None)
    if sql_type is None:
        return column
    # Adding zero makes -0.0 what equals it.
    return column.cast(sql_type) + F.lit(0.0) if sql_type == "double" else column.cast(sql_type)
