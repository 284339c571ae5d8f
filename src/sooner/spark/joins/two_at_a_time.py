"""Many inputs joined two at a time, each join after a shuffle of its own: where a grid for all would copy too much, or
rows of different inputs have no cell of it in common.

What the first joins give is kept as the left side of the next, which a single operator would not do; no row is sent
twice, which a grid would. Each join can be of any kind.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sooner.asked.choosing_algorithm import AUTO, AskedAlgorithm, choose
from sooner.named_algorithms import ALGORITHMS
from sooner.operators.plans.algorithms import PLAN_NAMES
from sooner.operators.plans.output import OutputColumn, named
from sooner.operators.plans.plan import JoinsPlan
from sooner.spark.joins.join import joined
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.shared_columns import quoted

# What an algorithm for many inputs is with two. MJoin is none, nor are those that look at all joins of a plan.
OF_TWO: Final[dict[str, AskedAlgorithm]] = {
    "auto": AUTO,
    "miner": "diner",
    **{name: ALGORITHMS[name] for name in PLAN_NAMES if name in ALGORITHMS},
}


def joined_two_at_a_time(
    frames: Sequence[DataFrame],
    plan: JoinsPlan,
    schemas: Sequence[pa.Schema],
    algorithm: AskedAlgorithm,
    rooms: Sequence[Rooms],
    why: str,
) -> DataFrame:
    """The same rows and columns as those of one operator, by as many joins as there are rooms."""
    inside = {name: _inside(name, frame) for name, frame in zip(plan.inputs, frames, strict=True)}
    rows, so_far = inside[plan.first], plan.first
    for number, (join, room) in enumerate(zip(plan.joins, rooms, strict=True), 1):
        operator = join.two_way(choose(algorithm).algorithm)
        names = so_far, join.input
        notes = [f"join {number} of {len(rooms)}, of {names[0]} with {names[1]}: {why}"]
        rows = joined(rows, inside[join.input], operator, algorithm, room, names, notes)
        so_far = "-".join(names)
    return rows.select(*map(_output, plan.projection(schemas).columns))


def _inside(name: str, frame: DataFrame) -> DataFrame:
    """With names as inside of a plan: no two inputs have a column of one name then."""
    return frame.select(*(F.col(quoted(column)).alias(named(name, column)) for column in frame.columns))


def _output(column: OutputColumn) -> Column:
    sources = [F.col(quoted(name)) for name in column.sources]
    return (sources[0] if len(sources) == 1 else F.coalesce(*sources)).alias(column.field.name)
