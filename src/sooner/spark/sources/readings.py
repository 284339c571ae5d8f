"""How a source of ours is read, if it can do itself what stands between it and a join."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.types import StructType

from sooner.spark.shuffle.conditions import Condition, columns_of

SOURCES: Final = ("sooner.parquet", "sooner.replay", "sooner.postgres")
MOST_CHOICES: Final = 100  # of an IN


class NotOurs(Exception):  # noqa: N818
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


def with_columns(condition: Condition, name: Callable[[Any], Any]) -> Condition:
    """The same condition, its columns under other names."""
    match condition:
        case [("and" | "or" | "not") as word, *parts]:
            return [word, *(with_columns(part, name) for part in parts)]
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
