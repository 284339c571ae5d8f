"""`sooner.sql`: a query in SQL, answered while its tables are read.

Rows come as from `sooner.join` and `sooner.multijoin`. Aggregates over inner joins of tables and files are estimated as
by `sooner.estimate`; all others are figures so far until they are exact.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sooner.asked.choosing_algorithm import AskedAlgorithm
from sooner.asked.multijoins import MultiAlgorithmName
from sooner.errors import InvalidJoin
from sooner.expressions.tree import Column, Node
from sooner.local.arguments import usable_memory
from sooner.local.estimate import Estimates, EstimateTerms, Limits
from sooner.local.given_tables import GivenTables, Replacement
from sooner.local.groups import GroupedRows, Grouping, LiveGroups, bytes_for_groups, bytes_of_join
from sooner.local.query import Query
from sooner.local.row_endings import RowEnding
from sooner.local.rows import Rows
from sooner.local.sql_estimates import WHY_NO_SAMPLE, estimates_of_query
from sooner.local.sql_rows import Terms, joined_rows, two_way_plan
from sooner.local.subselects import Subselect, UnionOfRows
from sooner.operators.folding.plan import joined_columns
from sooner.operators.folding.running_groups import group_workings_of
from sooner.queries.answered import Answering
from sooner.queries.answers import answer_of
from sooner.queries.joining import Joining, joining_of
from sooner.queries.questions import Asked, rows_to_group
from sooner.queries.reading import asked_in
from sooner.queries.row_order import Sorting, sortings_by_name, sortings_of
from sooner.queries.rows import RowsWanted, all_columns, outputs_of
from sooner.queries.statement import Ending, Statement, UnionOf, selects_in, tables_in
from sooner.sides import SIDES
from sooner.sources.opening import opened, require_streams_once
from sooner.sources.sampling import Sampling
from sooner.sources.source import Source


def sql(
    query: str,
    tables: Mapping[str, object] | None = None,
    *,
    replacements: Collection[Replacement] = ("variables", "files"),
    confidence: float = 0.95,
    until: float | str | None = None,
    seconds: float | None = None,
    sampling: Sampling | Mapping[str, Sampling] | None = None,
    total_rows: Mapping[str, int] | None = None,
    seed: int = 0,
    algorithm: AskedAlgorithm | MultiAlgorithmName = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    spill_dir: str | Path | None = None,
) -> Estimates | LiveGroups | Rows:
    """Answer a query in SQL while its tables are read.

    query: SELECT ... FROM a JOIN b ON a.k = b.k JOIN ... WHERE ... GROUP BY ..., in the dialect of DuckDB.
        Without aggregates rows come as from `sooner.join` and `sooner.multijoin`. COUNT, SUM, AVG, VARIANCE and STDDEV
        over inner joins, and arithmetic over them, are estimated as by `sooner.estimate`: of two tables both are
        sampled, of more the largest one, after all others were read. Over other joins, with MIN, MAX, HAVING, ORDER BY
        or LIMIT, and of more than two tables where the size of one is not known, there are `LiveGroups`: figures so
        far, exact in the end.
    tables: what the names in FROM mean: anything that `sooner.join` takes.
    replacements: where other names are looked for, as by DuckDB: in the "variables" of the caller, local first, and
        among "files", named in quotes or by read_parquet('...') or read_csv('...'). () is for queries of strangers.
    total_rows: how many rows tables have that do not know it, by their names.
    confidence, until, seconds, sampling, seed: as for `sooner.estimate`, for what is estimated. Of more than two tables
        sampling={"orders": "blocks"} also says which one is sampled, and then no size has to be known.
    algorithm, memory, partitions, workers, spill_dir: as for `sooner.estimate`, `sooner.join` and `sooner.multijoin`.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"id": [1, 2], "name": ["Ada", "Alan"]})
    >>> query = "SELECT name, SUM(amount) AS total FROM orders AS o JOIN customers AS c ON o.customer = c.id GROUP BY 1"
    >>> sooner.sql(query, {"orders": orders, "customers": customers}).final()["total"]["Ada"].value
    40
    """
    asked, terms = asked_in(query), Terms(algorithm, memory, partitions, workers, spill_dir)
    if isinstance(asked, Statement) and len(asked.tables) == 1 and algorithm != "auto":
        raise InvalidJoin(f"algorithm={algorithm!r} is for joins, and the query reads one table; leave it out.")
    given_tables = GivenTables(tables, _scopes_of_caller(), replacements)
    leaves = list(tables_in(asked))
    require_streams_once([given_tables.of(table) for table in leaves], [table.alias for table in leaves])
    terms = terms.shared_by(selects_in(asked))
    given = {"until": until, "seconds": seconds, "sampling": sampling, "total_rows": total_rows}
    if not isinstance(asked, Statement) or not asked.is_grouped:
        _require_no_limits(given, is_grouped=False)
        return _rows(asked, given_tables, terms)
    sampled, how = _sampling_of(sampling)
    wishes = EstimateTerms(Limits(confidence, until, seconds), how, _sizes(total_rows, asked), seed, sampled)
    with _opened(asked, given_tables, terms) as (sources, joining):
        found = estimates_of_query(asked, joining, sources, terms, wishes)
        if found is not None:
            return found
        _require_no_limits(given, is_grouped=True)
        rows, grouping = _grouped(asked, joining, sources, terms)
        return LiveGroups(rows, grouping, WHY_NO_SAMPLE)


def _rows(asked: Statement | UnionOf, tables: GivenTables, terms: Terms) -> Rows:
    """All rows of the answer; figures of groups when they are exact."""
    if isinstance(asked, UnionOf):
        union = UnionOfRows([_rows(part, tables, terms) for part in asked.parts])
        order = sortings_by_name(asked.ending, union.schema.names)
        return _ended(union, asked.ending, order, len(union.schema), terms)
    with _opened(asked, tables, terms) as (sources, joining):
        if asked.is_grouped:
            return GroupedRows(*_grouped(asked, joining, sources, terms))
        shown = outputs_of(asked.items, joining, _everything(joining))
        order, outputs = sortings_of(asked.ending, shown)
        wanted = RowsWanted(joining, outputs)
        rows = joined_rows(joining, wanted, sources, terms)
        selection = wanted.selection(rows.schema)
        rows.through(selection.schema, selection.of)
        return _ended(rows, asked.ending, order, len(shown), terms)


def _ended(rows: Rows, ending: Ending, order: tuple[Sorting, ...], shown: int, terms: Terms) -> Rows:
    memory_bytes = bytes_for_groups(usable_memory(terms.memory))
    return RowEnding(shown, ending.distinct, order, ending.limit, ending.offset, memory_bytes).through(rows)


@contextmanager
def _opened(statement: Statement, tables: GivenTables, terms: Terms) -> Iterator[tuple[list[Source], Joining]]:
    """The tables of a statement; those that it asks for itself are queries, which run when they are read."""
    things = [
        tables.of(table) if table.of is None else Subselect(table.alias, _rows(table.of, tables, terms))
        for table in statement.tables
    ]
    with opened(things, [table.alias for table in statement.tables]) as sources:
        yield sources, joining_of(statement, [source.schema for source in sources])


def _grouped(statement: Statement, joining: Joining, sources: Sequence[Source], terms: Terms) -> tuple[Query, Grouping]:
    """The joined rows that count, and what is asked of their groups."""
    wanted = rows_to_group(statement, joining)
    memory_bytes = usable_memory(terms.memory)
    rows = joined_rows(joining, wanted, sources, replace(terms, memory=bytes_of_join(memory_bytes)))
    asked = Asked(statement, joining, wanted.column)
    question = asked.question(joining.conditions_of(None), rows.schema)
    workings = group_workings_of(question, rows.schema)
    answering = Answering(answer_of(statement, asked), workings.by, question.aggregates, rows.schema)
    return rows, Grouping(workings, answering, memory_bytes)


def _everything(joining: Joining) -> dict[str, Node]:
    """What * stands for: the columns that a join of these tables gives, by the names that it gives them."""
    if len(joining.hows) != len(SIDES):
        return all_columns(joining)
    columns = joined_columns(two_way_plan(joining, "auto"), joining.scope.schemas)
    return {
        name: Column(name) if one.shared else Column(one.name, joining.scope.tables[one.side].alias)
        for name, one in columns.items()
    }


def _scopes_of_caller() -> list[Mapping[str, object]]:
    """The variables of whoever called `sql`."""
    frame = sys._getframe(2)
    return [frame.f_locals, frame.f_globals]


def _sizes(given: object, statement: Statement) -> list[int | None] | None:
    if given is None:
        return None
    names = [table.name for table in statement.tables]
    if not isinstance(given, Mapping) or given.keys() - set(names):
        raise InvalidJoin(f"total_rows={given!r} must say how many rows {' or '.join(names)} has, by name.")
    return [given.get(name) for name in names]


def _sampling_of(given: object) -> tuple[str | None, Sampling | None]:
    """Which table is sampled, if that is said, and how."""
    if not isinstance(given, Mapping):
        return None, given  # type: ignore[return-value]  # refused where it is used
    if len(given) != 1:
        raise InvalidJoin(f"sampling={dict(given)!r} must name the one table that is sampled, such as {{'a': 'rows'}}.")
    return next(iter(given.items()))


def _require_no_limits(given: Mapping[str, object], *, is_grouped: bool) -> None:
    for name, value in given.items():
        if value is None:
            continue
        if is_grouped:
            raise InvalidJoin(f"{name}={value!r} is for estimates, and these figures are none; stop when you like.")
        raise InvalidJoin(f"{name}={value!r} is for aggregates, and the query has none; stop it, or take head(n).")
