"""What stands between a source of ours and a join, if the source can do it itself: choosing, renaming, simple filters.

It is read from the plan that Spark has made of a DataFrame, after its own simplifications. Whatever else stands there
(a computed column, a watermark, a union) is Spark's, and is said in a few words.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sooner.spark.interop.streams import options_of
from sooner.spark.shuffle.conditions import Condition, columns_of

SOURCES: Final = ("sooner.parquet", "sooner.replay", "sooner.postgres")
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
_MOST_CHOICES: Final = 100  # of an IN


class _NotOurs(Exception):  # noqa: N818
    """Something that only Spark can do."""


@dataclass(frozen=True)
class Reading:
    """A source, and what it is to read: its columns in the order in which they are asked for, and of which rows."""

    source: str
    options: dict[str, str]
    schema: StructType  # of the source
    columns: tuple[str, ...]
    condition: Condition | None

    @property
    def read_columns(self) -> StructType:
        """What has to be read, each column once."""
        wanted = {*self.columns, *columns_of(self.condition)}
        return StructType([field for field in self.schema if field.name in wanted])

    def __str__(self) -> str:
        chosen = f"{self.source}: {', '.join(self.columns)}"
        return chosen if self.condition is None else f"{chosen}, where {_described(self.condition)}"


def reading_of(rows: DataFrame) -> Reading | str:
    """How a source of ours would read these rows; or why it cannot."""
    java: Any = rows.sparkSession._jsparkSession
    plan = java.sessionState().optimizer().execute(rows._jdf.queryExecution().analyzed())
    try:
        return _read(plan, [_id(column) for column in _each(plan.output())], [])
    except _NotOurs as error:
        return str(error)


def _read(plan: Any, wanted: list[int], conditions: list[Condition]) -> Reading:
    """`wanted` are the numbers that Spark has given to columns; so are the columns in conditions."""
    kind = plan.getClass().getSimpleName()
    if kind == "Project":
        origins = dict(map(_origin, _each(plan.projectList())))
        renamed = [_with_columns(condition, origins.__getitem__) for condition in conditions]
        return _read(plan.child(), [origins[number] for number in wanted], renamed)
    if kind == "Filter":
        return _read(plan.child(), wanted, [*conditions, _condition(plan.condition())])
    for source in SOURCES:
        if kind == "StreamingRelationV2" and (options := options_of(plan, source)) is not None:
            names = {_id(column): str(column.name()) for column in _each(plan.output())}
            named = [_with_columns(condition, names.__getitem__) for condition in conditions]
            together = reduce(lambda one, other: ["and", one, other], named) if named else None
            schema = StructType.fromJson(json.loads(plan.schema().json()))
            return Reading(source, options, schema, tuple(names[number] for number in wanted), together)
    what = "Spark's own source" if kind.startswith("StreamingRelation") else f"a step of Spark's plan ({kind})"
    raise _NotOurs(f"its rows come from {what}")


def _origin(column: Any) -> tuple[int, int]:
    """The number of a column in the result of a selection, and of that which it was before."""
    kind = column.getClass().getSimpleName()
    if kind == "AttributeReference":
        return _id(column), _id(column)
    if kind == "Alias" and column.child().getClass().getSimpleName() == "AttributeReference":
        return _id(column), _id(column.child())
    raise _NotOurs(f"its column {column.name()!r} is computed by Spark")


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
        case "In" if expression.list().size() <= _MOST_CHOICES:
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


def _no_condition(expression: Any) -> _NotOurs:
    return _NotOurs(f"Spark filters its rows by {expression.sql()}")


def _with_columns(condition: Condition, name: Callable[[Any], Any]) -> Condition:
    """The same condition, its columns under other names."""
    match condition:
        case [("and" | "or" | "not") as word, *parts]:
            return [word, *(_with_columns(part, name) for part in parts)]
        case [word, column, *value]:
            return [word, name(column), *value]
    raise AssertionError(condition)


def _described(condition: Condition) -> str:
    match condition:
        case ["not", ["is null", column]]:
            return f"{column} is not null"
        case [("and" | "or") as word, one, other]:
            return f"({_described(one)} {word} {_described(other)})"
        case ["not", one]:
            return f"not {_described(one)}"
        case ["is null", column]:
            return f"{column} is null"
        case [comparison, column, value]:
            return f"{column} {comparison} {value}"
    raise AssertionError(condition)


def _id(column: Any) -> int:
    return int(column.exprId().id())


def _each(found: Any) -> Iterator[Any]:
    """The members of a sequence of Scala's."""
    return (found.apply(position) for position in range(found.size()))
