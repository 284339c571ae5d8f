"""`sooner.sql`: a query in SQL over two tables, answered while they are read.

With aggregates it is a `sooner.estimate`, and without them a `sooner.join`.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sooner.asked import equi_join
from sooner.errors import InvalidJoin
from sooner.estimation.formulas import Formula
from sooner.estimation.question import Aggregate, Question
from sooner.expressions.checking import Typed, condition, typed
from sooner.expressions.tree import Coalesce, Column, Node, conjuncts
from sooner.local.arguments import Settings, settings_of
from sooner.local.estimate import Estimates, Limits, estimates_of
from sooner.local.query import Query
from sooner.local.selection import FilteredSource, Selection
from sooner.named_algorithms import Algorithm, AlgorithmName
from sooner.operators.folding.join import require_sampling
from sooner.operators.folding.plan import joined_columns
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.queries.naming import Place, Scope, group_of, nearest_of, require_distinct, scope_of
from sooner.queries.reading import statement_of
from sooner.queries.statement import Item, Star, Statement, TableName
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
    algorithm: AlgorithmName | Algorithm | None = None,
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
    with opened(left, right, (statement.tables[LEFT].alias, statement.tables[RIGHT].alias)) as sources:
        scope, where = scope_of(statement, [source.schema for source in sources])
        left_on, right_on = ([key[side] for key in scope.keys] for side in SIDES)
        usual: AlgorithmName = "pr_join" if statement.aggregates else "rpj"
        plan = equi_join(None, left_on, right_on, None, algorithm or usual, statement.how)  # type: ignore[arg-type]
        settings = settings_of(plan.algorithm, memory, partitions, workers, spill_dir)
        if not statement.aggregates:
            _require_no_limits(until, seconds)
            return _Rows(statement, scope, where, plan).query(sources, settings)
        require_sampling(plan.algorithm)
        limits, total = Limits(confidence, until, seconds), _sizes(total_rows, statement)
        question = _question(statement, scope, where, plan)
        return estimates_of(sources, plan, question, limits, settings, sampling, total, seed)


def _found(table: TableName, tables: object) -> object:
    if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
        raise InvalidJoin("tables= must be a dict of what the names in FROM mean, such as {'orders': orders}.")
    name = nearest_of(table.name, list(tables))
    if name is None:
        near = difflib.get_close_matches(table.name, tables, n=1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        raise InvalidJoin(f"FROM has {table.name}, and tables= has no such name; {hint} are {', '.join(tables)}.")
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


# With aggregates


def _question(statement: Statement, scope: Scope, where: Node | None, plan: TwoWayPlan) -> Question:
    """Of the columns of the joined row, by their names there."""
    schemas = scope.schemas
    joined = plan.output(schemas)
    names: dict[Place, Node] = {}
    for name, column in joined_columns(plan, schemas).items():
        sides = (*SIDES, None) if column.shared else (column.side,)
        names |= {Place(side, column.name): Column(name) for side in sides}
    groups: list[tuple[str, Node]] = []
    items = [one for one in statement.items if isinstance(one, Item)]
    if len(items) < len(statement.items):
        raise InvalidJoin("SELECT has * beside aggregates; name the columns that are grouped by.")
    nodes = {id(one): scope.resolved(one.node, "SELECT", names.__getitem__) for one in items if not one.aggregated}
    for group in statement.groups:
        node = scope.resolved(group_of(group, statement, scope), "GROUP BY", names.__getitem__)
        typed(node, joined, "GROUP BY")
        taken = [name for name, _ in groups]  # one expression may be there twice, under two names
        named = [one.name for one in items if not one.aggregated and nodes[id(one)] == node and one.name not in taken]
        groups.append((named[0] if named else group.text, node))
    for one in items:
        if not one.aggregated and nodes[id(one)] not in [node for _, node in groups]:
            raise InvalidJoin(f"SELECT has {one.text}, which is neither grouped by nor aggregated; add it to GROUP BY.")
    aggregates = []
    for one_of in statement.aggregates:
        of = None if one_of.of is None else scope.resolved(one_of.of, "SELECT", names.__getitem__)
        if of is not None:
            typed(of, joined, "SELECT")
        aggregates.append(Aggregate(one_of.name, one_of.function, of))
    if where is not None:
        where = condition(scope.resolved(where, "WHERE", names.__getitem__), joined, "WHERE").node
    shown = tuple(Formula(one.name, one.node) for one in items if one.aggregated)
    require_distinct([*(name for name, _ in groups), *(one.name for one in shown)])
    return Question(tuple(aggregates), tuple(groups), where, shown)


# Without


class _Rows:
    """Columns have the names of their tables in front as long as they are joined, so that none is like another."""

    def __init__(self, statement: Statement, scope: Scope, where: Node | None, plan: TwoWayPlan) -> None:
        self._scope = scope
        self._how = statement.how
        self._plan = plan
        self._side_of_keys = None if statement.how == "full" else RIGHT if statement.how == "right" else LEFT
        self._outputs = [output for item in statement.items for output in self._of_item(item)]
        require_distinct([name for name, _ in self._outputs])
        self._pushed: tuple[list[Node], list[Node]] = ([], [])
        self._rest: list[Node] = []
        for one in [] if where is None else conjuncts(where):
            side = self._side_of(one)
            (self._rest if side is None else self._pushed[side]).append(one)

    def query(self, sources: Sequence[Source], settings: Settings) -> Query:
        inputs = [self._input(side, sources[side]) for side in SIDES]
        left_on, right_on = (tuple(self._name(side, key[side]) for key in self._scope.keys) for side in SIDES)
        query = Query(replace(self._plan, left_on=left_on, right_on=right_on), inputs, settings)
        filters = tuple(condition(self._joined(one, "WHERE"), query.schema, "WHERE") for one in self._rest)
        outputs: list[tuple[str, str | Typed]] = []
        for name, node in self._outputs:
            of = self._joined(node, "SELECT")
            outputs.append((name, of.name if isinstance(of, Column) else typed(of, query.schema, "SELECT")))
        selection = Selection(filters, tuple(outputs), query.schema)
        return query.through(selection.schema, selection.of)

    def _of_item(self, item: Item | Star) -> list[tuple[str, Node]]:
        """Names, and what is called so."""
        if isinstance(item, Item):
            return [(item.name, item.node)]
        schemas, aliases = self._scope.schemas, [table.alias for table in self._scope.tables]
        if item.table is not None:
            side = self._scope.side(item.table, f"SELECT has {item.table}.*")
            return [(name, Column(name, aliases[side])) for name in schemas[side].names]
        return [
            (name, Column(name) if (name, name) in self._scope.keys else Column(one.name, aliases[one.side]))
            for name, one in joined_columns(self._plan, schemas).items()
        ]

    def _side_of(self, one: Node) -> int | None:
        """On which side a condition can be asked before rows are joined, if on any."""
        places = self._scope.places(one, "WHERE")
        sides = {self._side_of_keys if place.side is None else place.side for place in places}
        side = sides.pop() if len(sides) == 1 else None
        asked_before = {"inner": SIDES, "right": (RIGHT,), "full": ()}.get(self._how, (LEFT,))
        return side if side in asked_before else None

    def _input(self, side: int, source: Source) -> FilteredSource:
        here = [(one, "SELECT") for _, one in self._outputs] + [(one, "WHERE") for one in self._rest]
        places = {place for node, part in here for place in self._scope.places(node, part)}
        needed = {place.name for place in places if place.side == side}
        needed |= {key[side] for key in self._scope.keys}
        schema = self._scope.schemas[side]
        filters = [
            condition(self._scope.resolved(one, "WHERE", lambda place: Column(place.name)), schema, "WHERE")
            for one in self._pushed[side]
        ]
        names = [(name, self._name(side, name)) for name in schema.names if name in needed]
        return FilteredSource(source, filters, names)

    def _joined(self, node: Node, part: str) -> Node:
        return self._scope.resolved(node, part, self._in_joined)

    def _in_joined(self, place: Place) -> Node:
        if place.side == RIGHT and self._how in ("semi", "anti"):
            table = self._scope.tables[RIGHT].alias
            raise InvalidJoin(
                f"The query asks for {table}.{place.name}, but {self._how.upper()} JOIN gives those of the left alone."
            )
        side = self._side_of_keys if place.side is None else place.side
        if side is None:
            return Coalesce(tuple(Column(self._name(side, place.name)) for side in SIDES))
        return Column(self._name(side, place.name))

    def _name(self, side: int, name: str) -> str:
        return f"{self._scope.tables[side].alias}.{name}"
