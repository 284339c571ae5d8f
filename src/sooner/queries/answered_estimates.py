"""From estimates of aggregates to those of an answer: formulas, ROUND and the like over them, HAVING, ORDER BY, LIMIT.

What is over sums is a formula, whose interval follows from theirs. ROUND, CAST and COALESCE around one are taken of its
value and of both ends. All else over aggregates has a value so far, and no interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from sooner.estimation.estimate import Estimate
from sooner.estimation.formulas import Formula
from sooner.estimation.grouped_values import GroupedValues
from sooner.estimation.question import Question, is_gathered
from sooner.estimation.reckoning import Foremost, Value
from sooner.estimation.workings import GroupColumn
from sooner.expressions.checking import typed
from sooner.expressions.tree import Call, Cast, Coalesce, Column, Literal, Node, columns_of
from sooner.kernels.arrays import to_arrow
from sooner.kernels.python_values import column_of
from sooner.queries.answered import Answering, array_of, at_rows, is_arithmetic, python_values
from sooner.queries.answers import GROUP, Answer
from sooner.queries.rows import values_of

Shape = Callable[[Estimate], Estimate]
_CORE: Final = "#core"


@dataclass(frozen=True)
class AnswerEstimated:
    """The question to estimate, and what becomes of an estimate of it."""

    question: Question
    shape: Shape
    foremost: Foremost | None = None  # the only groups that are shown


def answer_estimated(answer: Answer, question: Question, joined: pa.Schema) -> AnswerEstimated | None:
    """None if an answer is of groups and aggregates at once, or has no sums to be estimated."""
    summed = {one.name for one in question.aggregates if not is_gathered(one)}
    items = [(name, node) for name, node in answer.shown if not _is_group(node)]
    is_mixed = any(column.name.startswith(GROUP) for _, node in items for column in columns_of(node))
    formulas = [core for _, node in items if _is_formula(core := core_of(node), summed)]
    if is_mixed or answer.distinct or not formulas:
        return None
    by = [typed(node, joined, "GROUP BY").kind for _, node in question.by]
    columns = [GroupColumn(name, None, kind.type, kind.scale) for (name, _), kind in zip(question.by, by, strict=True)]
    exact = Answering(answer, columns, question.aggregates, joined)
    tabulating = _Tabulating(answer.shown, exact.schema)
    is_plain = all(_is_formula(node, summed) for _, node in items)
    if is_plain and answer.having is None and not answer.order and answer.limit is None and not answer.offset:
        return AnswerEstimated(_showing(question, [Formula(name, node) for name, node in items]), tabulating.shape)
    alone = {column.name for node in answer.nodes for column in columns_of(node)} & summed
    needed = {**{str(core): core for core in formulas}, **{name: Column(name) for name in sorted(alone)}}
    asked = _showing(question, [Formula(name, node) for name, node in needed.items()])
    estimated = Answering(answer, columns, question.aggregates, joined, estimated=True)
    shape = _Shaping(items, frozenset(needed), exact, estimated, tabulating)
    return AnswerEstimated(asked, shape, _foremost(answer))


def _foremost(answer: Answer) -> Foremost | None:
    """Of an order by one aggregate first: what is made of one may be the same of many groups."""
    if answer.having is not None or answer.limit is None or not answer.order:
        return None
    first = answer.order[0]
    if not isinstance(first.of, Column) or _is_group(first.of):
        return None
    return Foremost(first.of.name, answer.offset + answer.limit, first.descending)


@dataclass(frozen=True)
class _Tabulating:
    """What an estimate is as a table: the columns of the select list."""

    shown: Sequence[tuple[str, Node]]
    schema: pa.Schema  # of what is exact

    def shape(self, found: Estimate) -> Estimate:
        return replace(found, tabulated=self)

    def __call__(self, found: Estimate) -> pa.Table:
        arrays = []
        for (name, node), field in zip(self.shown, self.schema, strict=True):
            if _is_group(node):
                at = int(str(node).removeprefix(GROUP))
                arrays.append(array_of(found.values.by[at], field.type))
                continue
            values = [one.value for one in found.values.columns[name]]
            is_estimate = not found.exact and name not in found.so_far
            arrays.append(array_of(values, pa.float64() if is_estimate else field.type))
        return pa.Table.from_arrays(arrays, self.schema.names)


def core_of(node: Node) -> Node:
    """What is rounded, cast or replaced where it is null; each of these keeps the order of values."""
    while True:
        if isinstance(node, Call) and node.name == "round":
            node = node.parts[0]
        elif isinstance(node, Cast) and node.to.is_numeric:
            node = node.of
        elif isinstance(node, Coalesce) and all(isinstance(one, Literal) for one in node.parts[1:]):
            node = node.parts[0]
        else:
            return node


@dataclass(frozen=True)
class _Shaping:
    items: Sequence[tuple[str, Node]]
    known: frozenset[str]  # formulas that were asked for, by their texts
    exact: Answering
    estimated: Answering
    tabulating: _Tabulating

    def __call__(self, found: Estimate) -> Estimate:
        answering = self.exact if found.exact else self.estimated
        by, values = found.values.by, found.values.columns
        so_far = answering.found(by, {name: [one.value for one in some] for name, some in values.items()})
        rows = answering.rows(so_far, len(found.values))
        shown = at_rows(so_far, rows)
        columns: dict[str, list[Value]] = {}
        for name, node in self.items:
            if found.exact or str(core_of(node)) not in self.known:
                plain = python_values(answering.column(node, shown, len(rows)))
                columns[name] = [Value(one, *((one, one) if found.exact else (None, None))) for one in plain]
            else:
                of_core = values[str(core_of(node))]
                columns[name] = _around(node, [of_core[at] for at in rows.tolist()])
        return Estimate(
            tuple(columns),
            found.by,
            GroupedValues([one.take(to_arrow(rows)) for one in by], columns),
            found.rows,
            found.share_read,
            found.seconds,
            found.exact,
            frozenset(name for name, node in self.items if str(core_of(node)) not in self.known),
            self.tabulating,
        )


def _around(node: Node, cores: list[Value]) -> list[Value]:
    core = core_of(node)
    if node == core:
        return cores
    outer, schema = _replaced(node, core), pa.schema([(_CORE, pa.float64())])
    expression = typed(outer, schema, "SELECT")

    def of(ends: list[Any]) -> list[Any]:
        batch = pa.RecordBatch.from_arrays([column_of(ends, pa.float64())], schema=schema)
        return list(values_of(expression, batch).to_pylist())

    values, lows, highs = (of([one[at] for one in cores]) for at in range(len(Value._fields)))
    return [
        Value(value, None if one.low is None else low, None if one.high is None else high)
        for one, value, low, high in zip(cores, values, lows, highs, strict=True)
    ]


def _replaced(node: Node, core: Node) -> Node:
    return Column(_CORE) if node == core else node.with_children(lambda child: _replaced(child, core))


def _is_formula(node: Node, summed: set[str]) -> bool:
    names = {column.name for column in columns_of(node)}
    return bool(names) and names <= summed and is_arithmetic(node)


def _is_group(node: Node) -> bool:
    return isinstance(node, Column) and node.name.startswith(GROUP)


def _showing(question: Question, formulas: Sequence[Formula]) -> Question:
    return Question(question.aggregates, question.by, question.where, tuple(formulas))
