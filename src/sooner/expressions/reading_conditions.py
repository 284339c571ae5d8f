"""Conditions, as sqlglot has parsed them: comparisons, logic, nulls, options and patterns."""

from __future__ import annotations

from collections.abc import Callable

from sooner.errors import InvalidJoin
from sooner.expressions.parsed import Parsed, Reader, refuse, sql_of
from sooner.expressions.tree import FALSE, Coalesce, Comparison, In, IsNull, Like, Logic, Node, Not


def comparison(operator: str) -> Callable[[Parsed, Reader], Node]:
    return lambda node, read: Comparison(operator, read(node.this), read(node.expression))


def logic(operator: str) -> Callable[[Parsed, Reader], Node]:
    return lambda node, read: Logic(operator, tuple(read(side) for side in node.flatten()))


def is_(node: Parsed, read: Reader) -> Node:
    of, other = read(node.this), type(node.expression).__name__
    if other == "Null":
        return IsNull(of)
    if other == "Boolean":
        return Coalesce((of if node.expression.this else Not(of), FALSE))
    return refuse(node, read.what)


def distinct_from(node: Parsed, read: Reader) -> Node:
    return Not(not_distinct_from(node, read))


def not_distinct_from(node: Parsed, read: Reader) -> Node:
    left, right = read(node.this), read(node.expression)
    return Coalesce((Comparison("=", left, right), Logic("AND", (IsNull(left), IsNull(right)))))


def between(node: Parsed, read: Reader) -> Node:
    of, low, high = (read(node.args[name]) for name in ("this", "low", "high"))
    return Logic("AND", (Comparison(">=", of, low), Comparison("<=", of, high)))


def in_(node: Parsed, read: Reader) -> Node:
    if node.args.get("query"):
        refuse(node.args["query"], read.what)
    return In(read(node.this), tuple(map(read, node.expressions)))


def like(*, any_case: bool) -> Callable[[Parsed, Reader], Node]:
    return lambda node, read: _matching(node, None, any_case, read)


def escape(node: Parsed, read: Reader) -> Node:
    name = type(node.this).__name__
    if name not in ("Like", "ILike") or not node.expression.is_string or len(str(node.expression.this)) != 1:
        refuse(node, read.what)
    found = _matching(node.this, str(node.expression.this), name == "ILike", read)
    return Not(found) if node.this.args.get("negate") else found


def _matching(node: Parsed, escape: str | None, any_case: bool, read: Reader) -> Node:
    if not node.expression.is_string:
        raise InvalidJoin(f"{read.what} has {sql_of(node)}; the pattern must be a text in quotes.")
    pattern, characters = "", iter(str(node.expression.this))
    for character in characters:
        if character == escape:
            pattern += "\\" + next(characters, "\\")
        else:
            pattern += "\\\\" if character == "\\" else character
    return Like(read(node.this), pattern, any_case)
