"""Joins of many inputs as subjects of the conformance suite, and the answer that they must give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import pyarrow as pa

from sooner.kernels.matching import EQUAL
from sooner.operators.multiway.accesses import index_bytes
from sooner.operators.multiway.algorithms import MULTI_ALGORITHMS
from sooner.operators.multiway.comparing import Comparison
from sooner.operators.multiway.graph import ColumnOf, Graph, Range, Step, graph_of
from sooner.operators.multiway.plan import MultiPlan
from sooner.operators.order import Order
from sooner.testing.dice import Dice
from sooner.testing.subject import Row, Subject
from sooner.testing.two_way import _with_few_bits

# Which attributes each input has; those with a capital letter are ranges.
SHAPES: dict[str, tuple[str, ...]] = {
    "two": ("a", "a"),
    "chain of three": ("a", "ab", "b"),
    "chain of four": ("a", "ab", "bc", "c"),
    "star of four": ("abc", "a", "b", "c"),
    "one attribute of three": ("a", "a", "a"),
    "one attribute of four": ("a", "a", "a", "a"),
    "two in the middle": ("a", "ab", "b", "b"),
    "snowflake of six": ("ab", "ac", "bd", "c", "d", "d"),
    "range of two": ("X", "X"),
    "range at the end": ("a", "aX", "X"),
    "range in the middle": ("a", "aX", "bX", "b"),
    "star with a range": ("abX", "a", "b", "X"),
    "range beside a key": ("aX", "abX", "b"),
    "ranges alone": ("X", "XY", "Y"),
}
# How far the values of a later input may be above those of an earlier one. That of Y is asked from the later one.
STEPS_APART = {"X": range(-1, 2), "Y": range(2)}
STEP = 10**8  # so far apart that several values have one code
# Of so many inputs, times as many keys as for two, or a hot one would meet itself in too many ways.
SPREAD = {2: 1, 3: 3, 4: 3, 6: 12}


def graph_of_shape(shape: Sequence[str]) -> Graph:
    """Of inputs that have these attributes."""
    inputs = [f"i{which}" for which in range(len(shape))]
    equalities, ranges = [], []
    for attribute in sorted(set("".join(shape))):
        first, *others = (
            ColumnOf(name, column_of(attribute, which))
            for which, (name, has) in enumerate(zip(inputs, shape, strict=True))
            if attribute in has
        )
        if attribute in STEPS_APART:
            [other], steps = others, STEPS_APART[attribute]
            low, high = steps.start * STEP, steps.stop * STEP - 1  # values with one code may be too far apart
            from_later = Range(other, first, (-high, -low))
            ranges.append(Range(first, other, (low, high)) if attribute == "X" else from_later)
        else:
            equalities += [(first, other) for other in others]
    return graph_of(inputs, equalities, ranges)


def column_of(attribute: str, which: int) -> str:
    """Columns of a range are different ones."""
    return f"{attribute}{which}" if attribute in STEPS_APART else attribute


@dataclass(frozen=True)
class CollidingMultiPlan(MultiPlan):
    """Codes with so few bits that different keys share them."""

    def comparisons(self, schemas: Sequence[pa.Schema]) -> list[Comparison]:
        return [replace(one, keys=replace(one.keys, exact=False)) for one in super().comparisons(schemas)]

    def orders(self, schemas: Sequence[pa.Schema]) -> dict[Step, Order]:
        return {
            step: replace(order, coders=[_with_few_bits(code) for code in order.coders])
            if order.reach == EQUAL
            else order
            for step, order in super().orders(schemas).items()
        }


def multi_subject(shape: str, *, algorithm: str = "miner", colliding: bool = False) -> Subject:
    attributes = SHAPES[shape]

    def draw_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:
        def keys(attribute: str) -> pa.Array:
            steps, step = (STEPS_APART[attribute], STEP) if attribute in STEPS_APART else (range(1), 1)
            spread = len(steps) * SPREAD[len(attributes)]  # as many match as if they had to be equal
            drawn = ((key, dice.randrange(spread)) for key in dice.keys(n_rows))
            return pa.array([None if key is None else (key * spread + more) * step for key, more in drawn], pa.int64())

        columns = {column_of(attribute, which): keys(attribute) for attribute in attributes[which]}
        numbers = pa.array(range(first_number, first_number + n_rows), pa.int64())
        return pa.record_batch(columns | {f"row_{which}": numbers}, schema=schemas[which])

    schemas = tuple(
        pa.schema([*((column_of(attribute, which), pa.int64()) for attribute in has), (f"row_{which}", pa.int64())])
        for which, has in enumerate(attributes)
    )
    plan_of = CollidingMultiPlan if colliding else MultiPlan
    return Subject(
        name=f"a join of many inputs by {algorithm}: {shape}" + ", with codes that collide" * colliding,
        plan=plan_of(graph_of_shape(attributes), replace(MULTI_ALGORITHMS[algorithm], of_two=None)),
        schemas=schemas,
        draw_rows=draw_rows,
        answer=answer,
        may_need_its_memory=True,  # while a chain looks for combinations with rows in memory
        row_bytes_beside=max(index_bytes(range(len(has))) for has in attributes) + 1,
        invariants=check_state,
    )


def answer(tables: Sequence[pa.Table]) -> Counter[Row]:
    """One input after the other; a column that is there by its name already must have the same value, and one of a
    range a value that is so many steps from that of the other.
    """
    names: list[str] = []
    found: list[Row] = [()]
    left = list(tables)
    while left:
        table, compared = next(
            (one, compared) for one in left if (compared := _compared(one.column_names, names)) or not names
        )
        left.remove(table)
        own = [name for name in table.column_names if name not in names]
        by_key: dict[Row, list[Row]] = {}
        for row in table.to_pylist():
            for key in product(*(_matched_by(row[name], name, other) for name, other in compared.items())):
                by_key.setdefault(key, []).append(tuple(row[name] for name in own))
        places = [names.index(other) for other in compared.values()]
        found = [row + more for row in found for more in by_key.get(tuple(row[at] for at in places), ())]
        names += own
    ordered = list(dict.fromkeys(name for table in tables for name in table.column_names))
    keys = [names.index(name) for name in ordered if not name.startswith("row_")]
    places = [names.index(name) for name in ordered]
    return Counter(tuple(row[at] for at in places) for row in found if all(row[at] is not None for at in keys))


def _compared(columns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Which of these columns are compared with which of those."""
    return {
        one: other
        for one in columns
        for other in names
        if one == other or (one[0] in STEPS_APART and one[0] == other[0])
    }


def _matched_by(value: int | None, name: str, other: str) -> list[int]:
    """The values of another column that match this one."""
    if value is None:
        return []
    if name == other:
        return [value]
    sign = 1 if name < other else -1  # the names end with the numbers of the inputs
    return [value + sign * steps * STEP for steps in STEPS_APART[name[0]]]


def check_state(operator: object) -> None:
    """What is counted is what is there, with indexes."""
    from sooner.operators.multiway.join import MultiJoin

    assert isinstance(operator, MultiJoin)
    weights = [
        operator._leaving.weight(which, run)
        for which, one in enumerate(operator.inputs)
        for run in one.partitions[0].resident
    ]
    of_chain = 0 if operator._chain is None else operator._chain._taken_bytes
    assert sum(weights) + of_chain == operator.account.used_bytes
