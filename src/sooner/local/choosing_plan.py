"""One operator or a plan of joins, and in which order: by the sizes of inputs, and by what samples of them match."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from sooner.asked.joining_in_turn import graph_of_plan, in_turn
from sooner.asked.multijoins import AUTO, DEFAULT_OF_PLANS
from sooner.errors import InvalidJoin
from sooner.kernels.array_types import Codes
from sooner.operators.multiway.comparing import comparison_of
from sooner.operators.multiway.graph import Graph
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.order import CodeRows
from sooner.operators.plans.algorithms import plan_algorithm
from sooner.operators.plans.expected import Expected, best_order, looked_up_rows
from sooner.operators.plans.plan import JoinsPlan
from sooner.parallel import Crew
from sooner.sources.at_rest import resting_rows
from sooner.sources.row_samples import sampled_rows
from sooner.sources.source import Source

OrderName = Literal["given", "estimated"]
GIVEN: Final = "given"
ESTIMATED: Final = "estimated"
SAMPLED_ROWS: Final = 16_384  # of each input
READERS: Final = 2  # inputs that are sampled at once: first results wait for all of them
FEW_ROWS: Final = 100_000  # of all inputs together: whatever is done with them takes no longer than a sample
# What one operator may look up for a row that a plan keeps: that one is sorted, stored, and maybe written to disk. With
# memory for all both were as fast at about four; with a tenth of it the plan was behind at any.
LOOKED_UP_FOR_ONE: Final = 4.0
FEWEST_INPUTS: Final = 3  # of two there is one order, and what is looked up is a result


class Choice(NamedTuple):
    plan: MultiPlan | JoinsPlan
    reasons: list[str]


def chosen_plan(plan: MultiPlan | JoinsPlan, sources: Sequence[Source], asked: str, order: object) -> Choice:
    """The plan as it is asked for; with algorithm="auto" or order="estimated" as samples say, where there are any."""
    if order not in (GIVEN, ESTIMATED):
        raise InvalidJoin(f"order={order!r} is not known; there are {GIVEN!r}, that of the inputs, and {ESTIMATED!r}.")
    if order == ESTIMATED:
        graph = _reordered(plan, asked)
        expected = expected_of(graph, sources)
        if expected is None:
            raise InvalidJoin(
                f"order={ESTIMATED!r} takes samples of tables and Parquet files, and columns that are equal; of these "
                f"inputs nobody can say yet how many match. Give them in a good order, and leave order= out."
            )
        if isinstance(plan, JoinsPlan):
            return _in_best_order(plan, graph, expected)
    elif asked != AUTO or not isinstance(plan, MultiPlan):
        return Choice(plan, [])
    else:
        graph = plan.graph
        rows = [resting_rows(source) for source in sources]
        known = [one for one in rows if one is not None]
        if len(rows) < FEWEST_INPUTS or (len(known) == len(rows) and sum(known) < FEW_ROWS):
            return Choice(plan, [])
        expected = expected_of(graph, sources)
    return _one_or_many(plan, graph, expected)


def _one_or_many(plan: MultiPlan, graph: Graph, expected: Expected | None) -> Choice:
    if expected is None:
        return Choice(
            plan, ["one operator, since it is not known how many rows match: it keeps nothing but the inputs"]
        )
    rows, kept, looked_up = sum(expected.rows), best_order(graph, expected).kept_rows, looked_up_rows(graph, expected)
    sizes = f"about {looked_up:,.0f} rows looked up in one operator, {kept:,.0f} kept between the joins of a plan"
    if rows + looked_up <= LOOKED_UP_FOR_ONE * (rows + kept):
        return Choice(plan, [f"one operator, by a sample of the inputs: {sizes}"])
    joins = JoinsPlan(graph.inputs, in_turn(graph), plan_algorithm(DEFAULT_OF_PLANS))
    chosen, order = _in_best_order(joins, graph, expected)
    return Choice(chosen, [f"a plan of joins, by a sample of the inputs: {sizes}", *order])


def _reordered(plan: MultiPlan | JoinsPlan, asked: str) -> Graph:
    """The graph of a join whose inputs may be joined in any order."""
    if isinstance(plan, MultiPlan):
        if asked != AUTO:
            raise InvalidJoin(
                f"order={ESTIMATED!r} is for plans of joins, and algorithm={asked!r} is one operator, which chooses "
                "an order for each row; leave one of both out."
            )
        return plan.graph
    if not plan.is_inner:
        raise InvalidJoin(
            f"order={ESTIMATED!r} is for inner joins: with how= the order of the inputs says what is meant."
        )
    return graph_of_plan(plan)


def _in_best_order(plan: JoinsPlan, graph: Graph, expected: Expected) -> Choice:
    order = best_order(graph, expected).inputs
    names = [graph.inputs[which] for which in order]
    return Choice(
        JoinsPlan(plan.inputs, in_turn(graph, order), plan.algorithm),
        [f"order of joins, by a sample: {', '.join(names)}"],
    )


def expected_of(graph: Graph, sources: Sequence[Source]) -> Expected | None:
    """From samples; None if an input is not at rest, or inputs match by a range."""
    rows = [resting_rows(source) for source in sources]
    known = [one for one in rows if one is not None]
    if len(known) < len(rows) or any(attribute.near is not None for attribute in graph.attributes):
        return None
    samples = _samples(graph, sources)
    pairs = {}
    for attribute in graph.attributes:
        comparison = comparison_of(graph, attribute, [source.schema for source in sources])
        for at, one in enumerate(attribute.inputs):
            for other in attribute.inputs[at + 1 :]:
                coders = comparison.between(one, other).coders
                found = matching_pairs(
                    *(_codes(samples[which], code) for which, code in zip((one, other), coders, strict=True))
                )
                of_all = found * _times(known[one], samples[one]) * _times(known[other], samples[other])
                pairs[min(one, other), max(one, other)] = of_all
    return Expected(known, pairs)


def _samples(graph: Graph, sources: Sequence[Source]) -> list[pa.RecordBatch]:
    crew = Crew(READERS)
    try:
        return [*crew.in_order(lambda which: _sample(graph, which, sources[which]), range(len(sources)))]
    finally:
        crew.dismiss()


def _sample(graph: Graph, which: int, source: Source) -> pa.RecordBatch:
    compared = (graph.attributes[at].compared(which) for at in graph.of_input(which))
    columns = list(dict.fromkeys(column for some in compared for column in some))
    rows = sampled_rows(source, columns, SAMPLED_ROWS, seed=which)
    assert rows is not None, "what is at rest can be sampled"
    return rows


def _codes(rows: pa.RecordBatch, code: CodeRows) -> Codes:
    codes, can_match = code(rows)
    return codes if can_match is None else codes[can_match]


def _times(rows: int, sample: pa.RecordBatch) -> float:
    sampled: int = sample.num_rows
    return rows / max(sampled, 1)


def matching_pairs(left: Codes, right: Codes) -> float:
    """Of two samples. To find none is not to know that there are none: samples of large inputs rarely meet."""
    codes, counts = np.unique(left, return_counts=True)
    others, other_counts = np.unique(right, return_counts=True)
    _, here, there = np.intersect1d(codes, others, assume_unique=True, return_indices=True)
    found: int = (counts[here] * other_counts[there]).sum()
    return max(float(found), 0.5)
