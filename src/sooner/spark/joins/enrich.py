"""`sooner.spark.enrich`: a streaming DataFrame looked up in a master table. No row is read here."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sooner.arguments import Columns
from sooner.asked.enrichments import KEYS, Asked, EnrichAlgorithm, EnrichHow, changed_columns, kept_columns, plan_of
from sooner.errors import InvalidJoin
from sooner.operators.enrich.expected import Room, expected
from sooner.operators.enrich.plan import CHANGES, INPUTS, EnrichPlan
from sooner.operators.enrich.scanning import Queue
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import inflow_of
from sooner.spark.joins.checking import checked_schemas, session_of
from sooner.spark.joins.column_conditions import On, in_names
from sooner.spark.joins.join import result_schema
from sooner.spark.joins.masters import changes_of, master_stream
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.shared_columns import quoted
from sooner.spark.sources.delta_changes import DELETED, VERSION
from sooner.spark.sources.known_rows import known_rows


def enrich(
    stream: DataFrame,
    master: object,
    on: On | None = None,
    *,
    stream_on: Columns | None = None,
    master_on: Columns | None = None,
    how: EnrichHow = "inner",
    columns: Columns | None = None,
    changes: DataFrame | None = None,
    version: str | None = None,
    deleted: str | None = None,
    identity: Columns | None = None,
    follow: bool = False,
    as_of: str | None = None,
    valid_from: str | None = None,
    suffixes: tuple[str, str] | None = None,
    algorithm: EnrichAlgorithm = "auto",
    switching_factor: float = 1.0,
    queue: Queue = "block",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path | None = None,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Look up each row of a streaming DataFrame in a master table that may be far larger than memory.

    master: a path to Parquet files, a batch DataFrame, a streaming DataFrame that ends (such as
        `sources.postgres`), or anything with rows in Arrow form. It is taken in once, cut by key into the partitions;
        rows of the stream that come before it is complete wait in the state. A master that is not in Parquet files is
        first written to some, in the state.
    changes: a streaming DataFrame of rows that replace those of the master. Those of a batch count for the stream rows
        of that batch; a batch that runs again sees the same.
    follow: for a master that is a Delta table: take up what its new versions change, from its feed of changes or else
        from its files. `identity` tells its rows apart, by default the keys. `columns=` may name "_commit_version".
    on, stream_on, master_on, how, columns, version, deleted, identity, as_of, valid_from, suffixes, algorithm,
        switching_factor, queue: as for `sooner.enrich`. If the master is a DataFrame, on may also be a condition on
        columns, as for `sooner.spark.join`.
    memory, partitions, state, shared_memory, trace: as for `sooner.spark.join`.

    Of Parquet files it is known how many rows they have. Any other master is complete when `sooner.spark.start`, which
    the query must be started with, sees its end in Spark's log.
    """
    if follow:
        if changes is not None or version is not None or deleted is not None:
            raise InvalidJoin("follow=True finds changes and their versions by itself; leave out the other arguments.")
        version, deleted = VERSION, DELETED
    on, stream_on, master_on = in_names(stream, master, on, stream_on, master_on, INPUTS, KEYS)
    plan = plan_of(
        Asked(
            on=on, stream_on=stream_on, master_on=master_on, how=how, columns=columns, identity=identity,
            version=version, deleted=deleted, as_of=as_of, valid_from=valid_from, suffixes=suffixes,
            algorithm=algorithm, switching_factor=switching_factor, queue=queue,
        ),
        changes=follow or changes is not None,
    )  # fmt: skip
    spark = session_of(INPUTS[:1], [stream])
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)
    if follow:
        changes = changes_of(spark, master, rooms.location)
    streams = [stream, *([] if changes is None else [changes])]
    if changes is not None:
        session_of([CHANGES], [changes])
        session_of([INPUTS[0], CHANGES], streams)
    kept = partial(kept_columns, plan=plan, changes=changes is not None)
    looked_up = master_stream(spark, master, kept, rooms.location)
    changing = [one.select(*map(quoted, changed_columns(one.columns, looked_up.columns, plan))) for one in streams[1:]]
    return _enriched([stream, looked_up, *changing], plan, rooms)


def _enriched(frames: Sequence[DataFrame], plan: EnrichPlan, rooms: Rooms) -> DataFrame:
    names = (*INPUTS, CHANGES)[: len(frames)]
    schemas = checked_schemas(
        names, frames, (plan.stream_on, plan.master_on, plan.master_on)[: len(frames)], plan.output
    )
    keys = plan.keys(schemas)
    # Rows of the master without a key match nothing, but they are counted: it is complete when all have come.
    keeps_keyless = (bool(plan.kind.unmatched), True, False)[: len(frames)]
    names_of_keys = (keys.left, keys.right, keys.right)
    placed = [
        Placement(names_of_keys[which], keys.types, rooms.partitions, None, keeps)
        for which, keeps in enumerate(keeps_keyless)
    ]
    identity = _identity_of(frames, plan, rooms.partitions)
    rooms.require_same(identity)
    inflows = [
        inflow_of(frame, [other for other in frames if other is not frame], schema, placement)
        for frame, schema, placement in zip(frames, schemas, placed, strict=True)
    ]
    step = replace(
        rooms.step(plan, names, [frame.columns for frame in frames], inflows, identity),
        complete_rows=(None, known_rows(frames[1])),
    )
    results = result_schema(frames[0].schema, _stored(frames[1:], plan), plan.columns(schemas), plan.kind)
    room = Room(step.partitions * step.rows_bytes, step.block_bytes, alone=False)
    return dataflow(inflows, step, results, expected(plan, schemas, step.complete_rows[1], room))


def _stored(frames: Sequence[DataFrame], plan: EnrichPlan) -> StructType:
    """The columns of the master as they are kept: changes may tell versions of rows that had none."""
    master, *changes = (frame.schema for frame in frames)
    if plan.versioning is None or plan.versioning.version in master.names:
        return master
    return StructType([*master.fields, *(one[plan.versioning.version] for one in changes)])


def _identity_of(frames: Sequence[DataFrame], plan: EnrichPlan, partitions: int) -> dict[str, Any]:
    """What must not change while a state is in use."""
    stream, master, *changes = (frame.schema.simpleString() for frame in frames)
    return {
        "partitions": partitions,
        "algorithm": plan.algorithm,
        "how": plan.kind.name,
        "stream": stream,
        "master": master,
        "keys": [list(plan.stream_on), list(plan.master_on)],
        "changes": [*changes, *map(str, filter(None, (plan.versioning, plan.as_of)))],
        "arrow": frames[0].sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }
