"""What a source of ours is to read, by the plan that Java has made of a DataFrame, after Spark's own simplifications.

Without Java, as under Connect, there is the plan as the program has made it, in which less is simple: see
`plans_of_connect`.
"""

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sooner.spark.interop.streams import of_java
from sooner.spark.shuffle.conditions import Condition
from sooner.spark.sources.readings import MOST_CHOICES, SOURCES, NotOurs, Reading, with_columns

_COMPARISONS: Final = {
    "EqualTo": ("=", "="),  # and the same with its sides exchanged
    "LessThan": ("<", ">"),
    "LessThanOrEqual": ("<=", ">="),
    "GreaterThan": (">", "<"),
    "GreaterThanOrEqual": (">=", "<="),
}
_COMPARED_TYPES: Final = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "string", "boolean", "date", "timestamp"),
    "timestamp_ntz",
)


def reading_by_java(rows: DataFrame) -> Reading:
    """How the source of these rows would read them."""
    java: Any = rows.sparkSession._jsparkSession
    plan = java.sessionState().optimizer().execute(rows._jdf.queryExecution().analyzed())
    return _read(plan, [_id(column) for column in _each(plan.output())], [])


def _read(plan: Any, wanted: list[int], conditions: list[Condition]) -> Reading:
    """`wanted` are the numbers that Spark has given to columns; so are the columns in conditions."""
    kind = plan.getClass().getSimpleName()
    if kind == "Project":
        origins = dict(map(_origin, _each(plan.projectList())))
        renamed = [with_columns(condition, origins.__getitem__) for condition in conditions]
        return _read(plan.child(), [origins[number] for number in wanted], renamed)
    if kind == "Filter":
        return _read(plan.child(), wanted, [*conditions, _condition(plan.condition())])
    source, options = of_java(plan)
    if source in SOURCES:
        names = {_id(column): str(column.name()) for column in _each(plan.output())}
        named = [with_columns(condition, names.__getitem__) for condition in conditions]
        together = reduce(lambda one, other: ["and", one, other], named) if named else None
        schema = StructType.fromJson(json.loads(plan.schema().json()))
        return Reading(source, options, schema, tuple(names[number] for number in wanted), together)
    what = "Spark's own source" if kind.startswith("StreamingRelation") else f"a step of Spark's plan ({kind})"
    raise NotOurs(f"its rows come from {what}")


def _origin(column: Any) -> tuple[int, int]:
    """The number of a column in the result of a selection, and of that which it was before."""
    kind = column.getClass().getSimpleName()
    if kind == "AttributeReference":
        return _id(column), _id(column)
    if kind == "Alias" and column.child().getClass().getSimpleName() == "AttributeReference":
        return _id(column), _id(column.child())
    raise NotOurs(f"its column {column.name()!r} is computed by Spark")


def _condition(expression: Any) -> Condition:
    kind = expression.getClass().getSimpleName()
    match kind:
        case "And" | "Or":
            return [kind.lower(), _condition(expression.left()), _condition(expression.right())]
        case "Not":
            return ["not", _condition(expression.child())]
        case "IsNull":
            return ["is null", _id(_column(expression.child(), expression))]
        case "IsNotNull":
            return ["not", ["is null", _id(_column(expression.child(), expression))]]
        case "In" if expression.list().size() <= MOST_CHOICES:
            choices = [_compared("=", expression.value(), choice, expression) for choice in _each(expression.list())]
            return reduce(lambda one, other: ["or", one, other], choices)
        case "AttributeReference":
            return ["=", _id(expression), "true"]
    if kind in _COMPARISONS:
        straight, exchanged = _COMPARISONS[kind]
        left, right = expression.left(), expression.right()
        if left.getClass().getSimpleName() == "Literal":
            return _compared(exchanged, right, left, expression)
        return _compared(straight, left, right, expression)
    raise _no_condition(expression)


def _compared(comparison: str, column: Any, value: Any, within: Any) -> Condition:
    _column(column, within)
    type_ = str(column.dataType().simpleString())
    is_known = type_ in _COMPARED_TYPES or type_.startswith("decimal(")
    is_value = value.getClass().getSimpleName() == "Literal" and value.dataType().simpleString() == type_
    if not (is_known and is_value) or value.value() is None:
        raise _no_condition(within)
    text = str(value.value())
    if text == "nan" and type_ in ("float", "double"):  # it equals itself, and Arrow does not know that
        raise _no_condition(within)
    return [comparison, _id(column), text.lower() if type_ == "boolean" else text]


def _column(expression: Any, within: Any) -> Any:
    if expression.getClass().getSimpleName() != "AttributeReference":
        raise _no_condition(within)
    return expression


def _no_condition(expression: Any) -> NotOurs:
    return NotOurs(f"Spark filters its rows by {expression.sql()}")


def _id(column: Any) -> int:
    return int(column.exprId().id())


def _each(found: Any) -> Iterator[Any]:
    """The members of a sequence of Scala's."""
    return (found.apply(position) for position in range(found.size()))
