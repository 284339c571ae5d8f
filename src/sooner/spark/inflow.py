"""How an input gets to the union: packed by its source where that is ours, else as Spark's rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from sooner.kernels.keys import KeyPlan
from sooner.spark.session.streams import streams_of
from sooner.spark.shuffle.packing import OPTION, PACK, PACKED_ROWS, PLACE, Packing
from sooner.spark.shuffle.placing import place, placed_types, spreading_keyless, with_whole_keys
from sooner.spark.sources.pushed_down import Reading, reading_of
from sooner.spark.sources.spark_types import arrow_schema


@dataclass(frozen=True)
class Inflow:
    """An input on its way to the union."""

    rows: DataFrame
    columns: StructType  # that hold what the step gets
    place: Column  # which partition a row goes to
    packed: pa.Schema | None  # what is in its packs, if they are packs
    path: str  # in words, and why


def inflow_of(
    rows: DataFrame,
    others: Sequence[DataFrame],
    names: Sequence[str],
    keys: KeyPlan,
    schema: pa.Schema,
    partitions: int,
    *,
    keeps_keyless: bool,
) -> Inflow:
    """Of an input with these keys, whose columns Spark sends as this schema; `others` are the other inputs.

    Rows with a null in their key match nothing: they come along where that is asked for.
    """
    reading = _reading(rows, others)
    key_types = placed_types(keys)
    if isinstance(reading, Reading) and key_types is None:
        reading = f"keys of {', '.join(map(str, keys.types))} are placed by Spark"
    if isinstance(reading, str):
        where, path = place(names, keys, partitions), f"as Spark's rows: {reading}"
        if keeps_keyless:
            return Inflow(rows, rows.schema, spreading_keyless(where, rows, names, partitions), None, path)
        return Inflow(with_whole_keys(rows, names), rows.schema, where, None, path)
    assert key_types is not None
    source = arrow_schema(reading.read_columns)
    packing = Packing(
        source, reading.columns, schema, tuple(names), key_types, partitions, reading.condition, keeps_keyless
    )
    reader = rows.sparkSession.readStream.format(reading.source)
    packs = reader.options(**reading.options, **{OPTION: packing.to_text()}).load()
    return Inflow(packs, StructType([PACKED_ROWS[PACK]]), F.col(PLACE), schema, f"packed by {reading}")


def _reading(rows: DataFrame, others: Sequence[DataFrame]) -> Reading | str:
    """A stream that feeds two inputs is read once for both, which only Spark can do."""
    elsewhere: list[Any] = [stream for other in others for stream in streams_of(other)]
    if any(stream.equals(other) for stream in streams_of(rows) for other in elsewhere):
        return "its source feeds another input too"
    return reading_of(rows)
