"""Aggregates that a query in SQL asks for, estimated: of two tables from samples of both, of more from one of them.

Of more than two, all but the largest are read as wholes first, and that one in random order then: each of its rows
meets all that it can match when it comes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sooner.asked.choosing_algorithm import Known, choose
from sooner.asked.joins import in_words
from sooner.errors import InvalidJoin
from sooner.estimation.preparation import Preparation
from sooner.estimation.reading_off import usable_sizes
from sooner.estimation.workings import JoinedColumn, workings_of_rows
from sooner.expressions.tree import Column, Node
from sooner.local.arguments import settings_of
from sooner.local.estimate import Estimates, EstimateTerms, estimates_of
from sooner.local.filtered import FilteredSource
from sooner.local.multijoin import explained_of_many
from sooner.local.sampling import prepared_sources
from sooner.local.sql_rows import Terms, plan_of_tables, two_way_plan
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import joined_columns
from sooner.operators.folding.sampled import SampledPlan
from sooner.operators.multiway.plan import MultiPlan
from sooner.queries.joining import Joining
from sooner.queries.naming import Place
from sooner.queries.questions import Asked, rows_to_group
from sooner.queries.statement import Statement, TableName
from sooner.sides import SIDES
from sooner.sources.blocks import blocks_of
from sooner.sources.sampling import Sample, require_sampling_by, sample_of
from sooner.sources.source import Source

WHY_NO_SAMPLE: Final = (
    "no intervals: for these the sizes of all tables must be known (total_rows=) or the sampled one named (sampling=), "
    "and one operator must join them all (algorithm=)",
)


def estimates_of_query(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates | None:
    """Of inner joins; None if there are more than two tables, and it is not known which of them is the largest."""
    of_tables = _of_two if len(sources) == len(SIDES) else _of_many
    return of_tables(statement, joining, sources, terms, wishes)


def _of_two(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates:
    if wishes.sampled is not None:
        raise InvalidJoin(f"sampling= names {wishes.sampled}, but of two tables both are sampled; say how alone.")
    choice = choose(terms.algorithm, Known(is_estimate=True))
    plan = two_way_plan(joining, choice.algorithm)
    require_sampling(plan.algorithm)
    joined, schemas = plan.output(joining.scope.schemas), joining.scope.schemas
    names = _names(joined_columns(plan, schemas))
    question = Asked(statement, joining, names.__getitem__).question(joining.conditions, joined)
    room = settings_of(plan.algorithm, terms.memory, terms.partitions, terms.workers, terms.spill_dir)
    return estimates_of(sources, plan, question, wishes, room, in_words(plan, choice))


def _names(columns: Mapping[str, JoinedColumn]) -> dict[Place, Node]:
    """What the columns of two tables are called in a row that is joined of them."""
    found: dict[Place, Node] = {}
    for name, column in columns.items():
        tables = ((0,), (1,), SIDES) if column.shared else ((column.side,),)
        found |= {Place(some, column.name): Column(name) for some in tables}
    return found


def _of_many(
    statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms, wishes: EstimateTerms
) -> Estimates | None:
    wanted = rows_to_group(statement, joining)
    plan, by_name, settings = plan_of_tables(joining, wanted, terms)
    sizes = usable_sizes(wishes.total_rows, [_size_of(source) for source in sources])
    sampled = _sampled(wishes.sampled, statement.tables, sizes)
    if not isinstance(plan, MultiPlan) or sampled is None:
        return None
    require_sampling_by(wishes.sampling)
    inputs: list[Source] = [FilteredSource(source, *wanted.of_input(at)) for at, source in enumerate(sources)]
    filters, names = wanted.of_input(sampled)
    columns = tuple((to, name) for name, to in names)
    preparation = Preparation((), sources[sampled].schema, tuple(filters), columns=columns)
    sample = sample_of(sources[sampled], preparation.needed, (), wishes.sampling, wishes.seed)
    [inputs[sampled]] = prepared_sources([sample], [preparation], settings.memory_bytes)
    joined = plan.output([one.schema for one in inputs])
    question = Asked(statement, joining, wanted.column).question(joining.conditions_of(None), joined)
    sampling = SampledPlan(plan, sampled, workings_of_rows(question, joined))
    aliases = joining.scope.aliases
    notes = [*explained_of_many(by_name, None), *_explained(aliases[sampled], sample)]
    return Estimates(sampling, inputs, settings, sizes, wishes.limits, notes, aliases)


def _sampled(asked: str | None, tables: Sequence[TableName], sizes: Sequence[int | None]) -> int | None:
    """The table that is asked for, or else the largest, if the sizes of all are known."""
    if asked is None:
        return None if None in sizes else max(range(len(sizes)), key=lambda at: sizes[at] or 0)
    found = [at for at, table in enumerate(tables) if asked in (table.alias, table.name)]
    if len(found) != 1:
        names = ", ".join(table.alias for table in tables)
        raise InvalidJoin(f"sampling= names {asked!r}, which is not one table of FROM; there are {names}.")
    return found[0]


def _size_of(source: Source) -> int | None:
    """How many rows a table has that can be read in any order."""
    blocks = blocks_of(source)
    return None if blocks is None else sum(blocks.n_rows)


def _explained(sampled: str, sample: Sample) -> list[str]:
    return [
        f"sampled: {sampled}, whose {sample.sampling} come in random order when all others are in memory",
        "intervals: from how parts of the sample differ; if the others take more than the memory there are none, and "
        "figures are those so far until they are exact",
    ]
