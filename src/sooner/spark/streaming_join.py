"""`sooner.spark.join`: two streaming DataFrames in, one out.

    left, right: tagged, in shared columns    the pacemaker and a mark: a row for each partition
                 \\_____________ union ______________/
                                  |
              repartitionById: each row to the partition of its key
                                  |
                      mapInArrow: one step of the join

What comes out is an ordinary streaming DataFrame: any sink, trigger and further operator can follow.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from sooner.arguments import (
    Columns,
    How,
    key_names,
    plain_path,
    require_join,
    require_suffixes,
    require_whole_number,
)
from sooner.budget import format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.kernels.keys import KeyPlan, plan_keys
from sooner.named_algorithms import Algorithm, AlgorithmName, find_algorithm
from sooner.operators.two_way.output import OutputPlan, plan_output
from sooner.sides import LEFT, RIGHT
from sooner.spark.plan import JoinPlan
from sooner.spark.session.pacemaker import FORMAT, Pulses, with_figures
from sooner.spark.session.prerequisites import require_classic
from sooner.spark.session.streams import streams_of
from sooner.spark.shuffle.placing import place, require_binary_collation, with_whole_keys
from sooner.spark.shuffle.row_kinds import place_column
from sooner.spark.shuffle.shared_columns import KIND, share_columns
from sooner.spark.sources.loading import register_source
from sooner.spark.step.state_directory import location_of, require_same_join, stored_identity
from sooner.spark.step.step import Attempt, run_step

LEAST_PARTITION_BYTES: Final = 64 * 2**10


def join(
    left: DataFrame,
    right: DataFrame,
    on: Columns | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    how: How = "inner",
    suffixes: tuple[str, str] = ("_left", "_right"),
    algorithm: AlgorithmName | Algorithm = "rpj",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path,
    shared_memory: str | Path | None = None,
) -> DataFrame:
    """Join two streaming DataFrames while they arrive: no watermark, exact, in bounded memory.

    on, left_on, right_on, suffixes, algorithm: as for `sooner.join`.
    memory: what rows of all partitions together may take in shared memory, such as "4g"; others are on disk only.
    partitions: of the join, each a task in every batch; by default one for each core, or as many as the state has.
    state: a directory of its own for the rows, by path or URI; all executors must reach it. It belongs to one query and
        its checkpoint.
    shared_memory: where executors keep rows in memory; by default `/dev/shm`, or a temporary directory where that is
        missing.

    Results come as rows meet. Started with `sooner.spark.start`, the query completes the answer when its inputs end.
    """
    require_join(how)
    left_names, right_names = key_names(on, left_on, right_on)
    chosen = find_algorithm(algorithm)
    require_suffixes(suffixes)
    spark = _session_of(left, right)
    location = location_of(state)
    stored = stored_identity(location)
    if partitions is None:
        partitions = int(stored["partitions"]) if stored else spark.sparkContext.defaultParallelism
    require_whole_number("partitions", partitions)
    memory_bytes = _usable_memory(memory, partitions)
    keys, output = _checked_columns(spark, left.schema, right.schema, left_names, right_names, suffixes)
    identity = _identity(left, right, (left_names, right_names), partitions, chosen)
    if stored is not None:
        require_same_join(location, stored, identity)
    plan = JoinPlan(
        state=location,
        names=(tuple(left.columns), tuple(right.columns)),
        left_on=tuple(left_names),
        right_on=tuple(right_names),
        suffixes=(suffixes[0], suffixes[1]),
        shared=share_columns(left.schema, right.schema),
        algorithm=chosen,
        memory_bytes=memory_bytes,
        partitions=partitions,
        identity=identity,
        shared_memory=None if shared_memory is None else plain_path("shared_memory", shared_memory),
    )
    schema = _result_schema(left.schema, right.schema, output)
    return _placed(left, right, plan, keys).mapInArrow(_step_of(plan), schema)


def _placed(left: DataFrame, right: DataFrame, plan: JoinPlan, keys: KeyPlan) -> DataFrame:
    """All rows and pulses, each in its partition."""
    shared, partitions = plan.shared, plan.partitions
    union = (
        shared.tagged(with_whole_keys(left, plan.left_on), LEFT, place(plan.left_on, keys, partitions))
        .unionAll(shared.tagged(with_whole_keys(right, plan.right_on), RIGHT, place(plan.right_on, keys, partitions)))
        .unionAll(shared.pulses(_pulses(left, right, plan), partitions))
        .unionAll(shared.marks(_places(left.sparkSession, partitions)))
    )
    return union.repartitionById(partitions, place_column(F.col(KIND)))


def _step_of(plan: JoinPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_step(plan, Attempt.of_this_task(), batches)

    return step


def _session_of(left: DataFrame, right: DataFrame) -> SparkSession:
    for name, side in (("left", left), ("right", right)):
        if not isinstance(side, DataFrame):
            raise InvalidJoin(
                f"{name} is a {type(side).__name__}; sooner.spark joins DataFrames (sooner.join the rest)."
            )
        require_classic(name, side)
        if not side.isStreaming:
            raise InvalidJoin(
                f"{name} is not a streaming DataFrame; read it with spark.readStream or sooner.spark.sources, or use "
                "Spark's own join if it has all its rows already."
            )
    if left.sparkSession is not right.sparkSession:
        raise InvalidJoin("left and right belong to different Spark sessions; read both with one.")
    return left.sparkSession


def _identity(
    left: DataFrame, right: DataFrame, keys: tuple[list[str], list[str]], partitions: int, algorithm: Algorithm
) -> dict[str, Any]:
    """What must not change while a state is in use."""
    return {
        "partitions": partitions,
        "algorithm": algorithm.name,
        "left": left.schema.simpleString(),
        "right": right.schema.simpleString(),
        "keys": list(keys),
        "arrow": left.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }


def _usable_memory(memory: int | str | None, partitions: int) -> int:
    n_bytes = parse_bytes(memory)
    if n_bytes // partitions < LEAST_PARTITION_BYTES:
        raise BudgetTooSmall(
            f"memory={memory!r} is too little for {partitions} partitions; give at least "
            f"{format_bytes(LEAST_PARTITION_BYTES)} for each, or fewer partitions."
        )
    return n_bytes


def _checked_columns(
    spark: SparkSession,
    left: StructType,
    right: StructType,
    left_on: list[str],
    right_on: list[str],
    suffixes: tuple[str, str],
) -> tuple[KeyPlan, OutputPlan]:
    by_case = spark.conf.get("spark.sql.caseSensitive") == "true"
    time_zone = spark.conf.get("spark.sql.session.timeZone")
    for name, schema, key in (("left", left, left_on), ("right", right, right_on)):
        _require_distinct(name, schema.names, by_case)
        require_binary_collation(name, schema, key)
    schemas = _arrow_schema("left", left, time_zone), _arrow_schema("right", right, time_zone)
    keys = plan_keys(schemas[LEFT], schemas[RIGHT], left_on, right_on)
    output = plan_output(schemas[LEFT], schemas[RIGHT], keys, suffixes)
    _require_distinct("the result", output.schema.names, by_case)
    return keys, output


def _arrow_schema(side: str, schema: StructType, time_zone: str | None) -> pa.Schema:
    for field in schema:
        try:
            to_arrow_schema(StructType([field]), timezone=time_zone)
        except PySparkTypeError as error:
            raise InvalidJoin(
                f"column {field.name!r} on the {side} is {field.dataType.simpleString()}, which Spark does not give as "
                "Arrow; cast it before the join, for example to string, or leave it out."
            ) from error
    return to_arrow_schema(schema, timezone=time_zone)


def _require_distinct(name: str, columns: Sequence[str], by_case: bool) -> None:
    """As the session tells columns apart: without case unless it is told otherwise."""
    seen: dict[str, str] = {}
    for column in columns:
        known_as = column if by_case else column.lower()
        if (other := seen.get(known_as)) is not None:
            raise InvalidJoin(
                f"{name} has the columns {other!r} and {column!r}, which Spark takes for one; rename one."
            )
        seen[known_as] = column


def _result_schema(left: StructType, right: StructType, output: OutputPlan) -> StructType:
    fields = [*left.fields, *(right.fields[position] for position in output.right)]
    return StructType(
        [StructField(name, field.dataType, True) for name, field in zip(output.schema.names, fields, strict=True)]
    )


def _pulses(left: DataFrame, right: DataFrame, plan: JoinPlan) -> DataFrame:
    spark = left.sparkSession
    register_source(spark, Pulses)
    pulses = (
        spark.readStream.format(FORMAT)
        .option("state", plan.state)
        .option("partitions", plan.partitions)
        .option("shared_memory", str(plan.shared_memory or ""))
        .option("left_streams", len(streams_of(left)))
        .option("right_streams", len(streams_of(right)))
        .load()
    )
    return with_figures(pulses, plan.state)


def _places(spark: SparkSession, partitions: int) -> DataFrame:
    """The numbers of the partitions, in every batch. Spark's API has no rows that are there whatever the sources give,
    but its sources are made of them.
    """
    numbers = spark.range(0, partitions, 1, numPartitions=1).toDF("place")
    execution = numbers._jdf.queryExecution()
    return DataFrame(
        spark._jsparkSession.internalCreateDataFrame(execution.toRdd(), execution.analyzed().schema(), True), spark
    )
