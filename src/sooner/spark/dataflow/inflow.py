"""How an input gets to the union: packed by its source where that is ours, else as Spark's rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from sooner.spark.interop.spark_types import arrow_schema
from sooner.spark.interop.streams import streams_of
from sooner.spark.shuffle.hot_keys import Spreading
from sooner.spark.shuffle.packing import OPTION, PACK, PACKED_ROWS, PLACE, Packing
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.sampled import Sampled
from sooner.spark.shuffle.shares import GridPlacement
from sooner.spark.sources.pushed_down import reading_of
from sooner.spark.sources.readings import SOURCES, Reading

PACKS = StructType([PACKED_ROWS[PACK]])


@dataclass(frozen=True)
class Inflow:
    """An input on its way to the union."""

    rows: DataFrame
    columns: StructType  # that hold what the step gets
    places: Sequence[Column]  # which partition a row goes to; or those of the first and the last bin that it reaches
    packed: pa.Schema | None  # what is in its packs, if they are packs
    path: str  # in words, and why
    fallback: str | None = None  # why a source of ours does not pack them


def inflow_of(
    rows: DataFrame,
    others: Sequence[DataFrame],
    schema: pa.Schema,
    placement: Placement | GridPlacement,
    spreading: Spreading | None = None,
) -> Inflow:
    """The way into the union of an input that Spark sends with this schema; `others` are the other inputs. Where hot
    keys are spread all rows are packed, since only who packs them knows those.
    """
    reading = _reading_by(placement, rows, others)
    if isinstance(reading, str) and spreading is not None:
        packing = Packing(schema, tuple(schema.names), schema, placement, spreading=spreading)
        return _packed_after_spark(rows, packing, schema, reading)
    if isinstance(reading, str):
        wanted, places = placement.of_rows(rows)
        path = f"as Spark's rows: {reading}"
        return Inflow(wanted, rows.schema, places, None, path, _could_be_better(rows, path))
    packs = _packs(rows, reading, schema, placement, spreading=spreading)
    return Inflow(packs, PACKS, [F.col(PLACE)], schema, f"packed by {reading}")


def why_not_packed(rows: DataFrame, others: Sequence[DataFrame], placement: Placement) -> str | None:
    """Why the source of an input does not pack its rows, if it does not."""
    reading = _reading_by(placement, rows, others)
    return reading if isinstance(reading, str) else None


def sample_inflow_of(
    rows: DataFrame, others: Sequence[DataFrame], schema: pa.Schema, placement: Placement, sampled: Sampled
) -> Inflow:
    """The same for an estimate: rows are prepared and packed by their source, or else by a task after it."""
    reading, made = _reading(rows, others), sampled.preparation.schema
    if isinstance(reading, str):
        packing = Packing(schema, tuple(schema.names), schema, placement, None, sampled)
        return _packed_after_spark(rows, packing, made, reading)
    packs = _packs(rows, reading, schema, placement, sampled)
    return Inflow(packs, PACKS, [F.col(PLACE)], made, f"prepared and packed by {reading}")


def _packed_after_spark(rows: DataFrame, packing: Packing, made: pa.Schema, why: str) -> Inflow:
    packs = rows.mapInArrow(packing.packed, PACKED_ROWS)
    path = f"packed after Spark: {why}"
    return Inflow(packs, PACKS, [F.col(PLACE)], made, path, _could_be_better(rows, path))


def _could_be_better(rows: DataFrame, path: str) -> str | None:
    """This path, where a source of ours could give the rows packed, were it not for what stands between."""
    streams = streams_of(rows)
    ours = any(stream.source in SOURCES for stream in streams)
    return path if ours else None


def _packs(
    rows: DataFrame,
    reading: Reading,
    schema: pa.Schema,
    placement: Placement | GridPlacement,
    sampled: Sampled | None = None,
    spreading: Spreading | None = None,
) -> DataFrame:
    source = arrow_schema(reading.read_columns)
    packing = Packing(source, reading.columns, schema, placement, reading.condition, sampled, spreading)
    reader = rows.sparkSession.readStream.format(reading.source)
    return reader.options(**reading.options, **{OPTION: packing.to_text()}).load()


def _reading_by(placement: Placement | GridPlacement, rows: DataFrame, others: Sequence[DataFrame]) -> Reading | str:
    reading = _reading(rows, others)
    if isinstance(reading, Reading) and not placement.is_a_readers:
        return f"keys of {', '.join(map(str, placement.types))} are placed by Spark"
    return reading


def _reading(rows: DataFrame, others: Sequence[DataFrame]) -> Reading | str:
    """A stream that feeds two inputs is read once for both, which only Spark can do."""
    elsewhere = [stream for other in others for stream in streams_of(other)]
    if any(stream in elsewhere for stream in streams_of(rows)):
        return "its source feeds another input too"
    return reading_of(rows)
