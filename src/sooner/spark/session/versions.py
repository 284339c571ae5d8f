"""What differs between the versions of Spark that joins run on, from 4.0 to 4.3: all that is known of it is here.

Sources are written for Spark 4.2, which says where a batch begins and how much it may take. Before that it says
neither: a reader then goes on from where the batch before ends, and sets its own limit.
"""

import ast
import contextlib
import importlib.util
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas import types as arrow_types
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import DataType, StructType

from sooner.errors import InvalidJoin
from sooner.spark.session.connect import is_connect

VERSION: Final = tuple(map(int, pyspark.__version__.split(".")[:2]))
SETS_LIMITS: Final = importlib.util.find_spec("pyspark.sql.streaming.datasource") is not None  # since 4.2
_SEED: Final = 42  # of the hash by which Spark places rows
# Triggers, as Java and the messages of Connect call them, by which queries stop by themselves.
_THAT_STOP: Final = {
    "AvailableNowTrigger$": "availableNow",
    "OneTimeTrigger$": "once",
    "available_now": "availableNow",
    "once": "once",
}

if TYPE_CHECKING or SETS_LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
else:
    from dataclasses import dataclass

    class ReadLimit:
        """How much a batch may take."""

    class ReadAllAvailable(ReadLimit):
        """Whatever there is; no Spark before 4.2 asks for it."""

    @dataclass
    class ReadMaxRows(ReadLimit):
        """So many rows at most."""

        max_rows: int

    class SupportsTriggerAvailableNow:
        """Has a meaning since Spark 4.2 only."""


__all__ = ["ReadAllAvailable", "ReadLimit", "ReadMaxRows", "SupportsTriggerAvailableNow"]

Offset = dict[str, Any]


# Sources


def reader_for_this_spark(reader: DataSourceStreamReader) -> DataSourceStreamReader:
    """The same reader, in the terms of the Spark that is here."""
    return reader if SETS_LIMITS else WithMemory(reader)


class WithMemory(DataSourceStreamReader):
    """For a Spark that does not say where a batch begins: where the one before ends.

    When a query goes on, Spark first asks for the partitions of the last batch that is in its log, or for those between
    its end and its end.
    """

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self._reached: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - the names of methods are Spark's
        return dict(self.reader.initialOffset())

    def latestOffset(self) -> Offset:  # type: ignore[override] # noqa: N802
        """Each call plans a batch, unless it gives what the one before gave."""
        start = self.initialOffset() if self._reached is None else self._reached
        self._reached = self.reader.latestOffset(start, self.reader.getDefaultReadLimit())
        return self._reached

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if self._reached is None:
            self._reached = end
        return [] if start == end else list(self.reader.partitions(start, end))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return iter(self.reader.read(partition))

    def commit(self, end: Offset) -> None:
        self.reader.commit(end)

    def stop(self) -> None:
        self.reader.stop()


def offset_in_progress(text: Any) -> object:
    """An offset of a source, as the progress of a query has it: in JSON, or as Python writes what was in JSON. None if
    it is neither, as of sources that are not ours.
    """
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, TypeError):
            return read(text)
    return None


def require_trigger(asked: Any) -> None:
    """Refuse a query, or under Connect what is to start one, that is to stop by itself, of which Spark tells sources in
    Python since 4.2 only: they would give one small batch, and not all that there is.
    """
    if SETS_LIMITS or (trigger := _trigger_of(asked)) is None:
        return
    if isinstance(asked, StreamingQuery):
        asked.stop()
    raise InvalidJoin(
        f"trigger({trigger}=True) means all that is there, and Spark {pyspark.__version__} does not tell a join of it: "
        "leave it out, and the query ends when its inputs do; or use Spark 4.2 or newer."
    )


def _trigger_of(asked: Any) -> str | None:
    """The trigger by which a query stops by itself: Java knows that of a query, and under Connect its writer does."""
    if isinstance(asked, StreamingQuery):
        name = asked._jsq.streamingQuery().trigger().getClass().getSimpleName()
    elif is_connect(asked) and hasattr(asked, "_write_proto"):
        name = asked._write_proto.WhichOneof("trigger")
    else:
        return None
    return _THAT_STOP.get(name)


# Types


def arrow_schema_of(schema: StructType, timezone: str, *, large: bool = False) -> pa.Schema:
    """The types in which Spark sends columns to a Python worker in a session with this time zone."""
    if VERSION >= (4, 2):
        return arrow_types.to_arrow_schema(schema, timezone=timezone, prefers_large_types=large)
    in_utc: Any = arrow_types.to_arrow_schema(schema, prefers_large_types=large)
    return pa.schema([field.with_type(_in_zone(field.type, timezone)) for field in in_utc])


def _in_zone(type_: pa.DataType, timezone: str) -> pa.DataType:
    """Before 4.2 PySpark says UTC, and Java sends the session's zone."""
    if pa.types.is_timestamp(type_):
        return type_ if type_.tz is None else pa.timestamp(type_.unit, timezone)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_zone(field.type, timezone)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(
            *(field.with_type(_in_zone(field.type, timezone)) for field in (type_.key_field, type_.item_field))
        )
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_zone(type_.value_type, timezone)))
    return type_


def spark_type_of(type_: pa.DataType) -> DataType:
    """Spark's type for an Arrow type; times without a zone have none, which is the default since 4.2."""
    return arrow_types.from_arrow_type(type_, prefer_timestamp_ntz=True)


# Shuffles


def placed_by(rows: DataFrame, partitions: int, place: Column) -> DataFrame:
    """Each row in the partition that its place says."""
    if VERSION >= (4, 1):
        return rows.repartitionById(partitions, place)
    values = F.array(*map(F.lit, _values_for_places(partitions)))
    return rows.repartition(partitions, F.get(values, place))


def _values_for_places(partitions: int) -> list[int]:
    """For each partition a number that Spark's hash sends there."""
    found: dict[int, int] = {}
    for number in itertools.count():
        found.setdefault(_murmur3(number) % partitions, number)
        if len(found) == partitions:
            return [found[place] for place in range(partitions)]
    raise AssertionError


def _murmur3(number: int) -> int:
    """Spark's hash of an integer of 32 bits, signed."""
    key = _rotated(number * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    mixed = (_rotated(_SEED ^ key, 13) * 5 + 0xE6546B64 ^ 4) & 0xFFFFFFFF  # 4 is its length in bytes
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return mixed - 2**32 if mixed >= 2**31 else mixed


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF


# Sessions


def file_manager_of_checkpoints() -> str:
    """The one of Spark's two managers of checkpoint files that goes through Hadoop's older interface."""
    folder = "streaming.checkpointing" if VERSION >= (4, 1) else "streaming"
    return f"org.apache.spark.sql.execution.{folder}.FileSystemBasedCheckpointFileManager"
