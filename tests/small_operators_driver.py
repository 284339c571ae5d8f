"""Queries on Spark with operators that nobody made the engine for; as a program they can be killed:

python small_operators_driver.py FOLDER

They go on from the checkpoints in the folder, if there are any. Both have three inputs: a distinct union, and a join
that is guarded by the third, for which rows of the others wait in the state.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructField, StructType

import guarded
import sooner.spark as ss
import union
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.operator import OperatorPlan
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import Inflow
from sooner.spark.shuffle.shared_columns import share_columns
from sooner.spark.step.plan import StepPlan
from spark_joins import killable_session

NAMES = ("first", "second", "third")
KEYS, ROWS = 3_000, 6_000
PARTITIONS = 2
OPERATORS: dict[str, tuple[OperatorPlan[Any], tuple[str, ...]]] = {  # and the columns of their results
    "union": (union.UnionPlan("k"), ("k",)),
    "guarded": (guarded.GuardedPlan("k", ALGORITHMS["hmj"]), ("k", "row_left", "row_right")),
}
for module in (guarded, union):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call] # the workers do not have it


def tables() -> dict[str, pa.Table]:
    """Keys that overlap between the inputs."""
    rng = np.random.default_rng(5)
    return {
        name: pa.table({"k": rng.integers(which * KEYS // 2, which * KEYS // 2 + KEYS, ROWS), "row": np.arange(ROWS)})
        for which, name in enumerate(NAMES)
    }


def expected(operator: str) -> Counter[tuple[int, ...]]:
    first, second, third = tables().values()
    if operator == "union":
        return Counter({(key,): 1 for table in tables().values() for key in table["k"].to_pylist()})
    allowed = {*third["k"].to_pylist()}
    by_key: dict[int, list[int]] = {}
    for key, row in zip(second["k"].to_pylist(), second["row"].to_pylist(), strict=True):
        by_key.setdefault(key, []).append(row)
    pairs = zip(first["k"].to_pylist(), first["row"].to_pylist(), strict=True)
    return Counter((key, row, other) for key, row in pairs if key in allowed for other in by_key.get(key, ()))


def start(spark: SparkSession, folder: Path, names: Iterable[str] = OPERATORS) -> dict[str, ss.Query]:
    """Each operator over the same files, written as Parquet."""
    for name, table in tables().items():
        file = folder / f"{name}.parquet"
        if not file.exists():
            pq.write_table(table, file, row_group_size=ROWS // 6)
    return {name: _start(spark, folder, name) for name in names}


def _start(spark: SparkSession, folder: Path, name: str) -> ss.Query:
    operator, columns = OPERATORS[name]
    frames = [ss.sources.parquet(spark, str(folder / f"{one}.parquet"), rows_per_batch=ROWS // 6) for one in NAMES]
    plan = StepPlan(
        operator=operator,
        state=str(folder / name / "state"),
        inputs=NAMES,
        columns=tuple(tuple(frame.columns) for frame in frames),
        packed=(None,) * len(frames),
        shared=share_columns(*(frame.schema for frame in frames)),
        memory_bytes=PARTITIONS * 128 * 2**10,
        partitions=PARTITIONS,
        identity={"partitions": PARTITIONS},
        shared_memory=folder / "shared-memory",
    )
    place = F.pmod(F.xxhash64("k"), F.lit(PARTITIONS)).cast("int")
    inflows = [Inflow(frame, frame.schema, [place], None, "as Spark's rows") for frame in frames]
    made = dataflow(inflows, plan, StructType([StructField(one, LongType()) for one in columns]))
    writer = made.writeStream.format("parquet").option("checkpointLocation", str(folder / name / "checkpoint"))
    return ss.start(writer, str(folder / name / "output"))


def main(folder: Path) -> None:
    for query in start(killable_session("local[2,4]"), folder).values():
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
