"""Functions, as sqlglot has parsed them: those of values, parts of moments, and choices such as CASE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions.functions import PARTS, PARTS_ALONE
from sooner.expressions.parsed import Parsed, Reader, refuse, sql_of
from sooner.expressions.tree import Arithmetic, Call, Case, Coalesce, Comparison, Literal, Node


def call(name: str, *words: str) -> Callable[[Parsed, Reader], Node]:
    """Of a function whose values sqlglot has under these words, and the rest in a list."""

    def tree_of(node: Parsed, read: Reader) -> Node:
        parts = [node.this, *(node.args.get(word) for word in words), *node.expressions]
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
    name, parts = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(parts) == 2 and parts[0].is_string:
        return _part_of_moment(str(parts[0].this), parts[1], node, read)
    if name in _ALIASES and parts:
        return Call(_ALIASES[name], tuple(map(read, parts)))
    return refuse(node, read.what)


_ALIASES: Final = {"prefix": "starts_with", "weekday": "dow", "strlen": "length", "len": "length"}


def truncated(node: Parsed, read: Reader) -> Node:
    """A moment at the beginning of its month, say."""
    return Call("date_trunc", (read(node.this), _unit(node)))


def difference(node: Parsed, read: Reader) -> Node:
    """How many beginnings of such a unit are between two moments; sqlglot has the later one first."""
    return Call("date_diff", (read(node.expression), read(node.this), _unit(node)))


def logarithm(node: Parsed, read: Reader) -> Node:
    base = node.this if node.args.get("expression") is not None else None
    if base is None:
        return Call("log10", (read(node.this),))
    name = {"2": "log2", "10": "log10"}.get(str(base.this))
    return refuse(node, read.what) if name is None else Call(name, (read(node.expression),))


def trimmed(node: Parsed, read: Reader) -> Node:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    return Call(name, tuple(read(part) for part in (node.this, node.args.get("expression")) if part is not None))


def padded(node: Parsed, read: Reader) -> Node:
    parts = (node.this, node.expression, node.args.get("fill_pattern"))
    return Call("lpad" if node.args.get("is_left") else "rpad", tuple(read(part) for part in parts if part is not None))


def joined(node: Parsed, read: Reader) -> Node:
    """A || b || c"""
    return Call("||", tuple(read(side) for side in (node.this, node.expression)))


def shifted(node: Parsed, read: Reader) -> Node:
    """date_add(day, INTERVAL 1 DAY)"""
    return Arithmetic("+", read(node.this), read(node.expression))


def _unit(node: Parsed) -> Node:
    return Literal(str(node.args["unit"].this).lower().removesuffix("s"), kinds.TEXT)


def _part_of_moment(part: str, of: Parsed, node: Parsed, read: Reader) -> Node:
    name = part.lower().removesuffix("s")
    name = {"dayofweek": "dow", "dayofyear": "doy", "weekday": "dow"}.get(name, name)
    if name not in (*PARTS, *PARTS_ALONE, "epoch"):
        there_are = ", ".join((*PARTS, *PARTS_ALONE))
        raise InvalidJoin(f"{read.what} has {sql_of(node)}; of a moment there are {there_are} and epoch.")
    return Call(name, (read(of),))
