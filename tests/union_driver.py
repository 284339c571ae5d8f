"""A query on Spark with the second operator, a distinct union of three inputs; as a program it can be killed:

python union_driver.py FOLDER

It goes on from the checkpoint in the folder, if there is one.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructField, StructType

import sooner.spark as ss
import union
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import Inflow
from sooner.spark.shuffle.shared_columns import share_columns
from sooner.spark.step.plan import StepPlan
from spark_joins import killable_session

NAMES = ("first", "second", "third")
KEYS, ROWS = 3_000, 6_000
PARTITIONS = 2
cloudpickle.register_pickle_by_value(union)  # type: ignore[no-untyped-call] # the workers do not have it


def tables() -> dict[str, pa.Table]:
    """Keys that overlap between the inputs."""
    rng = np.random.default_rng(5)
    return {
        name: pa.table({"k": rng.integers(which * KEYS // 2, which * KEYS // 2 + KEYS, ROWS), "row": np.arange(ROWS)})
        for which, name in enumerate(NAMES)
    }


def expected() -> set[int]:
    return {key for table in tables().values() for key in table["k"].to_pylist()}


def start(spark: SparkSession, folder: Path) -> ss.Query:
    """The union of all three, written as Parquet."""
    for name, table in tables().items():
        file = folder / f"{name}.parquet"
        if not file.exists():
            pq.write_table(table, file, row_group_size=ROWS // 6)
    frames = [ss.sources.parquet(spark, str(folder / f"{name}.parquet"), rows_per_batch=ROWS // 6) for name in NAMES]
    plan = StepPlan(
        operator=union.UnionPlan("k"),
        state=str(folder / "state"),
        inputs=NAMES,
        columns=tuple(tuple(frame.columns) for frame in frames),
        packed=(None,) * len(frames),
        shared=share_columns(*(frame.schema for frame in frames)),
        memory_bytes=PARTITIONS * 64 * 2**10,
        partitions=PARTITIONS,
        identity={"partitions": PARTITIONS},
        shared_memory=folder / "shared-memory",
    )
    place = F.pmod(F.xxhash64("k"), F.lit(PARTITIONS)).cast("int")
    inflows = [Inflow(frame, frame.schema, [place], None, "as Spark's rows") for frame in frames]
    united = dataflow(inflows, plan, StructType([StructField("k", LongType())]))
    writer = united.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    return ss.start(writer, str(folder / "output"))


def main(folder: Path) -> None:
    start(killable_session("local[2,4]"), folder).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
