"""The joined rows that a query in SQL wants, by the operator that its joins need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sooner.asked.choosing_algorithm import AskedAlgorithm, choose
from sooner.asked.joins import equi_join, in_words
from sooner.asked.multijoins import multi_algorithm
from sooner.errors import InvalidJoin
from sooner.local.arguments import LEAST_MEMORY_BYTES, settings_of, usable_memory
from sooner.local.filtered import FilteredSource
from sooner.local.join import choice_of, explained
from sooner.local.multijoin import explained_of_many, read_last
from sooner.local.not_in import NotIn
from sooner.local.query import Query
from sooner.local.scan import Scan
from sooner.local.subselects import Subselect
from sooner.operators.multiway.graph import ColumnOf, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.queries.joining import Joining
from sooner.queries.naming import ColumnAt
from sooner.queries.rows import RowsWanted
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.at_rest import resting_rows
from sooner.sources.source import Source


@dataclass(frozen=True)
class Terms:
    """What the user gave to join with; which algorithms there are depends on how many tables there are."""

    algorithm: Any
    memory: int | str | None
    partitions: int | None
    workers: int | None
    spill_dir: str | Path | None

    def shared_by(self, queries: int) -> "Terms":
        """For each of so many queries an equal part of the memory."""
        if self.memory is None or queries <= 1:
            return self
        return replace(self, memory=max(usable_memory(self.memory) // queries, LEAST_MEMORY_BYTES))


def joined_rows(joining: Joining, wanted: RowsWanted, sources: Sequence[Source], terms: Terms) -> Query | Scan:
    """What is joined; its columns have the names of their tables in front."""
    not_in = {own.table: NotIn(wanted.name(of), wanted.name(own)) for of, own in joining.not_in}
    inputs = []
    for at, source in enumerate(sources):
        watch = not_in[at].watch if at in not_in else None
        inputs.append(FilteredSource(source, *wanted.of_input(at), watch))
    rows = _joined(joining, wanted, inputs, sources, terms)
    for one in not_in.values():
        rows.through(rows.schema, one.of)
    return rows


def _joined(
    joining: Joining, wanted: RowsWanted, inputs: Sequence[FilteredSource], sources: Sequence[Source], terms: Terms
) -> Query | Scan:
    if len(sources) == 1:
        return Scan(inputs[0])
    if len(sources) == len(SIDES):
        return _of_two(joining, wanted, inputs, terms)
    if joining.is_inner:
        return _of_many(joining, wanted, inputs, sources, terms)
    return _one_after_the_other(joining, wanted, inputs, terms)


def two_way_plan(joining: Joining, algorithm: AskedAlgorithm) -> TwoWayPlan:
    """Of two tables, by the names that their columns have themselves."""
    left_on, right_on = (joining.keys(side) for side in SIDES)
    return equi_join(None, left_on, right_on, None, algorithm, joining.hows[RIGHT])  # type: ignore[arg-type]


def _of_two(joining: Joining, wanted: RowsWanted, inputs: Sequence[FilteredSource], terms: Terms) -> Query:
    choice = choice_of(terms.algorithm, inputs, [one.resting_rows for one in inputs], terms.memory)
    plan = two_way_plan(joining, choice.algorithm)
    plan.output(joining.scope.schemas)  # refused by the names that the user knows
    settings = settings_of(choice.algorithm, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    notes = explained(plan, choice, settings)
    left_on, right_on = (tuple(wanted.name(ColumnAt(at, name)) for name in joining.keys(at)) for at in (LEFT, RIGHT))
    return Query(replace(plan, left_on=left_on, right_on=right_on), inputs, settings, notes=notes)


def _of_many(
    joining: Joining, wanted: RowsWanted, inputs: Sequence[Source], sources: Sequence[Source], terms: Terms
) -> Query:
    if terms.partitions is not None:
        raise InvalidJoin(f"partitions={terms.partitions!r} is for two tables; leave it out.")
    algorithm, scope = multi_algorithm(terms.algorithm), joining.scope
    names = [table.alias for table in scope.tables]

    def plan_by(name: Callable[[ColumnAt], str]) -> MultiPlan:
        pairs = [(ColumnOf(names[one.table], name(one)), ColumnOf(names[other.table], name(other))) for one, other in
                 joining.equal]  # fmt: skip
        return MultiPlan(graph_of(names, pairs), algorithm)

    plan = plan_by(lambda column: column.name)
    plan.output(scope.schemas)  # refused by the names that the user knows
    settings = settings_of(None, terms.memory, None, terms.workers, terms.spill_dir)
    last = read_last([resting_rows(source) for source in sources])
    return Query(plan_by(wanted.name), inputs, settings, names, notes=explained_of_many(plan, last), last=last)


def _one_after_the_other(joining: Joining, wanted: RowsWanted, inputs: Sequence[Source], terms: Terms) -> Query:
    """Joins of two that feed each other, with an equal part of the memory each."""
    terms = terms.shared_by(len(inputs) - 1)
    choice = choose(terms.algorithm)
    settings = settings_of(choice.algorithm, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    left, query, notes = inputs[joining.order[0]], None, list[str]()
    for at, pairs in joining.stages:
        left_on, right_on = [wanted.name(one) for one, _ in pairs], [wanted.name(own) for _, own in pairs]
        plan = equi_join(None, left_on, right_on, None, choice.algorithm, joining.hows[at])  # type: ignore[arg-type]
        notes += in_words(plan, choice)
        query = Query(plan, [left, inputs[at]], settings, notes=notes)
        left = Subselect(f"the join with {inputs[at].name}", query)
    assert query is not None, "there are several tables"
    return query
