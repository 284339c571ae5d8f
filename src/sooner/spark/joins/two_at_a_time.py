"""Many inputs joined two at a time, each join after a shuffle of its own: where a grid for all would copy too much, or
values may be apart, which have no cell in common.

The inputs are joined in the order in which they are named, as far as they hang together. What two of them give is kept
as the left side of the next join, which a single operator would not do; no row is sent twice, which a grid would.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from sooner.asked.choosing_algorithm import AUTO, AskedAlgorithm
from sooner.asked.joining_in_turn import from_the_right
from sooner.asked.joins import equi_join
from sooner.kernels.ranges import Near
from sooner.operators.multiway.graph import Graph, Step
from sooner.operators.multiway.output import output_columns
from sooner.sides import LEFT
from sooner.spark.joins.join import joined
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.shared_columns import quoted

# What an algorithm for many inputs is with two. MJoin is none of them.
OF_TWO: Final[dict[str, AskedAlgorithm]] = {"auto": AUTO, "miner": "diner"}


def joined_two_at_a_time(
    frames: Sequence[DataFrame],
    graph: Graph,
    schemas: Sequence[pa.Schema],
    algorithm: AskedAlgorithm,
    rooms: Sequence[Rooms],
    why: str,
) -> DataFrame:
    """The same rows and columns as those of one operator, by as many joins as there are rooms."""
    named = [_under_full_names(name, frame) for name, frame in zip(graph.inputs, frames, strict=True)]
    rows, so_far = named[0], graph.inputs[0]
    for number, (step, room) in enumerate(zip(graph.steps_from(0), rooms, strict=True), 1):
        columns = graph.attributes[step.attribute].by_input
        left_on = [_full_name(graph.inputs[step.parent], column) for column in columns[step.parent]]
        right_on = [_full_name(graph.inputs[step.input], column) for column in columns[step.input]]
        operator = replace(equi_join(None, left_on, right_on, None, algorithm), near=_near(graph, step))
        names = so_far, graph.inputs[step.input]
        notes = [f"join {number} of {len(rooms)}, of {names[0]} with {names[1]}: {why}"]
        rows = joined(rows, named[step.input], operator, algorithm, room, names, notes)
        so_far = "-".join(names)
    return rows.select(
        *(
            F.col(quoted(_full_name(graph.inputs[one.input], schemas[one.input].names[one.column]))).alias(
                one.field.name
            )
            for one in output_columns(graph, schemas)
        )
    )


def _near(graph: Graph, step: Step) -> Near | None:
    """What may be apart in a join of those that are joined, on the left, with one more input."""
    attribute = graph.attributes[step.attribute]
    if (near := attribute.near) is None:
        return None
    one, other = (graph.inputs[which] for which in attribute.inputs)
    left, right = _full_name(one, near.left), _full_name(other, near.right)
    if attribute.inputs[LEFT] == step.parent:
        return Near(left, right, near.within)
    return Near(right, left, from_the_right(near.within))


def _under_full_names(name: str, frame: DataFrame) -> DataFrame:
    """No two inputs have a column of one name then."""
    return frame.select(*(F.col(quoted(column)).alias(_full_name(name, column)) for column in frame.columns))


def _full_name(name: str, column: str) -> str:
    return f"{name}.{column}"
