"""`sooner.sql`: a query in SQL over two tables, answered while they are read.

With aggregates it is a `sooner.estimate`, and without them a `sooner.join`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sooner.asked.choosing_algorithm import AskedAlgorithm, Choice, Known, choose
from sooner.asked.joins import equi_join, in_words
from sooner.errors import InvalidJoin
from sooner.local.arguments import Settings, settings_of
from sooner.local.estimate import Estimates, Limits, estimates_of
from sooner.local.filtered import FilteredSource
from sooner.local.join import choice_of, explained
from sooner.local.query import Query
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import joined_columns
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.queries.naming import hint_of, nearest_of, scope_of
from sooner.queries.questions import question_in
from sooner.queries.reading import statement_of
from sooner.queries.rows import RowsWanted
from sooner.queries.statement import Statement, TableName
from sooner.sides import LEFT, RIGHT, SIDES
from sooner.sources.opening import opened
from sooner.sources.sampling import Sampling
from sooner.sources.source import Source


def sql(
    query: str,
    tables: Mapping[str, object],
    *,
    confidence: float = 0.95,
    until: float | str | None = None,
    seconds: float | None = None,
    sampling: Sampling | None = None,
    total_rows: Mapping[str, int] | None = None,
    seed: int = 0,
    algorithm: AskedAlgorithm = "auto",
    memory: int | str | None = "1GB",
    partitions: int | None = None,
    workers: int | None = None,
    spill_dir: str | Path | None = None,
) -> Estimates | Query:
    """Answer a query in SQL over two tables while they are read.

    query: SELECT ... FROM a JOIN b ON a.k = b.k WHERE ... GROUP BY ..., in the dialect of DuckDB. With COUNT, SUM, AVG,
        VARIANCE or STDDEV, or arithmetic over them, it is estimated as by `sooner.estimate`; else rows come as from
        `sooner.join`, and the join may be a LEFT, RIGHT, FULL, SEMI or ANTI one.
    tables: what the names in FROM mean: anything that `sooner.join` takes.
    total_rows: how many rows tables have that do not know it, by their names.
    confidence, until, seconds, sampling, seed: as for `sooner.estimate`, for queries with aggregates.
    algorithm, memory, partitions, workers, spill_dir: as for `sooner.estimate` and `sooner.join`.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"id": [1, 2], "name": ["Ada", "Alan"]})
    >>> query = "SELECT name, SUM(amount) AS total FROM orders AS o JOIN customers AS c ON o.customer = c.id GROUP BY 1"
    >>> sooner.sql(query, {"orders": orders, "customers": customers}).final()["total"]["Ada"].value
    40
    """
    statement = statement_of(query)
    left, right = (_found(table, tables) for table in statement.tables)
    with opened((left, right), [table.alias for table in statement.tables]) as sources:
        scope, where = scope_of(statement, [source.schema for source in sources])
        left_on, right_on = ([key[side] for key in scope.keys] for side in SIDES)
        choice = choose(algorithm, Known(is_estimate=bool(statement.aggregates)))
        plan = equi_join(None, left_on, right_on, None, choice.algorithm, statement.how)  # type: ignore[arg-type]
        settings = partial(settings_of, memory=memory, partitions=partitions, workers=workers, spill_dir=spill_dir)
        columns = partial(joined_columns, plan, scope.schemas)
        if not statement.aggregates:
            _require_no_limits(until, seconds)
            wanted = RowsWanted(statement, scope, where, columns)
            inputs = [FilteredSource(sources[side], *wanted.of_input(side)) for side in SIDES]
            choice = choice_of(algorithm, inputs, [one.resting_rows for one in inputs], memory)
            plan = replace(plan, algorithm=choice.algorithm)
            return _query(wanted, inputs, plan, choice, settings(choice.algorithm))
        require_sampling(plan.algorithm)
        limits, total = Limits(confidence, until, seconds), _sizes(total_rows, statement)
        question = question_in(statement, scope, where, plan.output(scope.schemas), columns())
        room, notes = settings(plan.algorithm), in_words(plan, choice)
        return estimates_of(sources, plan, question, limits, room, sampling, total, seed, notes)


def _found(table: TableName, tables: object) -> object:
    if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
        raise InvalidJoin("tables= must be a dict of what the names in FROM mean, such as {'orders': orders}.")
    name = nearest_of(table.name, list(tables))
    if name is None:
        there_are = hint_of(table.name, list(tables))
        raise InvalidJoin(f"FROM has {table.name}, and tables= has no such name; {there_are}.")
    return tables[name]


def _sizes(given: object, statement: Statement) -> list[int | None] | None:
    if given is None:
        return None
    names = [table.name for table in statement.tables]
    if not isinstance(given, Mapping) or given.keys() - set(names):
        raise InvalidJoin(f"total_rows={given!r} must say how many rows {' or '.join(names)} has, by name.")
    return [given.get(name) for name in names]


def _require_no_limits(until: object, seconds: object) -> None:
    for name, value in (("until", until), ("seconds", seconds)):
        if value is not None:
            raise InvalidJoin(f"{name}={value!r} is for aggregates, and the query has none; stop it, or take head(n).")


def _query(wanted: RowsWanted, inputs: Sequence[Source], plan: TwoWayPlan, choice: Choice, settings: Settings) -> Query:
    notes = explained(plan, choice, settings)
    query = Query(replace(plan, left_on=wanted.keys(LEFT), right_on=wanted.keys(RIGHT)), inputs, settings, notes=notes)
    selection = wanted.selection(query.schema)
    return query.through(selection.schema, selection.of)
