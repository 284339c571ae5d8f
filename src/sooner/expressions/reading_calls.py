"""Functions, as sqlglot has parsed them: those of values, parts of moments, and choices such as CASE."""

from __future__ import annotations

from collections.abc import Callable

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions.parsed import Parsed, Reader, refuse, sql_of
from sooner.expressions.tree import Call, Case, Coalesce, Comparison, Literal, Node


def call(name: str) -> Callable[[Parsed, Reader], Node]:
    def tree_of(node: Parsed, read: Reader) -> Node:
        parts = [node.this, *(node.args.get(word) for word in ("start", "length")), *node.expressions]
        return Call(name, tuple(read(part) for part in parts if part is not None))

    return tree_of


def case(node: Parsed, read: Reader) -> Node:
    subject = None if node.this is None else read(node.this)
    conditions, results = [], []
    for branch in node.args["ifs"]:
        when = read(branch.this)
        conditions.append(when if subject is None else Comparison("=", subject, when))
        results.append(read(branch.args["true"]))
    default = node.args.get("default")
    return Case(tuple(conditions), tuple(results), None if default is None else read(default))


def if_(node: Parsed, read: Reader) -> Node:
    otherwise = node.args.get("false")
    condition, result = read(node.this), read(node.args["true"])
    return Case((condition,), (result,), None if otherwise is None else read(otherwise))


def null_if(node: Parsed, read: Reader) -> Node:
    of, value = read(node.this), read(node.expression)
    return Case((Comparison("=", of, value),), (Literal(None, kinds.NULL),), of)


def coalesce(node: Parsed, read: Reader) -> Node:
    return Coalesce(tuple(map(read, (node.this, *node.expressions))))


def extract(node: Parsed, read: Reader) -> Node:
    return _part_of_moment(str(node.this.this), node.expression, node, read)


def anonymous(node: Parsed, read: Reader) -> Node:
    if str(node.this).lower() in ("date_part", "datepart") and len(node.expressions) == 2:
        return _part_of_moment(str(node.expressions[0].this), node.expressions[1], node, read)
    return refuse(node, read.what)


def _part_of_moment(part: str, of: Parsed, node: Parsed, read: Reader) -> Node:
    name = part.lower().removesuffix("s")
    if name not in ("year", "quarter", "month", "day", "hour", "minute"):
        raise InvalidJoin(
            f"{read.what} has {sql_of(node)}; of a moment there are year, quarter, month, day, hour and minute."
        )
    return Call(name, (read(of),))
