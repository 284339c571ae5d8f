"""Talk to PostgreSQL: connections whose text formats are known, and names that are quoted by the driver.

Passwords: give them in the connection string, or better in PGPASSWORD, a password file or a service file of every
machine that connects. Spark hides the option `url`; no message, offset or progress of ours holds any part of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import psycopg
from psycopg import sql

from sooner.errors import InvalidCall, SoonerError

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

# Values travel as text: it must not depend on the settings of a server, a database or a user.
_SETTINGS = {"client_encoding": "UTF8", "datestyle": "ISO, YMD", "timezone": "UTC", "extra_float_digits": "3"}


@contextmanager
def connected(conninfo: str, failure: type[SoonerError]) -> Iterator[Connection]:
    """A connection for one transaction; what the server says about it becomes a `failure`."""
    try:
        with psycopg.connect(conninfo) as connection:
            for setting, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
            yield connection
    except psycopg.Error as error:
        raise failure(f"PostgreSQL: {_sentence(error)}") from error


def relation_name(table: str, schema: str | None) -> sql.Identifier:
    """A table, its names exactly as PostgreSQL holds them: upper case, dots and spaces belong to the name."""
    return sql.Identifier(table) if schema is None else sql.Identifier(schema, table)


def require_conninfo(conninfo: str) -> None:
    """Refuse a connection string that cannot be read, without showing it: there may be a password in it."""
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.Error:
        raise InvalidCall(
            "the connection string of PostgreSQL cannot be read; "
            "give 'host=... dbname=... user=...' or 'postgresql://user@host/dbname'"
        ) from None


def _sentence(error: psycopg.Error) -> str:
    said = error.diag.message_primary or str(error).strip() or type(error).__name__
    return " ".join(filter(None, (said, error.diag.message_hint, error.diag.message_detail)))
