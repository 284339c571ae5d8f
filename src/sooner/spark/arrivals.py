"""What a task gets in a batch: rows of both sides and a tick, in any order."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sooner.errors import StateCorrupted
from sooner.operators.pieces import Sides
from sooner.policies.view import LEFT, RIGHT, SIDES
from sooner.spark.plan import JoinPlan
from sooner.spark.shared_columns import FIRST_TICK, compact


@dataclass(frozen=True)
class Arrivals:
    place: int  # the partition, as the tick says: a union after the join changes what Spark calls it
    ended: tuple[bool, bool]
    schemas: tuple[pa.Schema, pa.Schema]
    rows: Sides


def collect(plan: JoinPlan, batches: Iterator[pa.RecordBatch]) -> Arrivals:
    """All that this task gets."""
    tables: tuple[list[pa.Table], list[pa.Table]] = ([], [])
    ticks: list[int] = []
    schema = None
    for batch in batches:
        schema = batch.schema
        kinds = batch.column(0).to_numpy()
        for side in SIDES:
            tables[side].append(plan.shared.rows_of(batch, kinds, side))
        ticks += kinds[kinds >= FIRST_TICK].tolist()
    if schema is None or not ticks:
        raise StateCorrupted("A batch came without its tick: something changed the rows between the join's own steps.")
    schemas = plan.schema(LEFT, schema), plan.schema(RIGHT, schema)
    left, right = (compact(pa.concat_tables(tables[side]), schemas[side]) for side in SIDES)
    place, ended = divmod(ticks[0] - FIRST_TICK, 4)
    return Arrivals(place, (bool(ended & 1), bool(ended & 2)), schemas, (left, right))
