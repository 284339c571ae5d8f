"""Any operator inside a streaming query: DataFrames in, one DataFrame out.

    inputs: tagged, in shared columns     the pacemaker and a mark: a row for each partition
                 \\_____________ union ______________/
                                  |
              repartitionById: each row to the partition of its key
                                  |
                    mapInArrow: one step of the operator

What comes out is an ordinary streaming DataFrame: any sink, trigger and further operator can follow.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from sooner.spark.dataflow.beats import beats_of
from sooner.spark.dataflow.inflow import Inflow
from sooner.spark.dataflow.pacemaker import FORMAT, Pulses, with_figures
from sooner.spark.interop.streams import streams_of
from sooner.spark.session.versions import placed_by
from sooner.spark.shuffle.row_kinds import place_column
from sooner.spark.shuffle.shared_columns import KIND
from sooner.spark.sources.loading import register_source
from sooner.spark.step.plan import StepPlan, Task
from sooner.spark.step.step import Attempt, run_step


def dataflow(
    inflows: Sequence[Inflow], plan: StepPlan, schema: StructType, notes: Sequence[str] = (), estimate: str = ""
) -> DataFrame:
    """`notes` are what else there is to explain; `estimate` is which one is made, if one is."""
    named = zip(plan.inputs, inflows, strict=True)
    slower = [f"The {name} comes {inflow.fallback}" for name, inflow in named if inflow.fallback]
    plan = replace(plan, fallbacks=(*plan.fallbacks, *slower))
    tagged = [
        plan.shared.tagged(inflow.rows, inflow.columns.names, which, *inflow.places)
        for which, inflow in enumerate(inflows)
    ]
    beats = plan.shared.beats(beats_of(_pulses(inflows, plan, notes, estimate), plan.partitions))
    union = reduce(DataFrame.unionAll, [*tagged, beats])
    flow = Flow(_in_tasks(union, plan), plan)
    results = flow.placed.mapInArrow(_step_of(plan), schema)
    _FLOWS[results] = flow
    return results


@dataclass(frozen=True)
class Flow:
    """What results are made of: rows in their partitions, and what a step does with them."""

    placed: DataFrame
    plan: StepPlan


_FLOWS: Final[WeakKeyDictionary[DataFrame, Flow]] = WeakKeyDictionary()  # of DataFrames that came from here


def done_in_its_tasks(rows: DataFrame, do: Task, schema: str) -> DataFrame:
    """What `do` makes of these rows, task by task; it gets those of an operator as they are made, before Spark does."""
    flow = _FLOWS.get(rows)
    if flow is None:
        return rows.mapInArrow(do, schema)
    return flow.placed.mapInArrow(_step_of(replace(flow.plan, then=do)), schema)


def _in_tasks(union: DataFrame, plan: StepPlan) -> DataFrame:
    """Each row in the task that does the steps of its partition."""
    place = place_column(F.col(KIND))
    if plan.tasks is None or plan.tasks == plan.partitions:
        return placed_by(union, plan.partitions, place)
    return placed_by(union, plan.tasks, F.pmod(place, F.lit(plan.tasks)))


def _step_of(plan: StepPlan) -> Task:
    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_step(plan, Attempt.of_this_task(), batches)

    step.__name__ = f"join of {', '.join(plan.inputs)} in {plan.state}"  # Spark's UI calls it so
    return step


def _pulses(inflows: Sequence[Inflow], plan: StepPlan, notes: Sequence[str], estimate: str) -> DataFrame:
    spark = inflows[0].rows.sparkSession
    register_source(spark, Pulses)
    pulses = (
        spark.readStream.format(FORMAT)
        .option("state", plan.state)
        .option("partitions", plan.partitions)
        .option("tasks", plan.tasks or plan.partitions)
        .option("inputs", ",".join(plan.inputs))
        .option("streams", ",".join(str(len(streams_of(inflow.rows))) for inflow in inflows))
        .option("paths", json.dumps([inflow.path for inflow in inflows]))
        .option("notes", json.dumps(notes))
        .option("shared_memory", str(plan.shared_memory or ""))
        .option("retention", plan.retention)
        .option("estimate", estimate)
        .option("spreads", json.dumps(plan.spreads))
        .option("complete_rows", json.dumps(plan.complete_rows))
        .load()
    )
    return with_figures(pulses, plan.state, plan.inputs)
