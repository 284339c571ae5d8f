"""What sqlglot has parsed: how its parts are read, and the sentences that refuse those that cannot be evaluated."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn, Protocol, TypeAlias

from sooner.errors import InvalidJoin
from sooner.expressions.functions import FUNCTIONS
from sooner.expressions.tree import Node

AGGREGATE: Final = "#aggregate"  # the table whose columns aggregates are, in expressions over them
_OF_AGGREGATE: Final = re.compile(f'"{AGGREGATE}"\\."((?:[^"]|"")*)"')
Parsed: TypeAlias = Any  # by sqlglot, whose names for it changed between its versions


class Reader(Protocol):
    """Gives the tree of a part, with those of the parts inside."""

    @property
    def what(self) -> str:
        """The name of the argument that it came from."""

    def __call__(self, node: Parsed) -> Node: ...


def sql_of(node: Parsed) -> str:
    text = _OF_AGGREGATE.sub(r"\1", str(node.sql(dialect="duckdb")))
    return text if len(text) <= 60 else text[:57] + "..."


def refuse(node: Parsed, what: str) -> NoReturn:
    from sqlglot import expressions as e

    part = f"{what} has {sql_of(node)}"
    if isinstance(node, e.Window):
        raise InvalidJoin(f"{part}, a window function, which needs all rows at once; leave it out.")
    if isinstance(node, e.Query | e.Exists | e.SubqueryPredicate):
        raise InvalidJoin(f"{part}, a subquery; join its table instead, or put its value here.")
    if isinstance(node, e.AggFunc | e.Filter | e.IgnoreNulls):
        raise InvalidJoin(
            f"{part}, an aggregate, inside an expression over single rows; aggregates belong on the outside, one in "
            "each entry of aggregates=, with the expression in their parentheses."
        )
    if isinstance(node, e.Star):
        raise InvalidJoin(f"{part}, which stands for many columns; name the one that is meant.")
    if isinstance(node, e.Alias):
        raise InvalidJoin(f"{part}; leave out AS and the name after it.")
    if isinstance(node, e.Anonymous | e.Func):
        known = ", ".join(sorted({*FUNCTIONS, "coalesce", "ifnull", "nullif", "if", "extract", "cast"}))
        raise InvalidJoin(f"{part}, and this function is not known here; there are {known}.")
    raise InvalidJoin(f"{part}, which is not supported in expressions here; write it in another way.")
