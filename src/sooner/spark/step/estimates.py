"""What steps say of an estimate: each partition its sums, in every batch. Together they are the rows of a sink.

The same is in the versions of the state, so whoever watches the query reads it from there: also after a restart.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

from sooner.estimation.estimate import Estimate, as_rows
from sooner.estimation.workings import Workings
from sooner.operators.folding.together import Wanted, estimated, told_in
from sooner.runs.formats.versions import MissingVersion, Versions
from sooner.spark.session.versions import arrow_schema_of, spark_type_of
from sooner.spark.step.layout import partition_directory, root_of
from sooner.spark.step.standing import newest_batch
from sooner.spark.step.state_directory import open_state

BATCH: Final = "batch"
TOLD: Final = StructType([StructField(BATCH, LongType()), StructField("told", StringType())])
HOW_FAR: Final = (
    StructField(BATCH, LongType(), False),
    StructField("rows", LongType(), False),
    StructField("share_read", DoubleType()),
    StructField("exact", BooleanType(), False),
)
TRIES: Final = 3  # to read a version of all partitions before two newer ones are there


def told_row(told: dict[str, Any], version: int) -> pa.RecordBatch:
    """What an operator says at the end of a step, in one row."""
    columns = [pa.array([version], pa.int64()), pa.array([json.dumps(told)], pa.string())]
    return pa.RecordBatch.from_arrays(columns, TOLD.names)


def estimate_schema(workings: Workings) -> StructType:
    """Of estimates as rows: a row for each group and batch."""
    fields = [StructField(one.name, spark_type_of(one.type_of_values)) for one in workings.by]
    for measure in workings.measures:
        fields += [StructField(measure.name + end, DoubleType()) for end in ("", "_low", "_high")]
    return StructType([*fields, *HOW_FAR])


def adding_up(wanted: Wanted) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task makes of what all partitions have said in a batch."""
    schema = arrow_schema_of(estimate_schema(wanted.workings), "UTC")

    def add_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        if rows:
            told = [json.loads(row["told"]) for row in rows]
            yield _as_rows(estimated(wanted, told, 0.0), rows[0][BATCH], schema)

    return add_up


def _as_rows(found: Estimate, batch: int, schema: pa.Schema) -> pa.RecordBatch:
    rows = as_rows(found, batch=batch, rows=found.rows, share_read=found.share_read, exact=found.exact)
    columns = [column.cast(type_) for column, type_ in zip(rows.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def read_estimate(state: str, partitions: int, wanted: Wanted, seconds: float) -> Estimate | None:
    """After the newest batch that all partitions have done; None if there is none."""
    for _ in range(TRIES):
        newest = newest_batch(state)
        if newest is None:
            return None
        for batch in (newest, newest - 1):
            if (told := _told_after(state, partitions, wanted.workings, batch)) is not None:
                return estimated(wanted, told, seconds)
    return None


def _told_after(state: str, partitions: int, workings: Workings, batch: int) -> list[dict[str, Any]] | None:
    filesystem, path = open_state(state)
    root = root_of(filesystem, path)
    versions = [Versions(filesystem, partition_directory(root, partition)) for partition in range(partitions)]
    try:
        return [told_in(workings, one.load(batch)[1]["operator"]) for one in versions]
    except MissingVersion:
        return None
