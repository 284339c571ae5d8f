"""Simple conditions on the columns of a source, as plain data that reaches a reader: a `where` before the join.

    ["and", [">", "price", "9.5"], ["not", ["is null", "day"]]]

Values are text, to be read in the type of their column. What a condition means is what Spark means by it: a comparison
with null is neither true nor false, and NaN is greater than any number and equal to itself.
"""

from typing import Any, Final, TypeAlias

import pyarrow as pa

Condition: TypeAlias = list[Any]

COMPARISONS: Final = {"=": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_NUMBERS: Final = (pa.types.is_integer, pa.types.is_date32, pa.types.is_timestamp)  # what Spark has as whole numbers


def columns_of(condition: Condition | None) -> tuple[str, ...]:
    """The columns that a condition looks at."""
    match condition:
        case None:
            return ()
        case [("and" | "or" | "not"), *parts]:
            return tuple(column for part in parts for column in columns_of(part))
        case [_, column, *_]:
            return (column,)
    raise AssertionError(condition)


def holds(condition: Condition, rows: pa.RecordBatch) -> pa.BooleanArray:
    """Whether it holds, for each row; null where that is not known."""
    import pyarrow.compute as pc

    match condition:
        case ["and", one, other]:
            return pc.and_kleene(holds(one, rows), holds(other, rows))
        case ["or", one, other]:
            return pc.or_kleene(holds(one, rows), holds(other, rows))
        case ["not", one]:
            return pc.invert(holds(one, rows))
        case ["is null", column]:
            return rows.column(column).is_null()
        case [comparison, column, value]:
            return _compared(COMPARISONS[comparison], rows.column(column), value)
    raise AssertionError(condition)


def _compared(function: str, column: pa.Array, text: str) -> pa.BooleanArray:
    import pyarrow.compute as pc

    found = pc.call_function(function, [column, _value(text, column.type)])
    if pa.types.is_floating(column.type) and function.startswith("greater"):
        return pc.or_kleene(found, pc.is_nan(column))
    return found


def _value(text: str, type_: pa.DataType) -> pa.Scalar:
    if any(belongs(type_) for belongs in _NUMBERS):
        return pa.scalar(int(text), pa.int32() if pa.types.is_date32(type_) else pa.int64()).cast(type_)
    if pa.types.is_boolean(type_):
        return pa.scalar(text == "true", type_)
    if pa.types.is_floating(type_):
        return pa.scalar(float(text), type_)
    return pa.scalar(text, pa.string()).cast(type_)  # texts, and decimals digit by digit
