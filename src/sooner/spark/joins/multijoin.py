"""`sooner.spark.multijoin`: many streaming DataFrames in one operator, after one shuffle. No row is read here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sooner.asked.multijoins import Equality, MultiAlgorithmName, Ranges, plan_of
from sooner.errors import InvalidJoin
from sooner.fallbacks import report
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.operators.multiway.output import output_columns
from sooner.operators.multiway.plan import MultiPlan
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import inflow_of
from sooner.spark.joins.checking import checked_schemas, session_of
from sooner.spark.joins.rooms import Rooms
from sooner.spark.joins.two_at_a_time import OF_TWO, joined_two_at_a_time
from sooner.spark.shuffle.shares import GridPlacement, Shares, fewest_copies
from sooner.spark.sources.known_rows import known_rows


def multijoin(
    inputs: Mapping[str, DataFrame],
    on: Equality | Sequence[Equality] = (),
    *,
    within: Ranges | None = None,
    rows: Mapping[str, int] | None = None,
    copies: float = 2.0,
    algorithm: MultiAlgorithmName = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Join many streaming DataFrames while they arrive, in one operator, after one shuffle.

    inputs, on, within, algorithm: as for `sooner.multijoin`. With `within` they are joined two at a time, see `copies`.
    rows: about how many rows each input will have, if you know. What is known of files need not be said. Partitions are
        the cells of a grid with a dimension for each attribute, and rows are copied along those that they lack; with
        this the grid is laid so that few are copied. `sooner.spark.explain` says how often each input is.
    copies: how many times as many rows may be sent as there are, at most. Where a grid would need more, inputs are
        joined two at a time, in their order, with a shuffle for each join; each has an equal part of the memory.
    memory, partitions, state, shared_memory, trace: as for `sooner.spark.join`.

    Results come when the last of their rows arrives; the rest in silences, and when the inputs have ended.
    """
    plan = plan_of(inputs, on, within, None, algorithm)
    names, frames = list(inputs), list(inputs.values())
    spark = session_of(names, frames)
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)
    if algorithm == "auto" and rooms.algorithm in MULTI_ALGORITHMS:  # it goes on as it began
        plan = replace(plan, algorithm=MULTI_ALGORITHMS[rooms.algorithm])
    counts = _rows_of(names, frames, rows or {})
    return _joined(frames, plan, algorithm, rooms, _grid_for(plan, rooms, counts), copies)


def _rows_of(names: Sequence[str], frames: Sequence[DataFrame], told: Mapping[str, int]) -> list[float]:
    """As told, or as files say; an input of which nothing is known is taken to be as large as the largest."""
    if unknown := [name for name in told if name not in names]:
        raise InvalidJoin(f"rows= names {unknown[0]!r}, and there are {', '.join(map(repr, names))}.")
    counts = [told.get(name) or known_rows(frame) for name, frame in zip(names, frames, strict=True)]
    largest = max((count for count in counts if count), default=1)
    return [float(count or largest) for count in counts]


class Grid(NamedTuple):
    """The best for a join, and how many times as many rows it sends as there are."""

    shares: Shares
    sent: float


def _grid_for(plan: MultiPlan, rooms: Rooms, counts: Sequence[float]) -> Grid:
    attributes = [plan.graph.of_input(which) for which in range(len(plan.graph.inputs))]
    shares = fewest_copies(rooms.partitions, attributes, counts)
    sent = sum(count * shares.copies(has) for count, has in zip(counts, attributes, strict=True))
    return Grid(shares, sent / sum(counts))


def _joined(
    frames: Sequence[DataFrame], plan: MultiPlan, asked: MultiAlgorithmName, rooms: Rooms, best: Grid, copies: float
) -> DataFrame:
    """In one operator, or two at a time: as the state has it, or else as few rows are sent."""
    graph, names = plan.graph, plan.graph.inputs
    keys = [
        [name for at in graph.of_input(which) for name in graph.attributes[at].by_input[which]]
        for which in range(len(names))
    ]
    schemas = checked_schemas(names, frames, keys, plan.output)
    stored, has_range = rooms.stored or {}, any(attribute.near for attribute in graph.attributes)
    if not rooms.is_divided and not has_range and (stored or best.sent <= copies):
        return _in_a_grid(frames, plan, schemas, rooms, Shares(tuple(stored.get("shares", best.shares.of_attribute))))
    why = "as the state has it"
    if has_range:
        why = "values that may be apart have no cell of a grid in common"
    elif best.sent > copies:
        sent = f"a grid of {rooms.partitions} cells would send {best.sent:.1f} times as many rows as there are"
        why = f"{sent}, and copies={copies:g} is the most"
    if asked not in OF_TWO:
        raise InvalidJoin(
            f'algorithm={asked!r} joins all inputs at once, which cannot be: {why}. Leave algorithm= to "auto", which '
            "joins them two at a time then; or if it is for the copies, say by rows= which inputs are small, or give "
            "fewer partitions or a larger copies=."
        )
    report([f"{', '.join(names)} are joined two at a time: {why}."])
    return joined_two_at_a_time(frames, graph, schemas, OF_TWO[asked], rooms.divided(len(names) - 1), why)


def _in_a_grid(
    frames: Sequence[DataFrame], plan: MultiPlan, schemas: Sequence[pa.Schema], rooms: Rooms, shares: Shares
) -> DataFrame:
    graph, names = plan.graph, plan.graph.inputs
    types = tuple(one.types for one in plan.keys(schemas))
    placed = [
        GridPlacement(tuple(one.by_input.get(which) for one in graph.attributes), types, shares)
        for which in range(len(names))
    ]
    identity = _identity_of(frames, plan, rooms.partitions, shares)
    rooms.require_same(identity)
    inflows = [
        inflow_of(frame, [other for other in frames if other is not frame], schema, placement)
        for frame, schema, placement in zip(frames, schemas, placed, strict=True)
    ]
    step = rooms.step(plan, names, [frame.columns for frame in frames], inflows, identity)
    return dataflow(inflows, step, _result_schema(frames, plan, schemas), _in_words(plan, shares))


def _in_words(plan: MultiPlan, shares: Shares) -> list[str]:
    graph = plan.graph
    grid = " x ".join(map(str, shares.of_attribute))
    often = [
        f"{name} {times} times" if (times := shares.copies(graph.of_input(which))) > 1 else f"{name} once"
        for which, name in enumerate(graph.inputs)
    ]
    return [f"joined by {plan.algorithm.name}, in a grid of {grid} cells; each row is sent: {', '.join(often)}"]


def _result_schema(frames: Sequence[DataFrame], plan: MultiPlan, schemas: Sequence[pa.Schema]) -> StructType:
    fields = []
    for column in output_columns(plan.graph, schemas):
        field = frames[column.input].schema.fields[column.column]
        fields.append(StructField(column.field.name, field.dataType, field.nullable))
    return StructType(fields)


def _identity_of(frames: Sequence[DataFrame], plan: MultiPlan, partitions: int, shares: Shares) -> dict[str, Any]:
    """What must not change while a state is in use."""
    named = zip(plan.graph.inputs, frames, strict=True)
    return {
        "partitions": partitions,
        "algorithm": plan.algorithm.name,
        "inputs": [f"{name}: {frame.schema.simpleString()}" for name, frame in named],
        "on": [str(attribute.columns) for attribute in plan.graph.attributes],
        "shares": list(shares.of_attribute),
        "arrow": frames[0].sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }
