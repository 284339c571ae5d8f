"""`sooner.replay`: a Parquet table whose rows arrive by the wall clock, as an arrival pattern says.

It is `sooner.parquet` with a watch: rows, order and offsets are the same, and the clock only says how far a batch may
go. What was logged once is replayed exactly, whatever the time.

Not covered: a trigger `availableNow`, which asks for all that there is: it gets all rows at once.
"""

# ruff: noqa: N802 - the names of methods are Spark's

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

from sooner.errors import InvalidCall
from sooner.sources.arrival_patterns import ArrivalPattern, ArrivalSchedule
from sooner.spark.session.versions import ReadLimit, ReadMaxRows, reader_for_this_spark
from sooner.spark.sources import options as option
from sooner.spark.sources.loading import load_stream, tasks_of
from sooner.spark.sources.pacing import DueRows
from sooner.spark.sources.parquet_source import ParquetDataSource, ParquetOptions, ParquetStreamReader
from sooner.spark.sources.patterns import pattern_from_text, pattern_text
from sooner.spark.sources.row_order import Order


class ReplayOptions(ParquetOptions):
    """What the user chose, checked. `seed` is for the arrivals, `order_seed` for the order of the rows."""

    known: ClassVar[tuple[str, ...]] = (*ParquetOptions.known, "arrivals", "speed", "order_seed")

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options, "sooner.replay")
        self.arrivals_seed, self.seed = self.seed, option.whole_number(options, "order_seed", 0)
        self.arrivals = pattern_from_text(option.required(options, "arrivals", "an arrival pattern as JSON"))
        self.speed = _speed(options.get("speed", "1.0"))
        ArrivalSchedule(self.arrivals, self.arrivals_seed)  # made only to refuse a bad pattern now


class ReplayDataSource(ParquetDataSource):
    """The format `sooner.replay`."""

    @classmethod
    def name(cls) -> str:
        """What `format()` takes."""
        return "sooner.replay"

    @property
    def chosen(self) -> ReplayOptions:
        return ReplayOptions(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What Spark asks for offsets and rows."""
        return reader_for_this_spark(ReplayStreamReader(self.chosen, schema))


class ReplayStreamReader(ParquetStreamReader):
    """A Parquet reader whose batches end at the last row that is due."""

    def __init__(self, chosen: ReplayOptions, schema: StructType) -> None:
        super().__init__(chosen, schema)
        self._paced: ReplayOptions | None = chosen

    def prepareForTriggerAvailableNow(self) -> None:
        """All rows are available now: the clock does not matter."""
        self._paced = None

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the batch that begins at `start` ends: at the row due last, or before."""
        if self._paced is None or start["ended"]:
            return super().latestOffset(start, limit)
        self._require_same_input(start)
        due = self._due.by_now(start["row"])
        end = min(due, start["row"] + limit.max_rows) if isinstance(limit, ReadMaxRows) else due
        return self._offset(end, ended=end == self._numbered.rows)

    @cached_property
    def _due(self) -> DueRows:
        chosen = self._paced
        assert chosen is not None
        return DueRows(self._numbered.rows, chosen.arrivals, chosen.arrivals_seed, chosen.speed, time.monotonic)


def replay(
    spark: SparkSession,
    path: str,
    arrivals: ArrivalPattern,
    *,
    seed: int = 0,
    speed: float = 1.0,
    rows_per_batch: int | None = None,
    order: Order = "file",
    order_seed: int = 0,
    columns: Sequence[str] | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """A Parquet table as a streaming DataFrame whose rows arrive as `arrivals`, drawn by `seed`, says.

    `speed=10` replays ten times as fast. The first row is due when the query starts; a query that resumes goes on at
    the row it had reached. Rows that are overdue come at once, at most `rows_per_batch` in a batch. The other arguments
    are those of `parquet`.
    """
    options = option.given(
        path=path,
        arrivals=pattern_text(arrivals),
        seed=seed,
        speed=speed,
        rows_per_batch=rows_per_batch,
        order=order,
        order_seed=order_seed,
        columns=columns,
        partitions=tasks_of(spark, partitions),
    )
    return load_stream(spark, ReplayDataSource, options)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not (math.isfinite(speed) and speed > 0):
        raise InvalidCall(f"speed is {text}; give a finite number above 0")
    return speed
