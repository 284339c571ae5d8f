"""Drive a stream as Spark does: without Spark, or with it and with a crash on the way."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.streaming import StreamingQuery

from sooner.spark.interop.spark_types import arrow_schema
from sooner.spark.session.versions import SETS_LIMITS, WithMemory, offset_in_progress

Offset = dict[str, Any]
OLD = "Spark tells sources in Python of such a trigger since 4.2"
stops_by_itself = pytest.mark.skipif(not SETS_LIMITS, reason=OLD)


def reader_of(source: type[DataSource], options: dict[str, str]) -> DataSourceStreamReader:
    made = source(options)
    schema = made.schema()
    assert not isinstance(schema, str)
    reader = made.streamReader(schema)
    return reader.reader if isinstance(reader, WithMemory) else reader  # as it is since Spark 4.2


def through_json(offset: Offset) -> Offset:
    """An offset as it comes back from Spark's log."""
    copy: Offset = json.loads(json.dumps(offset))
    return copy


def offsets_of(reader: DataSourceStreamReader) -> list[Offset]:
    """All offsets from the first to the one that ends the input."""
    offsets = [through_json(reader.initialOffset())]
    while not offsets[-1]["ended"]:
        offsets.append(through_json(reader.latestOffset(offsets[-1], reader.getDefaultReadLimit())))
    assert reader.latestOffset(offsets[-1], reader.getDefaultReadLimit()) == offsets[-1]
    return offsets


def rows_between(reader: DataSourceStreamReader, start: Offset, end: Offset) -> list[tuple[Any, ...]]:
    """The rows of one batch, share after share."""
    rows: list[tuple[Any, ...]] = []
    for share in reader.partitions(start, end):
        for batch in reader.read(share):
            assert isinstance(batch, pa.RecordBatch)
            assert batch.schema.equals(arrow_schema(reader._schema))  # type: ignore[attr-defined]
            rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return rows


def batches_of(reader: DataSourceStreamReader) -> list[list[tuple[Any, ...]]]:
    """All batches."""
    offsets = offsets_of(reader)
    return [rows_between(reader, start, end) for start, end in pairwise(offsets)]


def run_to_end(frame: DataFrame, checkpoint: Path, write: Callable[[DataFrame, int], None]) -> StreamingQuery:
    """Run a query over all that is available; its failure is raised."""
    if not SETS_LIMITS:
        pytest.skip(OLD)
    writer = frame.writeStream.foreachBatch(write).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    return query


def end_offset(query: StreamingQuery) -> Offset:
    progress = query.lastProgress
    assert progress is not None
    offset: Any = offset_in_progress(progress["sources"][0]["endOffset"])
    return dict(offset)


class Collected:
    """A sink for `foreachBatch`: batches by number, each overwritten when it comes again; it can be made to crash."""

    def __init__(self, crash_at: int | None = None) -> None:
        self.batches: dict[int, list[tuple[Any, ...]]] = {}
        self.crash_at = crash_at
        self.attempts = 0

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        self.attempts += 1
        self.batches[batch_id] = [tuple(row) for row in frame.collect()]
        if batch_id == self.crash_at:
            raise RuntimeError("crashed on purpose")

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [row for batch_id in sorted(self.batches) for row in self.batches[batch_id]]
