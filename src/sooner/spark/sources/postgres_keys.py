"""Ranges of keys: how a table is cut into batches and tasks, by values that can be named again.

A range is `low < key <= high`, so all rows of equal key are in one range: ties are never split and never lost. All
comparisons are made by the server, in the order of the key's own type and collation, the only one that its index knows.
Keys are text here, whatever their type.

Each range says how many rows it had when it was planned, and the task that reads it compares: rows that were added,
deleted or moved since then would make a replay differ from what was read before, so they are refused.

Not covered: rows that were committed late, with a key below those that have been read. They are not part of the input.
"""

from dataclasses import dataclass

from psycopg import sql

from sooner.errors import InvalidCall
from sooner.spark.sources.postgres_connection import Connection, relation_name
from sooner.spark.sources.postgres_types import KEY_TYPES


@dataclass(frozen=True)
class Relation:
    """A table, or a query in its place, with its key."""

    table: str | None
    schema: str | None
    query: str | None
    key: str

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.table is None:
            return "the query"
        return self.table if self.schema is None else f"{self.schema}.{self.table}"

    @property
    def source(self) -> sql.Composable:
        """What stands after FROM."""
        if self.table is not None:
            return relation_name(self.table, self.schema)
        assert self.query is not None
        # On lines of its own, so that a comment at the end of the query does not take the bracket with it.
        return sql.SQL("(\n{}\n) AS input").format(sql.SQL(self.query))


@dataclass(frozen=True)
class KeyRange:
    """The rows with `low < key <= high`; no `low` means from the first row on."""

    low: str | None
    high: str
    rows: int

    def condition(self, relation: Relation, key_type: str) -> sql.Composed:
        """What stands after WHERE."""
        return _within(relation, key_type, self.low, self.high)


def last_key(connection: Connection, relation: Relation) -> str | None:
    """The greatest key at this moment, None for an empty input. Rows without a key are refused: none may be lost."""
    key, source = sql.Identifier(relation.key), relation.source
    without = sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE {} IS NULL)").format(source, key)
    if _row(connection, without) == (True,):
        raise InvalidCall(
            f"{relation.name} has rows whose key {relation.key!r} is null, which no range of keys holds; "
            "give another key, or a query that leaves them out or gives them a key"
        )
    # Cast outside: an ORDER BY beside the cast would mean its result, and sort numbers as text.
    greatest = sql.SQL(
        "SELECT key::text FROM (SELECT {key} AS key FROM {source} ORDER BY {key} DESC LIMIT 1) AS greatest"
    ).format(key=key, source=source)
    row = _row(connection, greatest)
    return None if row is None else str(row[0])


def next_ranges(
    connection: Connection, relation: Relation, key_type: str, low: str | None, last: str, rows: int, tasks: int
) -> list[KeyRange]:
    """The next `rows` rows after `low`, and those that tie with the last of them, in at most `tasks` ranges."""
    statement = sql.SQL(
        """
        WITH batch AS (
            SELECT {key} AS key FROM {source} WHERE {within} ORDER BY {key} FETCH FIRST {rows} ROWS WITH TIES
        ), counted AS (
            SELECT key, sum(count(*)) OVER (ORDER BY key) AS up_to FROM batch GROUP BY key
        ), shares AS (
            SELECT key, up_to, ceil(up_to * {tasks} / (SELECT count(*) FROM batch)) AS share FROM counted
        )
        SELECT DISTINCT ON (share) key::text, up_to::int8 FROM shares ORDER BY share, up_to DESC
        """
    ).format(
        key=sql.Identifier(relation.key),
        source=relation.source,
        within=_within(relation, key_type, low, last),
        rows=sql.Literal(rows),
        tasks=sql.Literal(tasks),
    )
    ranges, before = [], 0
    for high, up_to in connection.execute(statement):
        assert isinstance(high, str)
        assert isinstance(up_to, int)
        ranges.append(KeyRange(low, high, up_to - before))
        low, before = high, up_to
    return ranges


def reaches(connection: Connection, key_type: str, high: str, last: str) -> bool:
    """Whether no key up to `last` comes after `high`, as the server sees it."""
    statement = sql.SQL("SELECT {} >= {}").format(_value(high, key_type), _value(last, key_type))
    return high == last or _row(connection, statement) == (True,)


def _within(relation: Relation, key_type: str, low: str | None, high: str) -> sql.Composed:
    key = sql.Identifier(relation.key)
    upper = sql.SQL("{} <= {}").format(key, _value(high, key_type))
    if low is None:
        return upper
    return sql.SQL("{} > {} AND {}").format(key, _value(low, key_type), upper)


def _value(text: str, key_type: str) -> sql.Composed:
    assert key_type in KEY_TYPES  # it becomes part of a statement
    return sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(key_type))


def _row(connection: Connection, statement: sql.Composed) -> tuple[object, ...] | None:
    return connection.execute(statement).fetchone()
