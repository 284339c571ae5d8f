"""`sooner.spark.estimate`: aggregates over a join of two streaming DataFrames, as estimates that become exact."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from sooner.arguments import Columns
from sooner.asked.choosing_algorithm import AskedAlgorithm, Known, choose
from sooner.asked.joins import equi_join
from sooner.errors import InvalidJoin
from sooner.estimation.question import Aggregates, By, Question, question_of
from sooner.estimation.reading_off import usable_confidence, usable_sizes
from sooner.estimation.workings import workings_of
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import FoldingPlan, joined_columns
from sooner.operators.folding.together import Wanted
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.sides import SIDES
from sooner.sources.sampling import Sampling, require_sampling_by
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import sample_inflow_of
from sooner.spark.dataflow.wanted_estimates import remember
from sooner.spark.joins.checking import checked_schemas, identity_of, require_distinct, session_of
from sooner.spark.joins.column_conditions import On, in_names
from sooner.spark.joins.meeting_places import placements
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.sampled import Sampled
from sooner.spark.shuffle.shared_columns import quoted
from sooner.spark.sources.known_rows import is_in_random_blocks, known_rows
from sooner.spark.step.estimates import TOLD, adding_up, estimate_schema, told_row
from sooner.warning import warn_user


def estimate(
    left: DataFrame,
    right: DataFrame,
    on: On | None = None,
    *,
    left_on: Columns | None = None,
    right_on: Columns | None = None,
    aggregates: Aggregates,
    by: By = None,
    where: Any = None,
    confidence: float = 0.95,
    sampling: Sampling | None = None,
    total_rows: tuple[int | None, int | None] | None = None,
    suffixes: tuple[str, str] | None = None,
    algorithm: AskedAlgorithm = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path | None = None,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Estimate aggregates over the inner join of two streaming DataFrames while they arrive, until they are exact.

    on, left_on, right_on, suffixes, memory, partitions, state, shared_memory, trace: as for `sooner.spark.join`.
    aggregates, by, where, confidence: as for `sooner.estimate`.
    algorithm: as for `sooner.estimate`; "auto" is that of a state which is there.
    sampling: what comes in random order: "rows", or "blocks" if only batches do. By default "blocks" for
        `sources.parquet` with order="random", where rows of a row group come together; of all else you are warned.
    total_rows: how many rows the left and the right will have, where `sources.parquet` does not know. Without it counts
        and sums are those so far until both have ended, and have no intervals; averages have them all the same.

    In each batch there is a row for each group: its columns, of each aggregate the value as `name`, `name_low` and
    `name_high` (null as long as there is no interval), and `batch`, `rows`, `share_read` and `exact`. Started with
    `sooner.spark.start`, the query has the newest as `query.estimate`, and ends when it is exact.
    """
    on, left_on, right_on = in_names(left, right, on, left_on, right_on)
    join = equi_join(on, left_on, right_on, suffixes, choose(algorithm, Known(is_estimate=True)).algorithm)
    require_sampling(join.algorithm)
    confidence, spark = usable_confidence(confidence), session_of(INPUTS, (left, right))
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)
    keys = join.left_on, join.right_on
    samplings = _samplings((left, right), sampling)
    sizes = usable_sizes(total_rows, [known_rows(side) for side in (left, right)])
    schemas = checked_schemas(INPUTS, (left, right), keys, join.output)
    question = question_of(aggregates, by, where, join.output(schemas))
    workings = workings_of(question, schemas, keys, joined_columns(join, schemas))
    rows = estimate_schema(workings)
    require_distinct("the estimate", rows.names, spark.conf.get("spark.sql.caseSensitive") == "true")
    wanted = Wanted(workings, confidence, (sizes[0], sizes[1]))
    choice = choose(algorithm, Known(is_estimate=True, of_state=rooms.algorithm))
    told = _told(
        (left, right), replace(join, algorithm=choice.algorithm), question, wanted, samplings, rooms, choice.notes
    )
    return told.repartition(1).mapInArrow(adding_up(wanted), rows)


def _samplings(sides: Sequence[DataFrame], given: Sampling | None) -> list[Sampling]:
    """What of each side comes in random order, as the user says or its source does."""
    if given is not None:
        require_sampling_by(given)
        return [given] * len(sides)
    found: list[Sampling] = []
    for name, side in zip(INPUTS, sides, strict=True):
        in_blocks = is_in_random_blocks(side)
        found.append("blocks" if in_blocks else "rows")
        if not in_blocks:
            warn_user(
                f"Nothing says that the rows of the {name} come in random order, and only then do intervals hold. Say "
                "sampling='rows' if they do, 'blocks' if its batches do, or read Parquet files with "
                "sooner.spark.sources.parquet(..., order='random').",
            )
    return found


def _told(
    sides: tuple[DataFrame, DataFrame],
    join: TwoWayPlan,
    question: Question,
    wanted: Wanted,
    samplings: Sequence[Sampling],
    rooms: Rooms,
    notes: Sequence[str],
) -> DataFrame:
    """What all partitions say in every batch."""
    made = wanted.workings.sides
    chosen = [side.select(*map(quoted, one.needed)) for side, one in zip(sides, made, strict=True)]
    schemas = [pa.schema([one.source.field(name) for name in one.needed]) for one in made]
    placed = placements(join, schemas, rooms.partitions)
    _require_places(placed[0])
    identity = identity_of(chosen[0], chosen[1], join, schemas, rooms.partitions) | {"question": _in_words(question)}
    rooms.require_same(identity)
    inflows = [
        sample_inflow_of(
            chosen[side],
            [chosen[1 - side]],
            schemas[side],
            placed[side],
            Sampled(made[side], samplings[side], rooms.memory_bytes),
        )
        for side in SIDES
    ]
    folding = FoldingPlan(join.left_on, join.right_on, join.algorithm, wanted.workings)
    step = rooms.step(folding, INPUTS, [one.schema.names for one in made], inflows, identity)
    plan = replace(step, tells=told_row)
    came = " and ".join(dict.fromkeys(samplings))
    first = f"estimated by {join.algorithm.name}: {', '.join(_in_words(question))}; {came} come in random order"
    return dataflow(inflows, plan, TOLD, [first, *notes], remember(wanted))


def _require_places(placement: Placement) -> None:
    if not placement.is_a_readers:
        raise InvalidJoin(
            f"Keys of {', '.join(map(str, placement.types))} cannot be placed before Spark has them; cast them before "
            "the estimate, for example to string."
        )


def _in_words(question: Question) -> list[str]:
    """What must not change while a state is in use."""
    aggregates = [f"{one.name} = {one.function}({'*' if one.of is None else one.of})" for one in question.aggregates]
    groups = [f"by {name} = {node}" for name, node in question.by]
    return [*aggregates, *groups, *([] if question.where is None else [f"where {question.where}"])]
