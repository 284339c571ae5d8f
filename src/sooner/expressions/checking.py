"""Fit a tree to the columns that there are: what is missing or does not fit is refused before any row is read.

The kinds follow DuckDB: `*` adds scales, `+` and `-` take the larger, `/` gives floats (and null by zero), a text in
quotes that meets a moment is read as one. A column's table is not looked at: who has several has renamed by now.

Not covered: the widths of types. A sum of SMALLINTs may be as large as any integer, and DECIMAL(4, 2) keeps all digits.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sooner.errors import InvalidJoin
from sooner.expressions import kinds
from sooner.expressions.arithmetic import arithmetic
from sooner.expressions.arrow_conditions import ArrowCondition, Condition
from sooner.expressions.checking_calls import call_of
from sooner.expressions.columns import may_not_fit
from sooner.expressions.conversion import as_kind, casted, read_literal
from sooner.expressions.functions import FUNCTIONS
from sooner.expressions.kinds import BOOLEAN, NULL, Kind
from sooner.expressions.steps import Choose, Constant, Read, ReadAsFloat, Step, applied, evaluated
from sooner.expressions.tree import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Negative,
    Node,
    Not,
    columns_of,
)
from sooner.kernels.array_types import Flags
from sooner.kernels.arrays import to_flags
from sooner.kernels.keys import family, type_of_values


@dataclass(frozen=True)
class Typed:
    """An expression that fits a schema. It pickles, and works on any batch of that schema."""

    node: Node
    what: str
    step: Step

    @property
    def kind(self) -> Kind:
        return self.step.kind

    @property
    def may_be_null(self) -> bool:
        return self.step.may_be_null

    @property
    def constant(self) -> bool:
        """Whether the value is the same for all rows."""
        return isinstance(self.step, Constant)

    @property
    def columns(self) -> frozenset[str]:
        """The names of those that it needs."""
        return frozenset(column.name for column in columns_of(self.node))

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """A value for each row. Exact numbers are unscaled int64: divide by 10 ** kind.scale to have them."""
        return evaluated(self.step, batch)

    def mask(self, batch: pa.RecordBatch) -> Flags:
        """Where a condition is true for certain: null is not."""
        if self.kind == NULL:
            return np.zeros(batch.num_rows, np.bool_)
        return to_flags(evaluated(self.step, batch))


def typed(node: Node, schema: pa.Schema, what: str) -> Typed:
    """The expression over columns of this schema; `what` names the argument that it came from."""
    for column in sorted(columns_of(node), key=str):
        _require(column.name, schema, what)
    return Typed(node, what, _Checker(schema, what).step(node))


def condition(node: Node, schema: pa.Schema, what: str) -> Typed:
    """The same of what must be true or false."""
    found = typed(node, schema, what)
    if found.kind not in (BOOLEAN, NULL):
        raise InvalidJoin(f"{what} is {node}, {found.kind}, and not a condition; compare it with something.")
    return found


def _require(name: str, schema: pa.Schema, what: str) -> None:
    occurrences = schema.names.count(name)
    if occurrences > 1:
        raise InvalidJoin(f"{what} needs column {name!r}, and there are {occurrences} of that name; rename them.")
    if not occurrences:
        nearest = difflib.get_close_matches(name, schema.names, n=1)
        hint = f"did you mean {nearest[0]!r}? The" if nearest else "the"
        raise InvalidJoin(
            f"{what} needs column {name!r}, which is not there; {hint} columns are {', '.join(schema.names) or 'none'}."
        )


class _Checker:
    """Decides the types of one expression from the leaves up."""

    def __init__(self, schema: pa.Schema, what: str) -> None:
        self._schema = schema
        self._what = what

    def step(self, node: Node) -> Step:
        return _CHECKS[type(node)](self, node)

    def column(self, node: Column) -> Step:
        field = self._schema.field(node.name)
        kind = kinds.kind_of_type(field.type)
        if kind is None or kind.scale > kinds.MOST_DIGITS:
            number = family(type_of_values(field.type)) == "decimal"
            cure = f"write CAST({node} AS DOUBLE)" if number else "derive a column of a flat type from it"
            raise InvalidJoin(f"{self._what} needs column {node.name!r}, which is {field.type}; {cure}.")
        return Read(kind, field.nullable or kind == NULL, node.name, self._what)

    def literal(self, node: Literal) -> Step:
        return Constant(node.kind, node.value is None, node.value)

    def arithmetic(self, node: Arithmetic) -> Step:
        return arithmetic(node.operator, self.step(node.left), self.step(node.right), str(node), self._what)

    def negative(self, node: Negative) -> Step:
        of = self.step(node.of)
        if of.kind == NULL:
            return of
        if not of.kind.is_numeric:
            raise InvalidJoin(f"{self._what} has {node}, but {node.of} is {of.kind}; only numbers have a minus.")
        return applied("negative", (of,), of.kind, str(node), self._what)

    def comparison(self, node: Comparison) -> Step:
        left, right = self._comparable([node.left, node.right], str(node))
        if left.kind == NULL:
            return Constant(BOOLEAN, True, None)
        return applied(_for_kind(node.operator, left.kind), (left, right), BOOLEAN, str(node), self._what)

    def logic(self, node: Logic) -> Step:
        parts = tuple(self._condition(part, str(node)) for part in node.parts)
        return applied(node.operator, parts, BOOLEAN, str(node), self._what)

    def negation(self, node: Not) -> Step:
        return applied("NOT", (self._condition(node.of, str(node)),), BOOLEAN, str(node), self._what)

    def is_null(self, node: IsNull) -> Step:
        return applied("IS NULL", (self.step(node.of),), BOOLEAN, str(node), self._what, may_be_null=False)

    def case(self, node: Case) -> Step:
        conditions = tuple(self._condition(part, str(node)) for part in node.conditions)
        otherwise = Literal(None, NULL) if node.otherwise is None else node.otherwise
        *results, last = self._alike([*node.results, otherwise], str(node))
        may_be_null = last.may_be_null or any(result.may_be_null for result in results)
        return Choose(last.kind, may_be_null, conditions, tuple(results), last)

    def coalesce(self, node: Coalesce) -> Step:
        parts = self._alike(list(node.parts), str(node))
        may_be_null = all(part.may_be_null for part in parts)
        return applied("COALESCE", tuple(parts), parts[0].kind, str(node), self._what, may_be_null=may_be_null)

    def within(self, node: In) -> Step:
        of, *options = self._comparable([node.of, *node.options], str(node))
        if of.kind == NULL:
            return Constant(BOOLEAN, True, None)
        if all(isinstance(option, Constant) for option in options):
            constants = [option.value for option in options if isinstance(option, Constant)]
            known = tuple(value for value in constants if value is not None)
            unknown = len(known) < len(constants)
            nullable = of.may_be_null or unknown
            kernel = _for_kind("IN", of.kind)
            return applied(kernel, (of,), BOOLEAN, str(node), self._what, known, unknown, may_be_null=nullable)
        equal = _for_kind("=", of.kind)
        same = tuple(applied(equal, (of, option), BOOLEAN, str(node), self._what) for option in options)
        return applied("OR", same, BOOLEAN, str(node), self._what)

    def like(self, node: Like) -> Step:
        of = self.step(node.of)
        if of.kind.name not in ("text", "null"):
            raise InvalidJoin(f"{self._what} has {node}, but {node.of} is {of.kind}; LIKE needs a text.")
        of = as_kind(of, kinds.TEXT if of.kind == NULL else of.kind, str(node), self._what)
        return applied("LIKE", (of,), BOOLEAN, str(node), self._what, node.pattern, node.any_case)

    def cast(self, node: Cast) -> Step:
        if isinstance(node.of, Column) and node.to == kinds.FLOAT:
            field = self._schema.field(node.of.name)
            if may_not_fit(field.type):
                return ReadAsFloat(node.to, field.nullable, node.of.name)
        of = self.step(node.of)
        return Constant(node.to, True, None) if _is_no_number(of) else casted(of, node.to, str(node), self._what)

    def call(self, node: Call) -> Step:
        function = FUNCTIONS[node.name]
        if not function.fewest <= len(node.parts) <= function.most:
            raise InvalidJoin(f"{self._what} has {node}, with {len(node.parts)} arguments; it takes {function.fewest}.")
        if function.takes == "alike":
            parts = self._alike(list(node.parts), str(node))
            if parts[0].kind == NULL:
                return parts[0]
            may_be_null = all(part.may_be_null for part in parts)
            kernel = _for_kind(node.name, parts[0].kind)
            return applied(kernel, tuple(parts), parts[0].kind, str(node), self._what, may_be_null=may_be_null)
        return call_of(node, [self.step(part) for part in node.parts], self._what)

    def arrow_condition(self, node: ArrowCondition) -> Step:
        names = tuple((name, column.name) for name, column in node.names)
        return Condition(BOOLEAN, True, node.expression, names, self._what)

    def _condition(self, node: Node, text: str) -> Step:
        found = self.step(node)
        if found.kind not in (BOOLEAN, NULL):
            raise InvalidJoin(f"{self._what} has {text}, but {node} is {found.kind}; a condition is true or false.")
        return as_kind(found, BOOLEAN, text, self._what)

    def _alike(self, nodes: list[Node], text: str) -> list[Step]:
        """Values of one kind, of which one is chosen."""
        steps, kind = self._with_kind(nodes, text)
        return [as_kind(step, kind, text, self._what) for step in steps]

    def _comparable(self, nodes: list[Node], text: str) -> list[Step]:
        """Values of one kind, of which nothing remains but how they compare."""
        steps, kind = self._with_kind(nodes, text)
        return [as_kind(step, _without_detour(kind, steps), text, self._what) for step in steps]

    def _with_kind(self, nodes: list[Node], text: str) -> tuple[list[Step], Kind]:
        """Values, and the kind that all of them can have; texts in quotes become moments where they meet one."""
        steps = [self.step(node) for node in nodes]
        moment = next((step.kind for step in steps if step.kind.name in ("date", "local time", "instant")), None)
        if moment is not None:  # and a number that is null whatever comes, such as NULL - 1, is null of any kind
            steps = [Constant(NULL, True, None) if _is_no_number(step) else step for step in steps]
            steps = [read_literal(step, moment, text, self._what) for step in steps]
        kind = steps[0].kind
        for node, step in zip(nodes[1:], steps[1:], strict=True):
            common = kinds.common_kind(kind, step.kind)
            if common is None:
                raise InvalidJoin(
                    f"{self._what} has {text}, but {nodes[0]} is {kind} and {node} is {step.kind}; "
                    f"{_cure(kind, step.kind, node)}."
                )
            kind = common
        return steps, kind


def _is_no_number(step: Step) -> bool:
    return isinstance(step, Constant) and step.value is None and step.kind.is_numeric


def _for_kind(kernel: str, kind: Kind) -> str:
    """Floats are compared by kernels of their own: NaN is among them."""
    return f"float {kernel}" if kind == kinds.FLOAT else kernel


def _without_detour(kind: Kind, steps: list[Step]) -> Kind:
    """Dates that meet midnights stay dates, and times the unit they have, so that no column is cast for a constant."""
    if kind.name != "local time":
        return kind
    of_columns = {step.kind for step in steps if not isinstance(step, Constant)} - {NULL}
    constants = [step.value for step in steps if isinstance(step, Constant) and isinstance(step.value, datetime)]
    if len(of_columns) != 1:
        return kind
    (only,) = of_columns
    if only.name == "date":
        return only if all(value == datetime(value.year, value.month, value.day) for value in constants) else kind
    units = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
    return only if all(value.microsecond % units[only.type.unit] == 0 for value in constants) else kind


def _cure(one: Kind, other: Kind, node: Node) -> str:
    if one.is_numeric and isinstance(node, Literal) and str(node.value).lstrip("+-").replace(".", "", 1).isdigit():
        return f"write {node.value} without quotes if a number is meant"
    if "instant" in (one.name, other.name):
        return "write the instant as TIMESTAMPTZ '2025-12-31 23:59:59+00:00'"
    return "cast one of them so that both are of one kind"


_CHECKS: Final[dict[type[Node], Callable[[_Checker, Any], Step]]] = {
    Column: _Checker.column,
    Literal: _Checker.literal,
    Arithmetic: _Checker.arithmetic,
    Negative: _Checker.negative,
    Comparison: _Checker.comparison,
    Logic: _Checker.logic,
    Not: _Checker.negation,
    IsNull: _Checker.is_null,
    Case: _Checker.case,
    Coalesce: _Checker.coalesce,
    In: _Checker.within,
    Like: _Checker.like,
    Cast: _Checker.cast,
    Call: _Checker.call,
    ArrowCondition: _Checker.arrow_condition,
}
