"""What `join` and `estimate` both check of what the user gave: the DataFrames, their columns, the memory."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sooner.budget import format_bytes, parse_bytes
from sooner.errors import BudgetTooSmall, InvalidJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.spark.session.versions import arrow_schema_of
from sooner.spark.shuffle.placing import require_binary_collation

LEAST_PARTITION_BYTES: Final = 64 * 2**10


def session_of(names: Sequence[str], frames: Sequence[DataFrame]) -> SparkSession:
    """The session of all these inputs, which are DataFrames, and not all of them at rest."""
    for name, frame in zip(names, frames, strict=True):
        if not isinstance(frame, DataFrame):
            raise InvalidJoin(
                f"{name} is a {type(frame).__name__}; sooner.spark joins DataFrames (sooner.join the rest)."
            )
    if not any(frame.isStreaming for frame in frames):
        are = "is not a streaming DataFrame" if len(names) == 1 else "are no streaming DataFrames"
        raise InvalidJoin(
            f"{' and '.join(names)} {are}; read one with spark.readStream or sooner.spark.sources, or use Spark's own "
            "join if all rows are there already."
        )
    if any(frame.sparkSession is not frames[0].sparkSession for frame in frames):
        raise InvalidJoin(f"{' and '.join(names)} belong to different Spark sessions; read both with one.")
    return frames[0].sparkSession


def identity_of(
    left: DataFrame, right: DataFrame, operator: TwoWayPlan, schemas: Sequence[pa.Schema], partitions: int
) -> dict[str, Any]:
    """What must not change while a state is in use."""
    near = operator.range(schemas)
    return {
        "partitions": partitions,
        "algorithm": operator.algorithm.name,
        "how": operator.kind.name,
        "left": left.schema.simpleString(),
        "right": right.schema.simpleString(),
        "keys": [list(operator.left_on), list(operator.right_on)],
        "range": None if near is None else [near.left, near.right, near.low, near.high],
        "forgets": [str(limit) for limit in (operator.lateness, operator.retention) if limit is not None],
        "arrow": left.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }


def usable_memory(memory: int | str | None, partitions: int) -> int:
    n_bytes = parse_bytes(memory)
    require_enough(n_bytes, partitions, f"memory={memory!r} is too little for {partitions} partitions")
    return n_bytes


def require_enough(n_bytes: int, partitions: int, otherwise: str) -> None:
    """Refuse what no partition can work with, as told by `otherwise`."""
    if n_bytes // partitions < LEAST_PARTITION_BYTES:
        raise BudgetTooSmall(
            f"{otherwise}; give at least {format_bytes(LEAST_PARTITION_BYTES)} for each, or fewer partitions."
        )


def checked_schemas(
    names: Sequence[str],
    frames: Sequence[DataFrame],
    keys: Sequence[Sequence[str]],
    output: Callable[[Sequence[pa.Schema]], pa.Schema],
) -> list[pa.Schema]:
    """The schemas in which Spark sends the inputs; their columns and those of the result have distinct names."""
    spark = frames[0].sparkSession
    by_case = spark.conf.get("spark.sql.caseSensitive") == "true"
    in_arrow = partial(
        arrow_schema_of,
        timezone=str(spark.conf.get("spark.sql.session.timeZone")),
        large=spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true",
    )
    for name, frame, key in zip(names, frames, keys, strict=True):
        require_distinct(name, frame.columns, by_case)
        require_binary_collation(name, frame.schema, key)
    schemas = [_arrow_schema(name, frame.schema, in_arrow) for name, frame in zip(names, frames, strict=True)]
    require_distinct("the result", output(schemas).names, by_case)
    return schemas


def _arrow_schema(side: str, schema: StructType, in_arrow: Callable[[StructType], pa.Schema]) -> pa.Schema:
    for field in schema:
        try:
            in_arrow(StructType([field]))
        except PySparkTypeError as error:
            raise InvalidJoin(
                f"column {field.name!r} on the {side} is {field.dataType.simpleString()}, which Spark does not give as "
                "Arrow; cast it before the join, for example to string, or leave it out."
            ) from error
    types: list[pa.DataType] = in_arrow(schema).types
    return pa.schema(list(zip(schema.names, types, strict=True)))  # whether a column has nulls, its rows tell


def require_distinct(name: str, columns: Sequence[str], by_case: bool) -> None:
    """Refuse columns that the session cannot tell apart: case counts only if it is told so."""
    seen: dict[str, str] = {}
    for column in columns:
        known_as = column if by_case else column.lower()
        if (other := seen.get(known_as)) is not None:
            raise InvalidJoin(
                f"{name} has the columns {other!r} and {column!r}, which Spark takes for one; rename one."
            )
        seen[known_as] = column
