"""Aggregates that a query in SQL asks for, estimated: of two tables from samples of both, of others from one of them.

All tables but the largest are read as wholes first, and that one in random order then: each of its rows meets all that
it can match when it comes. That is also so of two, where rows are needed and not sums alone, or rows may lack a match.
Where blocks say between which keys they are, one of the other tables is a *guide*: it is not read first, but its blocks
come right before those of the sample that they can match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pyarrow as pa

from sooner.asked.choosing_algorithm import Known, choose
from sooner.asked.joins import in_words
from sooner.errors import InvalidJoin
from sooner.estimation.preparation import Preparation
from sooner.estimation.question import is_gathered
from sooner.estimation.reading_off import usable_sizes
from sooner.estimation.workings import JoinedColumn
from sooner.expressions.tree import Column, Node
from sooner.local.arguments import Settings, settings_of
from sooner.local.estimate import Estimates, EstimateTerms, estimates_of
from sooner.local.filtered import FilteredSource
from sooner.local.multijoin import explained_of_many
from sooner.local.sampling import GuidingSource, PreparedSource, Turnstile
from sooner.local.sql_rows import Terms, explained_of_scan, plan_of_tables, plan_of_two, two_way_plan
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import joined_columns
from sooner.operators.folding.running_groups import group_workings_of
from sooner.operators.folding.sampled import SampledPlan
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.operator import OperatorPlan
from sooner.operators.scan import ScanPlan
from sooner.queries.answered_estimates import answer_estimated
from sooner.queries.answers import answer_of
from sooner.queries.joining import Joining
from sooner.queries.naming import Place
from sooner.queries.questions import Asked, rows_to_group
from sooner.queries.rows import RowsWanted
from sooner.queries.statement import Statement
from sooner.sides import SIDES
from sooner.sources.blocks import blocks_of
from sooner.sources.sampling import Sample, guided, require_sampling_by, sample_of
from sooner.sources.source import Source

WHY_NO_SAMPLE: Final = (
    "no intervals: for these the sizes of all tables must be known (total_rows=) or the sampled one named (sampling=), "
    "and one operator must join them all (algorithm=)",
)


def estimates_of_query(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates | None:
    """None if samples do not tell: it is not known of which table to take one, or nothing can be estimated."""
    gathers = any(map(is_gathered, statement.aggregates))
    if all(map(is_gathered, statement.aggregates)) or joining.not_in:
        return None
    are_given = all(table.of is None for table in statement.tables)
    if len(sources) == len(SIDES) and joining.is_inner and are_given and not gathers:
        return _of_two(statement, joining, sources, terms, wishes)
    return _of_one_sample(statement, joining, sources, terms, wishes)


def _of_two(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates | None:
    choice = choose(terms.algorithm, Known(is_estimate=True))
    plan = two_way_plan(joining, choice.algorithm)
    joined, schemas = plan.output(joining.scope.schemas), joining.scope.schemas
    asked = Asked(statement, joining, _names(joined_columns(plan, schemas)).__getitem__)
    found = answer_estimated(answer_of(statement, asked), asked.question(joining.conditions, joined), joined)
    if found is None:
        return None
    if wishes.sampled is not None:
        raise InvalidJoin(f"sampling= names {wishes.sampled}, but of two tables both are sampled; say how alone.")
    require_sampling(plan.algorithm)
    room = settings_of(plan.algorithm, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    shown = found.shape, found.foremost
    return estimates_of(sources, plan, found.question, wishes, room, in_words(plan, choice), *shown)


def _names(columns: Mapping[str, JoinedColumn]) -> dict[Place, Node]:
    """What the columns of two tables are called in a row that is joined of them."""
    found: dict[Place, Node] = {}
    for name, column in columns.items():
        tables = ((0,), (1,), SIDES) if column.shared else ((column.side,),)
        found |= {Place(some, column.name): Column(name) for some in tables}
    return found


def _of_one_sample(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates | None:
    wanted = rows_to_group(statement, joining)
    kept = [FilteredSource(source, *wanted.of_input(at)) for at, source in enumerate(sources)]
    plan, notes, settings = _plan(joining, wanted, kept, terms)
    sizes = usable_sizes(wishes.total_rows, [_size_of(source) for source in sources])
    sampled = _sampled(wishes.sampled, statement, sizes)
    if plan is None or sampled is None:
        return None
    require_sampling_by(wishes.sampling)
    filters, names = wanted.of_input(sampled)
    columns = tuple((to, name) for name, to in names)
    preparation = Preparation((), sources[sampled].schema, tuple(filters), columns=columns)
    joined = plan.output([preparation.schema if at == sampled else one.schema for at, one in enumerate(kept)])
    asked = Asked(statement, joining, wanted.column)
    found = answer_estimated(answer_of(statement, asked), asked.question(joining.conditions_of(None), joined), joined)
    if found is None:
        return None
    sample, guide = sample_of(sources[sampled], preparation.needed, (), wishes.sampling, wishes.seed), None
    if isinstance(plan, MultiPlan):
        plan = replace(plan, graph=plan.graph.beginning_at(sampled))
        sample, guide = _with_guide(sample, sampled, joining, wanted, sources, wishes)
    turnstile, inputs, aliases = Turnstile(), list[Source](kept), joining.scope.aliases
    inputs[sampled] = PreparedSource(sample, preparation, settings.memory_bytes, turnstile)
    notes = [*notes, *_explained(aliases[sampled], sample, None if guide is None else aliases[guide.table])]
    sampling = SampledPlan(plan, sampled, group_workings_of(found.question, joined))
    if guide is not None and isinstance(plan, MultiPlan):
        guiding = GuidingSource(guide.sample, settings.memory_bytes, turnstile)
        inputs[guide.table] = FilteredSource(guiding, *wanted.of_input(guide.table))
        sampling = replace(sampling, join=replace(plan, guided=sampled), guide=guide.table)
    shown = found.shape, found.foremost
    return Estimates(sampling, inputs, settings, sizes, wishes.limits, notes, aliases, *shown)


class _Guide(NamedTuple):
    """A table of which blocks come right before those of the sampled one that can match them."""

    table: int
    sample: Sample


def _with_guide(
    sample: Sample,
    sampled: int,
    joining: Joining,
    wanted: RowsWanted,
    sources: Sequence[Source],
    wishes: EstimateTerms,
) -> tuple[Sample, _Guide | None]:
    """The largest table that can be one, if any: its blocks and the sample's say between which keys they are."""
    matched = [pair if pair[0].table == sampled else pair[::-1] for pair in joining.equal]
    of_others = [(_size_of(sources[other.table]), own, other) for own, other in matched if own.table == sampled]
    order = wishes.sampling, wishes.seed
    for _, own, other in sorted((one for one in of_others if one[0] is not None), reverse=True):
        filters, names = wanted.of_input(other.table)
        needed = {name for name, _ in names} | {name for one in filters for name in one.columns}
        columns = [name for name in sources[other.table].schema.names if name in needed]
        by_key, guide = guided(
            sample_of(sources[sampled], sample.source.schema.names, [own.name], *order),
            sample_of(sources[other.table], columns, [other.name], *order),
        )
        if by_key.partners is not None:
            return by_key, _Guide(other.table, guide)
    return sample, None


def _plan(
    joining: Joining, wanted: RowsWanted, inputs: Sequence[FilteredSource], terms: Terms
) -> tuple[OperatorPlan[pa.RecordBatch] | None, list[str], Settings]:
    """What gives all results of a row when it comes, if all other tables were read; None if nothing here does."""
    if len(inputs) == 1:
        settings = settings_of(None, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
        return ScanPlan(), explained_of_scan(joining.scope.aliases[0]), settings
    if len(inputs) == len(SIDES):
        plan, notes, settings = plan_of_two(joining, wanted, inputs, terms)
        return (plan if plan.algorithm.waits == "never" else None), notes, settings
    of_many, by_name, settings = plan_of_tables(joining, wanted, terms)
    gives_at_once = isinstance(of_many, MultiPlan) or terms.algorithm == "auto"
    return (of_many if gives_at_once else None), explained_of_many(by_name, None), settings


def _sampled(asked: str | None, statement: Statement, sizes: Sequence[int | None]) -> int | None:
    """The table that is asked for, or else the largest of which a sample tells, if the sizes of these are known."""
    tables, can_be = statement.tables, _told_by_samples(statement)
    if asked is None:
        is_known = bool(can_be) and all(sizes[at] is not None for at in can_be)
        return max(can_be, key=lambda at: sizes[at] or 0) if is_known else None
    found = [at for at, table in enumerate(tables) if asked in (table.alias, table.name)]
    if len(found) != 1 or found[0] not in can_be:
        names = ", ".join(tables[at].alias for at in can_be) or "none"
        raise InvalidJoin(
            f"sampling= names {asked!r}, which is not one table of FROM of which a sample tells; there are {names}."
        )
    return found[0]


def _told_by_samples(statement: Statement) -> list[int]:
    """The tables of which each row brings results of its own, whatever other rows of it there are."""
    hows = statement.hows
    return [
        at
        for at, (how, table) in enumerate(zip(hows, statement.tables, strict=True))
        if table.of is None and how in ("inner", "right") and not {*hows[at + 1 :]} & {"right", "full"}
    ]


def _size_of(source: Source) -> int | None:
    """How many rows a table has that can be read in any order."""
    blocks = blocks_of(source)
    return None if blocks is None else sum(blocks.n_rows)


def _explained(sampled: str, sample: Sample, guide: str | None) -> list[str]:
    before = "" if guide is None else f", but for {guide}, of which those come right before that they can match"
    return [
        f"sampled: {sampled}, whose {sample.sampling} come in random order when all others are in memory{before}",
        "intervals: from how parts of the sample differ; if the others take more than the memory there are none, and "
        "figures are those so far until they are exact",
    ]
