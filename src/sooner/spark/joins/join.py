"""`sooner.spark.join`: two streaming DataFrames in, one out. No row is read here."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sooner.arguments import Columns
from sooner.asked.choosing_algorithm import AUTO, AskedAlgorithm, Choice, Known, bytes_of_all, choose
from sooner.asked.intervals import AskedWidth, AskedWithin
from sooner.asked.joins import Asked, in_words, plan_of
from sooner.errors import InvalidJoin
from sooner.how import How, Kind
from sooner.operators.two_way.output import OutputPlan
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import SIDES
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import inflow_of
from sooner.spark.joins.checking import checked_schemas, identity_of, session_of
from sooner.spark.joins.column_conditions import On, in_names
from sooner.spark.joins.hot_keys import AskedHotKeys, hot_keys_choice
from sooner.spark.joins.meeting_places import placements, places_in_words
from sooner.spark.joins.rooms import Rooms
from sooner.spark.session.versions import spark_type_of
from sooner.spark.shuffle.packing import plain_placement
from sooner.spark.shuffle.shared_columns import quoted
from sooner.spark.sources.known_rows import resting_rows
from sooner.spark.states.rescaling import PLACEMENTS


def join(
    left: DataFrame,
    right: DataFrame,
    on: On | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    within: AskedWithin | None = None,
    by: Columns | None = None,
    left_by: Columns | None = None,
    right_by: Columns | None = None,
    lateness: AskedWidth | None = None,
    retention: dt.timedelta | str | None = None,
    how: How = "inner",
    suffixes: tuple[str, str] | None = None,
    algorithm: AskedAlgorithm = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    hot_keys: AskedHotKeys = "auto",
    state: str | Path | None = None,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Join two streaming DataFrames while they arrive: no watermark, exact, in bounded memory.

    on, left_on, right_on, within, by, left_by, right_by, suffixes: as for `sooner.join`. As in PySpark, on may also be
        a condition, `left.a == right.b`, or several with & or in a list; a key of one name still comes once.
    lateness, retention: as for `sooner.join`: what Spark does by a watermark. The newest values count from the next
        batch on, and the time of arrival is that of the batch; both are in Spark's log.
    how: "inner", "left", "right", "full", "semi" or "anti", or another word of PySpark, pandas or Polars for one of
        them. A row that matches nothing comes out as soon as that is certain: when the other input has ended, because
        its source is finite or by `query.finish`.
    algorithm: as for `sooner.join`; "auto" is that of a state which is there, whatever is known of the inputs by then.
        `sooner.spark.explain` says which it is, and why.
    memory: what rows of all partitions together may take in shared memory, such as "4g"; others are on disk only.
    partitions: of the join, each a task in every batch; by default one for each core, or as many as the state has.
    hot_keys: "spread": a key with a large share of the rows is found while it comes, and from the batch after next on
        its rows are spread over all partitions; "home": each key stays in one. "auto" spreads where that costs little:
        if both inputs come packed from a source of ours, keys are equal and no row is forgotten.
    state: a directory of its own for the rows, by path or URI; all executors must reach it. It belongs to one query and
        its checkpoint, which is not known yet: so it must be given.
    shared_memory: where executors keep rows in memory; by default `/dev/shm`, or a temporary directory without it.
    trace: a folder for what happens, by path or URI; each partition and batch gets a file (see `sooner.trace`), of
        which those of the newest 1,000 batches are kept.

    Results come as rows meet. Started with `sooner.spark.start`, the query completes the answer when its inputs end.
    """
    on, left_on, right_on = in_names(left, right, on, left_on, right_on)
    operator = plan_of(
        Asked(
            on=on, left_on=left_on, right_on=right_on, within=within, by=by, left_by=left_by, right_by=right_by,
            lateness=lateness, retention=retention, how=how, suffixes=suffixes, algorithm=algorithm,
        )
    )  # fmt: skip
    spark = session_of(INPUTS, (left, right))
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)
    return joined(left, right, operator, algorithm, rooms, hot_keys=hot_keys)


def joined(
    left: DataFrame,
    right: DataFrame,
    operator: TwoWayPlan,
    algorithm: AskedAlgorithm,
    rooms: Rooms,
    names: Sequence[str] = INPUTS,
    notes: Sequence[str] = (),
    hot_keys: AskedHotKeys = "home",
) -> DataFrame:
    """The results of one join. `notes` are what else there is to explain."""
    if not operator.kind.pairs and {*operator.compared_of_right} <= {*right.columns}:
        right = right.select(*map(quoted, operator.compared_of_right))  # nobody needs the others
    keys = operator.left_on, operator.right_on
    schemas = checked_schemas(names, (left, right), keys, operator.output)
    choice = _choice(algorithm, (left, right), schemas, rooms)
    operator = replace(operator, algorithm=choice.algorithm)
    placed = placements(operator, schemas, rooms.partitions)
    hot = hot_keys_choice(hot_keys, operator, (left, right), placed, names, rooms)
    identity = identity_of(left, right, operator, schemas, rooms.partitions) | hot.identity
    identity |= {PLACEMENTS: list(map(plain_placement, placed))}
    rooms.require_same(identity, placed)
    both = zip(SIDES, (left, right), (right, left), schemas, placed, strict=True)
    inflows = [
        inflow_of(rows, [other], schema, placement, hot.spreading(side))
        for side, rows, other, schema, placement in both
    ]
    columns = [left.columns, right.columns]
    step = rooms.step(operator, names, columns, inflows, identity, words=bool(hot.dealt), times=operator.forgets)
    retention = "" if operator.retention is None else str(operator.retention)
    plan = replace(step, retention=retention, spreads=hot.dealt)
    results = result_schema(left.schema, right.schema, operator.columns(schemas), operator.kind)
    told = [*notes, *in_words(operator, choice), *places_in_words(operator, placed), *hot.notes]
    return dataflow(inflows, plan, results, told)


def _choice(asked: AskedAlgorithm, frames: Sequence[DataFrame], schemas: Sequence[pa.Schema], rooms: Rooms) -> Choice:
    """A state keeps its algorithm. How large inputs are is looked up only where that counts."""
    if asked != AUTO or rooms.algorithm is not None:
        return choose(asked, Known(of_state=rooms.algorithm))
    resting_bytes = bytes_of_all(schemas, [resting_rows(frame) for frame in frames])
    return choose(asked, Known(resting_bytes=resting_bytes, memory_bytes=rooms.memory_bytes))


def result_schema(left: StructType, right: StructType, output: OutputPlan, kind: Kind) -> StructType:
    """The schema of the result, with Spark's own types where a column comes from one side."""
    fields = []
    for column in output.columns:
        of_left = None if column.left is None else left.fields[column.left]
        of_right = None if column.right is None else right.fields[column.right]
        sources = [
            StructField(field.name, field.dataType, field.nullable or kind.may_be_null(side))
            for side, field in enumerate((of_left, of_right))
            if field is not None
        ]
        fields.append(result_field(column.field, sources))
    return StructType(fields)


def result_field(found: pa.Field, sources: Sequence[StructField]) -> StructField:
    """A column of the result, with Spark's own type where all columns that it comes from have it."""
    if pa.types.is_decimal256(found.type):
        raise InvalidJoin(
            f"key {found.name!r} would have {found.type.precision} digits in a full join, and Spark has 38 at most; "
            "cast it on one side, or rename it there and give left_on= and right_on=."
        )
    alike = len({field.dataType.json() for field in sources}) == 1
    type_ = sources[0].dataType if alike else spark_type_of(found.type)
    return StructField(found.name, type_, all(field.nullable for field in sources))
