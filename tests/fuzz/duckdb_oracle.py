"""What DuckDB says: the values of expressions row by row, and aggregates over them in exact arithmetic."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

Rows = list[tuple[Any, ...]]


class Refused(Exception):  # noqa: N818 - DuckDB has no answer either
    """By DuckDB: an overflow, or types that it does not compare."""


@cache
def _connection() -> Any:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET ieee_floating_point_ops = false")  # a number by zero is null, as SQL had it
    return connection


def rows_of(query: str, tables: Mapping[str, pa.Table]) -> Rows:
    connection = _connection()
    for name, table in tables.items():
        connection.register(name, _in_doubles(table))
    try:
        found: Rows = connection.execute(query).fetchall()
    except duckdb.Error as error:
        raise Refused(str(error)) from error
    finally:
        for name in tables:
            connection.unregister(name)
    return found


def _in_doubles(table: pa.Table) -> pa.Table:
    """Floats of all widths are doubles in expressions here; DuckDB would round to those of 32 bits on the way."""
    for at, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.float64()))
    return table


def same(found: Any, expected: Any, size: float = 0.0) -> bool:
    """Whether two values are: exactly, but for the last bits of floats. `size` is that of what was summed."""
    if found is None or expected is None or isinstance(expected, bool) or isinstance(found, bool):
        return found is expected or found == expected
    if isinstance(found, float) or isinstance(expected, float):
        if not isinstance(found, float | int | Decimal) or not isinstance(expected, float | int | Decimal):
            return False
        a, b = float(found), float(expected)
        if not (math.isfinite(a) and math.isfinite(b)):
            overflowed = math.isinf(size)  # on the way, as doubles do
            return overflowed or a == b or (math.isnan(a) and math.isnan(b))
        return abs(a - b) <= 1e-9 * size or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300)
    return (type(found) is type(expected) and found == expected) or _number(found) == _number(expected) is not None


def _number(value: Any) -> Any:
    return value if isinstance(value, int | Decimal) else None


def group_key(key: Sequence[Any]) -> tuple[Any, ...]:
    """As SQL groups: NaN with NaN, and -0.0 with 0.0."""
    return tuple(("NaN" if math.isnan(value) else value + 0.0) if isinstance(value, float) else value for value in key)


def grouped(rows: Rows, n_groups: int) -> dict[tuple[Any, ...], Rows]:
    """Rows whose first columns are those that are grouped by, without them."""
    groups: dict[tuple[Any, ...], Rows] = defaultdict(list)
    for row in rows:
        groups[group_key(row[:n_groups])].append(row[n_groups:])
    if not n_groups and not groups:
        groups[()] = []
    return groups


def aggregate(function: str, values: Sequence[Any]) -> tuple[Any, float]:
    """Of the values of one group, None being null, and how large what was added up is."""
    known = [value for value in values if value is not None]
    if function == "count":
        return len(known), 0.0
    if not known or (function in ("variance", "stddev") and len(known) < 2):
        return None, 0.0
    floats = any(isinstance(value, float) for value in known)
    if floats and not all(math.isfinite(float(value)) for value in known):
        total = sum(map(float, known))
        return (total if function in ("sum", "avg") else math.nan), 0.0
    exact = [Fraction(value) for value in known]
    total_exact = sum(exact)
    size = _as_float(sum(map(abs, exact)))
    if function == "sum":
        return (_as_float(total_exact) if floats else total_exact), size if floats else 0.0
    mean = total_exact / len(known)
    if function == "avg":
        return _as_float(mean), size / len(known) if floats else 0.0
    variance = sum((value - mean) ** 2 for value in exact) / (len(known) - 1)
    slack = _as_float(sum(value**2 for value in exact) / len(known)) if floats else 0.0
    if function == "variance":
        return _as_float(variance), slack
    return math.sqrt(_as_float(variance)), math.sqrt(slack) if floats else 0.0


def _as_float(number: Fraction | int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
