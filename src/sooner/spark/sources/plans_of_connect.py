"""What a source of ours is to read, by the plan that a program under Spark Connect has made of a DataFrame.

Nothing is resolved there: columns are names, and what a function means depends on their types. So of filters it is
those that compare a column with a value of its own kind.
"""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from pyspark.sql.types import BooleanType, ByteType, DataType, IntegerType, LongType, ShortType, StringType, StructType

from sooner.spark.session.connect import Relation
from sooner.spark.shuffle.conditions import COMPARISONS, Condition
from sooner.spark.sources.readings import MOST_CHOICES, SOURCES, NotOurs, Reading

_CLASSES: Final = dict(
    zip(
        SOURCES,
        ("parquet_source.ParquetDataSource", "replay_source.ReplayDataSource", "postgres_source.PostgresDataSource"),
        strict=True,
    )
)
_EXCHANGED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BITS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_WHOLE: Final = ("byte", "short", "integer", "long")

Names = dict[str, str]  # of columns, each with its name in the source


def reading_by_relation(relation: Relation) -> Reading:
    """How the source of these rows would read them."""
    reading, names = _read(relation)
    return replace(reading, columns=tuple(names.values()))


def _read(relation: Relation) -> tuple[Reading, Names]:
    kind = relation.WhichOneof("rel_type")
    here = getattr(relation, kind)
    if kind == "read":
        return _of_source(here)
    if kind not in ("project", "filter", "to_df", "drop", "with_columns_renamed"):
        raise NotOurs(f"its rows come from a step of Spark's plan ({kind})")
    reading, names = _read(here.input)
    if kind == "project":
        return reading, _distinct([one for chosen in here.expressions for one in _chosen(chosen, names)])
    if kind == "filter":
        condition = _Conditions(reading.schema, names).of(here.condition)
        together = condition if reading.condition is None else ["and", reading.condition, condition]
        return replace(reading, condition=together), names
    if kind == "to_df":
        return reading, _distinct(list(zip(here.column_names, names.values(), strict=True)))
    if kind == "drop":
        dropped = {_known(name, names) for name in (*map(_name, here.columns), *here.column_names)}
        return reading, {name: origin for name, origin in names.items() if name not in dropped}
    renamed = {one.col_name: one.new_col_name for one in here.renames} | dict(here.rename_columns_map)
    for before, after in renamed.items():  # one after the other, as Spark does
        _known(before, names)
        names = _distinct([(after if name == before else name, origin) for name, origin in names.items()])
    return reading, names


def _of_source(read: Any) -> tuple[Reading, Names]:
    source, options = read.data_source.format, dict(read.data_source.options)
    if source not in SOURCES:
        raise NotOurs("its rows come from Spark's own source")
    module, name = _CLASSES[source].split(".")
    schema = getattr(importlib.import_module(f"sooner.spark.sources.{module}"), name)(options).schema()
    return Reading(source, options, schema, (), None), _distinct([(name, name) for name in schema.names])


def _chosen(expression: Any, names: Names) -> list[tuple[str, str]]:
    """The columns that an expression of a selection stands for."""
    match expression.WhichOneof("expr_type"):
        case "unresolved_star" if not expression.unresolved_star.unparsed_target:
            return list(names.items())
        case "alias" if len(expression.alias.name) == 1:
            return [(expression.alias.name[0], _origin(expression.alias.expr, names))]
        case "unresolved_attribute":
            return [(_name(expression), _origin(expression, names))]
    raise NotOurs("one of its columns is computed by Spark")


def _origin(expression: Any, names: Names) -> str:
    return names[_known(_name(expression), names)]


def _known(name: str, names: Names) -> str:
    if name not in names:  # a field of a column, or a name in other letters
        raise NotOurs(f"its column {name!r} is computed by Spark")
    return name


def _name(expression: Any) -> str:
    """The name that an expression is, in which dots and backticks are quoted."""
    if expression.WhichOneof("expr_type") != "unresolved_attribute":
        raise NotOurs("one of its columns is computed by Spark")
    text = str(expression.unresolved_attribute.unparsed_identifier)
    if text.startswith("`") and text.endswith("`") and "`" not in text[1:-1].replace("``", ""):
        return text[1:-1].replace("``", "`")
    if "." in text or "`" in text:
        raise NotOurs(f"its column {text} is computed by Spark")
    return text


def _distinct(columns: Sequence[tuple[str, str]]) -> Names:
    if len({name.lower() for name, _ in columns}) < len(columns):
        raise NotOurs("two of its columns have one name")
    return dict(columns)


class _Conditions:
    """Conditions on columns of these names."""

    def __init__(self, schema: StructType, names: Names) -> None:
        self._schema = schema
        self._names = names

    def of(self, expression: Any) -> Condition:
        if expression.WhichOneof("expr_type") != "unresolved_function":
            raise NotOurs("Spark filters its rows")
        function = expression.unresolved_function
        name, parts = "=" if function.function_name == "==" else function.function_name, list(function.arguments)
        if name in ("and", "or"):
            return [name, *map(self.of, parts)]
        if name == "not":
            return ["not", *map(self.of, parts)]
        if name in ("isNull", "isnull"):
            return ["is null", _origin(parts[0], self._names)]
        if name in ("isNotNull", "isnotnull"):
            return ["not", ["is null", _origin(parts[0], self._names)]]
        if name == "in" and 1 < len(parts) <= MOST_CHOICES:
            choices = [self._compared("=", parts[0], choice) for choice in parts[1:]]
            return reduce(lambda one, other: ["or", one, other], choices)
        if name in COMPARISONS and parts[0].HasField("literal"):
            return self._compared(_EXCHANGED[name], parts[1], parts[0])
        if name in COMPARISONS:
            return self._compared(name, *parts)
        raise NotOurs(f"Spark filters its rows by {name}")

    def _compared(self, comparison: str, column: Any, value: Any) -> Condition:
        origin = _origin(column, self._names)
        if not value.HasField("literal"):
            raise NotOurs("Spark filters its rows by a value that it computes")
        return [comparison, origin, _text(value.literal, self._schema[origin].dataType)]


def _text(literal: Any, type_: DataType) -> str:
    """A value of the kind that a column of this type has."""
    kind = literal.WhichOneof("literal_type")
    value = getattr(literal, kind)
    if kind in _WHOLE and type(type_) in _BITS and -(2 ** (bits := _BITS[type(type_)] - 1)) <= value < 2**bits:
        return str(value)
    if kind == "string" and isinstance(type_, StringType) and type_.isUTF8BinaryCollation():
        return str(value)
    if kind == "boolean" and isinstance(type_, BooleanType):
        return str(value).lower()
    raise NotOurs(f"Spark filters its rows by a {kind}, and the column is {type_.simpleString()}")
