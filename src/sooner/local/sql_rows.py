"""The joined rows that a query in SQL wants, by the operator that its joins need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from sooner.asked.choosing_algorithm import AskedAlgorithm
from sooner.asked.joins import equi_join
from sooner.asked.multijoins import algorithm_of_many
from sooner.how import INNER, kind_of
from sooner.local.arguments import LEAST_MEMORY_BYTES, Settings, settings_of, usable_memory
from sooner.local.filtered import FilteredSource
from sooner.local.join import choice_of, explained
from sooner.local.multijoin import explained_of_many, settings_of_many
from sooner.local.not_in import NotIn
from sooner.local.query import Query
from sooner.local.reading_last import read_last, read_last_of_two, told_of_last
from sooner.operators.multiway.algorithms import MultiAlgorithm
from sooner.operators.multiway.graph import ColumnOf, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.plans.plan import JoinsPlan, JoinWith
from sooner.operators.scan import ScanPlan
from sooner.operators.two_way.plan import INPUTS, TwoWayPlan
from sooner.queries.joining import Joining
from sooner.queries.naming import ColumnAt
from sooner.queries.rows import RowsWanted
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.at_rest import resting_rows
from sooner.sources.source import Source

SCAN_SHARE: Final = 8  # of the memory, one part in so many is for the rows of one table,
MOST_SCAN_BYTES: Final = 32 * 2**20  # or so many bytes, if that is less


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


def joined_rows(joining: Joining, wanted: RowsWanted, sources: Sequence[Source], terms: Terms) -> Query:
    """What is joined, or the rows of the only table; columns have the names of their tables in front."""
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
) -> Query:
    if len(sources) == 1:
        return _of_one(joining, inputs, terms)
    if len(sources) == len(SIDES):
        return _of_two(joining, wanted, inputs, terms)
    return _of_many(joining, wanted, inputs, [resting_rows(source) for source in sources], terms)


def _of_one(joining: Joining, inputs: Sequence[FilteredSource], terms: Terms) -> Query:
    aliases = joining.scope.aliases
    return Query(ScanPlan(), inputs, settings_of_scan(terms), aliases, notes=explained_of_scan(aliases[0]))


def explained_of_scan(name: str) -> list[str]:
    return [f"read: {name}, whose rows come as they are"]


def settings_of_scan(terms: Terms) -> Settings:
    """Rows wait to be read, and nothing else: a small part of the memory is enough, also inside of another query."""
    memory_bytes = max(min(usable_memory(terms.memory) // SCAN_SHARE, MOST_SCAN_BYTES), LEAST_MEMORY_BYTES)
    return settings_of(None, memory_bytes, terms.partitions, terms.workers, terms.spill_dir)


def two_way_plan(joining: Joining, algorithm: AskedAlgorithm) -> TwoWayPlan:
    """Of two tables, by the names that their columns have themselves."""
    left_on, right_on = (joining.keys(side) for side in SIDES)
    return equi_join(None, left_on, right_on, None, algorithm, joining.hows[RIGHT])  # type: ignore[arg-type]


def _of_two(joining: Joining, wanted: RowsWanted, inputs: Sequence[FilteredSource], terms: Terms) -> Query:
    plan, notes, settings = plan_of_two(joining, wanted, inputs, terms)
    last = read_last_of_two([one.resting_rows for one in inputs])
    return Query(plan, inputs, settings, notes=[*notes, *told_of_last(last, INPUTS)], last=last)


def plan_of_two(
    joining: Joining, wanted: RowsWanted, inputs: Sequence[FilteredSource], terms: Terms
) -> tuple[TwoWayPlan, list[str], Settings]:
    choice = choice_of(terms.algorithm, inputs, [one.resting_rows for one in inputs], terms.memory)
    plan = two_way_plan(joining, choice.algorithm)
    plan.output(joining.scope.schemas)  # refused by the names that the user knows
    settings = settings_of(choice.algorithm, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    left_on, right_on = (tuple(wanted.name(ColumnAt(at, name)) for name in joining.keys(at)) for at in (LEFT, RIGHT))
    return replace(plan, left_on=left_on, right_on=right_on), explained(plan, choice, settings), settings


def _of_many(
    joining: Joining, wanted: RowsWanted, inputs: Sequence[Source], rows: Sequence[int | None], terms: Terms
) -> Query:
    """All of them in one operator, or in a plan of joins where one is not inner; `rows` are those before conditions."""
    plan, by_name, settings = plan_of_tables(joining, wanted, terms)
    last = read_last(rows)
    return Query(plan, inputs, settings, joining.scope.aliases, notes=explained_of_many(by_name, last), last=last)


def plan_of_tables(
    joining: Joining, wanted: RowsWanted, terms: Terms
) -> tuple[MultiPlan | JoinsPlan, MultiPlan | JoinsPlan, Settings]:
    """The plan of more than two, by the names of columns while they are joined, and by those that the user knows."""
    by_name = _plan(joining, terms.algorithm, lambda column: column.name)
    _require_comparable(by_name, joining)
    settings = settings_of_many(by_name, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    return _plan(joining, terms.algorithm, wanted.name), by_name, settings


def _require_comparable(plan: MultiPlan | JoinsPlan, joining: Joining) -> None:
    """What cannot be equal is refused, by the names that the user knows."""
    schemas = joining.scope.schemas
    if isinstance(plan, MultiPlan):
        plan.comparisons(schemas)
    else:
        plan.two_way(schemas)


def _plan(joining: Joining, algorithm: object, name: Callable[[ColumnAt], str]) -> MultiPlan | JoinsPlan:
    """With such names for columns."""
    names = joining.scope.aliases
    kinds = {names[at]: kind_of(how) for at, how in enumerate(joining.hows) if how != "inner"}
    chosen = algorithm_of_many(algorithm, kinds)

    def of(column: ColumnAt) -> ColumnOf:
        return ColumnOf(names[column.table], name(column))

    if isinstance(chosen, MultiAlgorithm):
        return MultiPlan(graph_of(names, [(of(one), of(other)) for one, other in joining.equal]), chosen)
    joins = [
        JoinWith(names[at], tuple((of(one), name(own)) for one, own in pairs), kinds.get(names[at], INNER))
        for at, pairs in joining.stages
    ]
    return JoinsPlan(tuple(names), tuple(joins), chosen)
