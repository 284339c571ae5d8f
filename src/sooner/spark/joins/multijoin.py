"""`sooner.spark.multijoin`: many streaming DataFrames in one operator, after one shuffle. No row is read here."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from sooner.asked.joining_in_turn import graph_of_plan, in_turn
from sooner.asked.multijoins import Kinds, MultiAlgorithmName, Ranges, plan_of
from sooner.errors import InvalidJoin
from sooner.fallbacks import report
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.operators.multiway.graph import Graph
from sooner.operators.multiway.output import OutputColumn, output_columns
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.plans.algorithms import plan_algorithm
from sooner.operators.plans.output import named
from sooner.operators.plans.plan import JoinsPlan
from sooner.sides import RIGHT
from sooner.spark.dataflow.dataflow import dataflow
from sooner.spark.dataflow.inflow import inflow_of
from sooner.spark.joins.checking import checked_schemas, session_of
from sooner.spark.joins.column_conditions import OnOfMany, in_equalities
from sooner.spark.joins.join import result_field
from sooner.spark.joins.rooms import Rooms
from sooner.spark.joins.static_inputs import as_streams
from sooner.spark.joins.two_at_a_time import OF_TWO, joined_two_at_a_time
from sooner.spark.shuffle.shares import GridPlacement, Shares, fewest_copies
from sooner.spark.sources.known_rows import known_rows


def multijoin(
    inputs: Mapping[str, DataFrame],
    on: OnOfMany = (),
    *,
    within: Ranges | None = None,
    how: Kinds | None = None,
    rows: Mapping[str, int] | None = None,
    copies: float = 2.0,
    algorithm: MultiAlgorithmName = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    state: str | Path | None = None,
    shared_memory: str | Path | None = None,
    trace: str | Path | None = None,
) -> DataFrame:
    """Join many streaming DataFrames while they arrive, in one operator, after one shuffle.

    inputs, on, within, how, algorithm: as for `sooner.multijoin`. With `within` they are joined two at a time, see
        `copies`; so they are with `how`, if a grid had to copy rows of which a join asks whether they match. Each join
        has an algorithm of its own then. An equality may also be a condition on columns of the DataFrames, as for
        `sooner.spark.join`.
    rows: about how many rows each input will have, if you know. What is known of files need not be said. Partitions are
        the cells of a grid with a dimension for each attribute, and rows are copied along those that they lack; with
        this the grid is laid so that few are copied. `sooner.spark.explain` says how often each input is.
    copies: how many times as many rows may be sent as there are, at most. Where a grid would need more, inputs are
        joined two at a time, in their order, with a shuffle for each join; each has an equal part of the memory.
    memory, partitions, state, shared_memory, trace: as for `sooner.spark.join`.

    Results come when the last of their rows arrives; the rest in silences, and when the inputs have ended.
    """
    plan = plan_of(inputs, in_equalities(inputs, on), within, how, algorithm)
    names, frames = list(inputs), list(inputs.values())
    spark = session_of(names, frames)
    rooms = Rooms.of(spark, memory, partitions, state, shared_memory, trace)
    frames = as_streams(names, frames, rooms, lambda: checked_schemas(names, frames, _keys_of(plan), plan.output))
    if algorithm == "auto" and rooms.algorithm in MULTI_ALGORITHMS and isinstance(plan, MultiPlan):
        plan = replace(plan, algorithm=MULTI_ALGORITHMS[rooms.algorithm])  # it goes on as it began
    counts = _rows_of(names, frames, rows or {})
    return _joined(frames, plan, algorithm, rooms, counts, copies)


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


def _grid_for(graph: Graph, partitions: int, counts: Sequence[float], once: Sequence[str]) -> Grid | None:
    """None if rows of an input had to be copied that must be in one place."""
    attributes = [graph.of_input(which) for which in range(len(graph.inputs))]
    shares = fewest_copies(partitions, attributes, counts, [graph.inputs.index(name) for name in once])
    if shares is None:
        return None
    sent = sum(count * shares.copies(has) for count, has in zip(counts, attributes, strict=True))
    return Grid(shares, sent / sum(counts))


def _joined(
    frames: Sequence[DataFrame],
    plan: MultiPlan | JoinsPlan,
    asked: MultiAlgorithmName,
    rooms: Rooms,
    counts: Sequence[float],
    copies: float,
) -> DataFrame:
    """In one operator, or two at a time: as the state has it, or else as few rows are sent."""
    names = plan.inputs if isinstance(plan, JoinsPlan) else plan.graph.inputs
    graph, why = _in_one_grid(plan)
    schemas = checked_schemas(names, frames, _keys_of(plan), plan.output)
    stored = rooms.stored or {}
    if graph is not None:
        best = _grid_for(graph, rooms.partitions, counts, _asked_inputs(plan))
        if not rooms.is_divided and best is not None and (stored or best.sent <= copies):
            shares = Shares(tuple(stored.get("shares", best.shares.of_attribute)))
            return _in_a_grid(frames, plan, graph, schemas, rooms, shares)
        why = "as the state has it"
        if best is None:
            why = (
                f"rows that may have no match must be in one place, and a grid of {rooms.partitions} cells copies some"
            )
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
    joins = plan if isinstance(plan, JoinsPlan) else JoinsPlan(names, in_turn(plan.graph), plan_algorithm("rpj"))
    return joined_two_at_a_time(frames, joins, schemas, OF_TWO[asked], rooms.divided(len(names) - 1), why)


def _in_one_grid(plan: MultiPlan | JoinsPlan) -> tuple[Graph | None, str]:
    """The graph whose attributes are the dimensions of a grid; or why there is none."""
    try:
        graph = graph_of_plan(plan) if isinstance(plan, JoinsPlan) else plan.graph
    except InvalidJoin as error:
        return None, str(error).rstrip(".")
    if any(attribute.near for attribute in graph.attributes):
        return None, "values that may be apart have no cell of a grid in common"
    return graph, ""


def _asked_inputs(plan: MultiPlan | JoinsPlan) -> list[str]:
    """Inputs whose rows come out, or do not, if they match nothing: each must be in one cell, which then has all that
    it can match. What joins made of them before is where they are.
    """
    if isinstance(plan, MultiPlan) or plan.is_inner:
        return []
    return [plan.first, *(join.input for join in plan.joins if RIGHT in join.kind.unmatched)]


def _keys_of(plan: MultiPlan | JoinsPlan) -> list[list[str]]:
    """The columns of each input that must be equal to others."""
    if isinstance(plan, MultiPlan):
        graph = plan.graph
        return [
            [name for at in graph.of_input(which) for name in graph.attributes[at].by_input[which]]
            for which in range(len(graph.inputs))
        ]
    compared = [pair for join in plan.joins for earlier, own in join.equal for pair in (earlier, (join.input, own))]
    return [[column for of, column in compared if of == name] for name in plan.inputs]


def _in_a_grid(
    frames: Sequence[DataFrame],
    plan: MultiPlan | JoinsPlan,
    graph: Graph,
    schemas: Sequence[pa.Schema],
    rooms: Rooms,
    shares: Shares,
) -> DataFrame:
    names, is_inner = graph.inputs, isinstance(plan, MultiPlan) or plan.is_inner
    types = tuple(one.types for one in MultiPlan(graph).keys(schemas))
    placed = [
        GridPlacement(
            tuple(one.by_input.get(which) for one in graph.attributes), types, shares, keeps_keyless=not is_inner
        )
        for which in range(len(names))
    ]
    identity = _identity_of(frames, graph, plan.algorithm.name, rooms.partitions, shares)
    if isinstance(plan, JoinsPlan) and not is_inner:
        identity["how"] = [f"{join.input}: {join.kind.name}" for join in plan.joins]
    rooms.require_same(identity)
    inflows = [
        inflow_of(frame, [other for other in frames if other is not frame], schema, placement)
        for frame, schema, placement in zip(frames, schemas, placed, strict=True)
    ]
    step = rooms.step(plan, names, [frame.columns for frame in frames], inflows, identity)
    if isinstance(plan, JoinsPlan) and not is_inner:
        results = _schema_of_plan(plan, frames, schemas)
    else:
        results = _result_schema(frames, output_columns(graph, schemas))
    return dataflow(inflows, step, results, [*_in_words(plan, graph, shares)])


def _in_words(plan: MultiPlan | JoinsPlan, graph: Graph, shares: Shares) -> list[str]:
    grid = " x ".join(map(str, shares.of_attribute))
    often = [
        f"{name} {times} times" if (times := shares.copies(graph.of_input(which))) > 1 else f"{name} once"
        for which, name in enumerate(graph.inputs)
    ]
    first = f"joined by {plan.algorithm.name}, in a grid of {grid} cells; each row is sent: {', '.join(often)}"
    return [first, *(plan.in_words()[1:] if isinstance(plan, JoinsPlan) else [])]


def _result_schema(frames: Sequence[DataFrame], columns: Sequence[OutputColumn]) -> StructType:
    fields = []
    for column in columns:
        field = frames[column.input].schema.fields[column.column]
        fields.append(StructField(column.field.name, field.dataType, field.nullable))
    return StructType(fields)


def _schema_of_plan(plan: JoinsPlan, frames: Sequence[DataFrame], schemas: Sequence[pa.Schema]) -> StructType:
    inside = {
        named(name, field.name): field
        for name, frame in zip(plan.inputs, frames, strict=True)
        for field in frame.schema.fields
    }
    fields = []
    for column in plan.projection(schemas).columns:
        sources = [StructField(name, inside[name].dataType, column.field.nullable) for name in column.sources]
        fields.append(result_field(column.field, sources))
    return StructType(fields)


def _identity_of(
    frames: Sequence[DataFrame], graph: Graph, algorithm: str, partitions: int, shares: Shares
) -> dict[str, Any]:
    """What must not change while a state is in use."""
    named = zip(graph.inputs, frames, strict=True)
    return {
        "partitions": partitions,
        "algorithm": algorithm,
        "inputs": [f"{name}: {frame.schema.simpleString()}" for name, frame in named],
        "on": [str(attribute.columns) for attribute in graph.attributes],
        "shares": list(shares.of_attribute),
        "arrow": frames[0].sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes"),
    }
