"""Any operator inside a streaming query: DataFrames in, one DataFrame out.

    inputs: tagged, in shared columns     the pacemaker and a mark: a row for each partition
                 \\_____________ union ______________/
                                  |
              repartitionById: each row to the partition of its key
                                  |
                    mapInArrow: one step of the operator

What comes out is an ordinary streaming DataFrame: any sink, trigger and further operator can follow.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from sooner.spark.session.pacemaker import FORMAT, Pulses, with_figures
from sooner.spark.session.streams import streams_of
from sooner.spark.shuffle.row_kinds import place_column
from sooner.spark.shuffle.shared_columns import KIND
from sooner.spark.sources.loading import register_source
from sooner.spark.step.plan import StepPlan
from sooner.spark.step.step import Attempt, run_step


def dataflow(inputs: Sequence[DataFrame], places: Sequence[Column], plan: StepPlan, schema: StructType) -> DataFrame:
    """`places` says of each input which partition a row of it goes to."""
    tagged = [
        plan.shared.tagged(rows, which, place) for which, (rows, place) in enumerate(zip(inputs, places, strict=True))
    ]
    pulses = plan.shared.pulses(_pulses(inputs, plan), plan.partitions)
    marks = plan.shared.marks(_places(inputs[0].sparkSession, plan.partitions))
    union = reduce(DataFrame.unionAll, [*tagged, pulses, marks])
    return union.repartitionById(plan.partitions, place_column(F.col(KIND))).mapInArrow(_step_of(plan), schema)


def _step_of(plan: StepPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_step(plan, Attempt.of_this_task(), batches)

    return step


def _pulses(inputs: Sequence[DataFrame], plan: StepPlan) -> DataFrame:
    spark = inputs[0].sparkSession
    register_source(spark, Pulses)
    pulses = (
        spark.readStream.format(FORMAT)
        .option("state", plan.state)
        .option("partitions", plan.partitions)
        .option("inputs", ",".join(plan.inputs))
        .option("streams", ",".join(str(len(streams_of(rows))) for rows in inputs))
        .option("shared_memory", str(plan.shared_memory or ""))
        .load()
    )
    return with_figures(pulses, plan.state, plan.inputs)


def _places(spark: SparkSession, partitions: int) -> DataFrame:
    """The numbers of the partitions, in every batch. Spark's API has no rows that are there whatever the sources give,
    but its sources are made of them.
    """
    numbers = spark.range(0, partitions, 1, numPartitions=1).toDF("place")
    execution = numbers._jdf.queryExecution()
    return DataFrame(
        spark._jsparkSession.internalCreateDataFrame(execution.toRdd(), execution.analyzed().schema(), True), spark
    )
