"""`sooner.spark.enrich`: a streaming DataFrame looked up in a master table. No row is read here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from sooner.arguments import Columns
from sooner.asked.enrichments import EnrichAlgorithm, EnrichHow, enrich_plan, kept_columns
from sooner.operators.enrich.plan import INPUTS, EnrichPlan
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import inflow_of
from sooner.spark.joins.checking import checked_schemas, session_of
from sooner.spark.joins.join import result_schema
from sooner.spark.joins.masters import master_stream
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.shared_columns import share_columns
from sooner.spark.step.plan import StepPlan


def enrich(
    stream: DataFrame,
    master: object,
    on: Columns | None = None,
    *,
    stream_on: Columns | None = None,
    master_on: Columns | None = None,
    how: EnrichHow = "inner",
    columns: Columns | None = None,
    suffixes: tuple[str, str] | None = None,
    algorithm: EnrichAlgorithm = "auto",
    switching_factor: float = 1.0,
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Look up each row of a streaming DataFrame in a master table that may be far larger than memory.

    master: a path to Parquet files, a batch DataFrame, a streaming DataFrame that ends (such as
        `sources.postgres`), or anything with rows in Arrow form. It is taken in once, cut by key into the partitions;
        rows of the stream that come before it is complete wait in the state. A master that is not in Parquet files is
        first written to some, in the state.
    on, stream_on, master_on, how, columns, suffixes, algorithm, switching_factor: as for `sooner.enrich`.
    memory, partitions, state, shared_memory, trace: as for `sooner.spark.join`.

    Start the query with `sooner.spark.start`: it sees when the master is complete.
    """
    plan = enrich_plan(on, stream_on, master_on, how, suffixes, algorithm, switching_factor)
    spark = session_of(INPUTS[:1], [stream])
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)

    def kept(names: Sequence[str]) -> list[str]:
        return kept_columns(names, plan, columns)

    return _enriched(stream, master_stream(spark, master, kept, rooms.location), plan, rooms)


def _enriched(stream: DataFrame, master: DataFrame, plan: EnrichPlan, rooms: Rooms) -> DataFrame:
    frames = stream, master
    schemas = checked_schemas(INPUTS, frames, (plan.stream_on, plan.master_on), plan.output)
    keys = plan.keys(schemas)
    keeps = (bool(plan.kind.unmatched), False)
    placed = [
        Placement(names, keys.types, rooms.partitions, None, keeps_keyless)
        for names, keeps_keyless in zip((keys.left, keys.right), keeps, strict=True)
    ]
    identity = _identity_of(frames, plan, rooms.partitions)
    rooms.require_same(identity)
    sides = zip(frames, reversed(frames), schemas, placed, strict=True)
    inflows = [inflow_of(rows, [other], schema, placement) for rows, other, schema, placement in sides]
    step = StepPlan(
        operator=plan,
        state=rooms.location,
        inputs=INPUTS,
        columns=tuple(tuple(frame.columns) for frame in frames),
        packed=tuple(inflow.packed for inflow in inflows),
        shared=share_columns(*(inflow.columns for inflow in inflows)),
        memory_bytes=rooms.memory_bytes,
        partitions=rooms.partitions,
        identity=identity,
        shared_memory=rooms.shared_memory,
        trace=rooms.trace,
    )
    results = result_schema(stream.schema, master.schema, plan.columns(schemas), plan.kind)
    return dataflow(inflows, step, results, [f"enriched by {plan.algorithm}, how={plan.kind.name!r}"])


def _identity_of(frames: Sequence[DataFrame], plan: EnrichPlan, partitions: int) -> dict[str, Any]:
    """What must not change while a state is in use."""
    stream, master = frames
    return {
        "partitions": partitions,
        "algorithm": plan.algorithm,
        "how": plan.kind.name,
        "stream": stream.schema.simpleString(),
        "master": master.schema.simpleString(),
        "keys": [list(plan.stream_on), list(plan.master_on)],
        "arrow": stream.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }
