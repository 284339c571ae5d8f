"""The tables a batch needs in PostgreSQL: the target, a staging table, and the book of batches.

All three are in one schema. The book, `sooner_batches`, has one row for each query and target: the last batch written.
The staging table holds the rows of a batch until they move to the target, and is made anew for each batch. So the user
must have the right to create tables there.
"""

import hashlib
from dataclasses import dataclass

from psycopg import sql
from pyspark.sql import types
from pyspark.sql.types import DataType, StructType

from sooner.errors import InvalidCall
from sooner.spark.sinks.batches import IfMissing
from sooner.spark.sources.postgres_connection import Connection, relation_name

BOOK = "sooner_batches"
# Marks rows of the staging table with the attempt that wrote them.
ATTEMPT = "sooner attempt"

_TYPES: dict[type[DataType], str] = {
    types.ByteType: "int2",
    types.ShortType: "int2",
    types.IntegerType: "int4",
    types.LongType: "int8",
    types.FloatType: "float4",
    types.DoubleType: "float8",
    types.StringType: "text",
    types.BooleanType: "bool",
    types.DateType: "date",
    types.TimestampType: "timestamptz",
    types.TimestampNTZType: "timestamp",
    types.BinaryType: "bytea",
}


@dataclass(frozen=True)
class Tables:
    """The names of the three tables for one query and target."""

    schema: str | None
    target: str
    query: str

    @property
    def target_name(self) -> sql.Identifier:
        """The table that the user named."""
        return relation_name(self.target, self.schema)

    @property
    def staging_name(self) -> sql.Identifier:
        """One for each query and target, so that what a crash left behind is found and removed."""
        mark = hashlib.sha256(f"{self.query}\0{self.target}".encode()).hexdigest()[:16]
        return relation_name(f"sooner_staging_{mark}", self.schema)

    @property
    def book_name(self) -> sql.Identifier:
        """The book of batches."""
        return relation_name(BOOK, self.schema)


def column_types(schema: StructType) -> dict[str, str]:
    """PostgreSQL's type of each column."""
    return {field.name: _type(field.name, field.dataType) for field in schema}


def prepare(connection: Connection, tables: Tables, columns: dict[str, str], if_missing: IfMissing) -> None:
    """Make the book and, if it may be made, the target; check that the target has the columns."""
    # Two queries that start together would both find that there is no book.
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('sooner'))")
    connection.execute(
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} (query text, target text, batch int8 NOT NULL, "
            "written_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (query, target))"
        ).format(tables.book_name)
    )
    present = _present_columns(connection, tables.target_name)
    if present is None:
        if if_missing == "refuse":
            raise InvalidCall(f"there is no table {tables.target!r}; create it, or let if_missing be 'create'")
        definitions = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(columns[name])) for name in columns]
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(tables.target_name, sql.SQL(", ").join(definitions)))
    elif absent := [name for name in columns if name not in present]:
        raise InvalidCall(
            f"table {tables.target!r} has no column {absent[0]!r}; it has {', '.join(present)}: "
            "rename the column of the DataFrame, or add one to the table"
        )


def make_staging(connection: Connection, tables: Tables, columns: dict[str, str]) -> None:
    """An empty staging table with the target's own types: what does not fit there is refused here."""
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(tables.staging_name))
    connection.execute(
        sql.SQL("CREATE UNLOGGED TABLE {} AS SELECT ''::text AS {}, {} FROM {} WITH NO DATA").format(
            tables.staging_name, sql.Identifier(ATTEMPT), _names(columns), tables.target_name
        )
    )


def is_written(connection: Connection, tables: Tables, batch_id: int) -> bool:
    """Whether the book says that this batch was written."""
    statement = sql.SQL("SELECT FROM {} WHERE query = {} AND target = {} AND batch >= {}")
    return connection.execute(statement.format(*_entry(tables, batch_id))).fetchone() is not None


def record(connection: Connection, tables: Tables, batch_id: int) -> bool:
    """Write the batch into the book; False if it was there. The row stays locked until the transaction ends."""
    statement = sql.SQL(
        "INSERT INTO {} AS book (query, target, batch) VALUES ({}, {}, {}) ON CONFLICT (query, target) "
        "DO UPDATE SET batch = excluded.batch, written_at = now() WHERE book.batch < excluded.batch"
    )
    return connection.execute(statement.format(*_entry(tables, batch_id))).rowcount == 1


def move(connection: Connection, tables: Tables, columns: dict[str, str], attempts: list[str]) -> int:
    """Move the rows of these attempts to the target and remove the staging table; the number of rows moved."""
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {} = ANY({}::text[])").format(
        tables.target_name,
        _names(columns),
        _names(columns),
        tables.staging_name,
        sql.Identifier(ATTEMPT),
        sql.Literal(attempts),
    )
    rows = connection.execute(statement).rowcount
    connection.execute(sql.SQL("DROP TABLE {}").format(tables.staging_name))
    return rows


def _entry(tables: Tables, batch_id: int) -> tuple[sql.Composable, ...]:
    """The book and an entry. As literals: beside parameters, a `%` in a name would count as one of them."""
    return tables.book_name, sql.Literal(tables.query), sql.Literal(tables.target), sql.Literal(batch_id)


def _names(columns: dict[str, str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _present_columns(connection: Connection, table: sql.Identifier) -> list[str] | None:
    found = connection.execute("SELECT to_regclass(%s)", (table.as_string(connection),)).fetchone()
    if found == (None,):
        return None
    description = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(table)).description
    return [column.name for column in description or ()]


def _type(name: str, kind: DataType) -> str:
    if isinstance(kind, types.DecimalType):
        return f"numeric({kind.precision}, {kind.scale})"
    found = _TYPES.get(type(kind))
    if found is None:
        raise InvalidCall(
            f"column {name!r} is {kind.simpleString()}, which has no type in PostgreSQL; drop it, or make it text "
            "(pyspark.sql.functions.to_json)"
        )
    return found
