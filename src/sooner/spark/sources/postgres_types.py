"""PostgreSQL's types beside Arrow's: which columns can be read, and which can be a key.

Not covered: arrays, JSON, ranges, intervals and types of extensions. Cast them in a query, for example to text.
"""

from collections.abc import Sequence

import psycopg
import pyarrow as pa

from sooner.errors import InvalidCall

# By the name of the type. Spark has no UUID; its text is what other tools show.
_ARROW = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "uuid": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "bytea": pa.binary(),
}

# Types whose order is total, and whose text says the value exactly. A varchar is compared as text.
KEY_TYPES = {
    **{name: name for name in ("int2", "int4", "int8", "uuid", "date", "timestamp", "timestamptz", "text")},
    "varchar": "text",
}

# As Spark's own JDBC source has it: PostgreSQL's numeric without a precision has no limit, Spark's decimal has.
_UNLIMITED_NUMERIC = pa.decimal128(38, 18)
_MOST_DIGITS = 38


def arrow_columns(columns: Sequence[psycopg.Column], name: str) -> pa.Schema:
    """The columns of a result in Arrow's types."""
    if not columns:
        raise InvalidCall(f"{name} has no columns; give a table or query that has some")
    return pa.schema([pa.field(column.name, _arrow_type(column, name)) for column in columns])


def key_type(columns: Sequence[psycopg.Column], key: str, name: str) -> str:
    """The type to which the text of a key is cast when it is compared."""
    found = [column for column in columns if column.name == key]
    if not found:
        names = ", ".join(column.name for column in columns)
        raise InvalidCall(f"{name}: there is no key column {key!r}; there are {names}")
    if len(found) > 1:
        raise InvalidCall(f"{name}: there are {len(found)} columns {key!r}; rename all but one")
    kind = _type_name(found[0])
    if kind not in KEY_TYPES:
        raise InvalidCall(f"{name}: the key {key!r} is {kind}; a key is one of {', '.join(KEY_TYPES)}")
    return KEY_TYPES[kind]


def _arrow_type(column: psycopg.Column, name: str) -> pa.DataType:
    kind = _type_name(column)
    if kind == "numeric":
        return _decimal(column, name)
    if kind not in _ARROW:
        raise InvalidCall(
            f"{name}: column {column.name!r} is {kind}, which cannot be read; leave it out or cast it in a query, "
            f"as in query='SELECT {column.name}::text ...'"
        )
    return _ARROW[kind]


def _decimal(column: psycopg.Column, name: str) -> pa.DataType:
    precision, scale = column.precision, column.scale
    if precision is None or scale is None:
        return _UNLIMITED_NUMERIC
    if precision > _MOST_DIGITS or not 0 <= scale <= precision:
        raise InvalidCall(
            f"{name}: column {column.name!r} is numeric({precision}, {scale}), and Spark's decimals have at most "
            f"{_MOST_DIGITS} digits; cast it in a query"
        )
    return pa.decimal128(precision, scale)


def _type_name(column: psycopg.Column) -> str:
    found = psycopg.adapters.types.get(column.type_code)
    return found.name if found is not None else f"of a type unknown to psycopg (number {column.type_code})"
