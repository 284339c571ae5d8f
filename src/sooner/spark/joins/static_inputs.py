"""A DataFrame that has all its rows already, as an input: its rows become a stream that ends.

They are first written to Parquet files in the state, where the query finds them again after a crash, whatever the
DataFrame would give by then. Until the state has been used they are written anew each time.

Not covered: a query whose first batch was cut off, which is told that its rows are others now and must have another
checkpoint; types that Parquet files do not keep as they are, such as intervals, which are refused by name.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow.fs as pafs
from pyspark.sql import DataFrame, SparkSession

from sooner.errors import InvalidJoin
from sooner.spark.interop.locations import inside_of
from sooner.spark.joins.rooms import Rooms
from sooner.spark.sources.parquet_source import parquet
from sooner.spark.sources.row_order import Order
from sooner.spark.step.state_directory import open_state

COMPLETE: Final = "_SUCCESS"  # Spark writes it last
_TIMES: Final = "spark.sql.parquet.outputTimestampType"


def as_streams(
    names: Sequence[str],
    frames: Sequence[DataFrame],
    rooms: Rooms,
    check: Callable[[], object],
    order: Order = "file",
) -> list[DataFrame]:
    """The inputs as streams; `check` refuses what cannot be joined before any row is written."""
    if all(frame.isStreaming for frame in frames):
        return list(frames)
    check()
    return [
        frame if frame.isStreaming else _stream_of(frame, f"input-{number}", name, rooms, order)
        for number, (name, frame) in enumerate(zip(names, frames, strict=True), 1)
    ]


def write_rows(rows: DataFrame) -> Callable[[str], None]:
    """Writes the rows of a DataFrame to a folder of Parquet files, in types that are read as what they were."""

    def write(place: str) -> None:
        with _times_as_instants(rows.sparkSession):
            rows.write.mode("overwrite").parquet(place)

    return write


def copied(location: str, folder: str, write: Callable[[str], Any], *, anew: bool = False) -> str:
    """A folder in the state, to which rows are written if they are not there as a whole, or if they are to be anew."""
    filesystem, path = open_state(location)
    place = inside_of(location, folder)
    if anew or filesystem.get_file_info(f"{path}/{folder}/{COMPLETE}").type != pafs.FileType.File:
        write(place)
    return place


def require_same_columns(location: str, of: str, there: Sequence[str], here: Sequence[str]) -> None:
    if list(there) != list(here):
        raise InvalidJoin(
            f"The state in {location} has other columns in the {of}: {', '.join(there)} there, {', '.join(here)} here. "
            "Give the join another state, or make it as it was."
        )


def _stream_of(frame: DataFrame, folder: str, name: str, rooms: Rooms, order: Order) -> DataFrame:
    unused = rooms.stored is None and not rooms.is_divided
    place = copied(rooms.location, folder, write_rows(frame), anew=unused)
    rows = parquet(frame.sparkSession, place, order=order)
    require_same_columns(rooms.location, name, rows.columns, frame.columns)
    for here, there in zip(frame.schema, rows.schema, strict=True):
        if here.dataType.simpleString() != there.dataType.simpleString():
            raise InvalidJoin(
                f"column {here.name!r} of the {name}, which has all its rows already, is {here.dataType.simpleString()}"
                f", and {there.dataType.simpleString()} in the Parquet files in {place}; cast it before the join to "
                "what it is there, or give the join another state."
            )
    return rows


@contextmanager
def _times_as_instants(spark: SparkSession) -> Iterator[None]:
    """Spark's own way to write them, in 96 bits, does not say that they are instants and not times of a calendar."""
    before = spark.conf.get(_TIMES)
    spark.conf.set(_TIMES, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(_TIMES, str(before))
