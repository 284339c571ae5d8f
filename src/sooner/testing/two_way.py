"""The two-way join as a subject: rows with a key and a number on both sides, joined in Python as the oracle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.how import INNER, kind_of
from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.keys import KeyPlan
from sooner.named_algorithms import Algorithm
from sooner.operators.order import CodeRows, Order
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, RIGHT
from sooner.testing.dice import Dice
from sooner.testing.invariants import check_invariants
from sooner.testing.subject import Row, Subject

SCHEMA: Final = pa.schema([("key", pa.int64()), ("row", pa.int64())])
FEW_BITS: Final = np.uint64(0xC000_0000_0000_0000)


@dataclass(frozen=True)
class CollidingPlan(TwoWayPlan):
    """Codes with so few bits that different keys share them: only the keys themselves tell who matches."""

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        return replace(super().keys(schemas), exact=False)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        """In which order the rows of all inputs are kept."""
        order = super().order(schemas)
        return replace(order, coders=[_with_few_bits(code) for code in order.coders])


def two_way_subject(
    algorithm: Algorithm, *, how: str = "inner", spills: bool = True, colliding: bool = False
) -> Subject:
    """The two-way join with this algorithm. One that never spills gets plenty of memory."""
    plan_of, kind = CollidingPlan if colliding else TwoWayPlan, kind_of(how)
    words = f"the algorithm {algorithm.name!r}" + ("" if kind is INNER else f" with how={how!r}")
    return Subject(
        name=words + (", with codes that collide" if colliding else ""),
        plan=plan_of(("key",), ("key",), ("_left", "_right"), algorithm, kind),
        schemas=(SCHEMA, SCHEMA),
        draw_rows=draw_numbered_rows,
        answer=lambda tables: joined(tables, how),
        certain=lambda tables, ended: joined(tables, how, ended),
        spills=spills,
        invariants=check_invariants,
    )


def draw_numbered_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:  # noqa: ARG001
    """Keys as the dice have them, and the numbers of the rows."""
    return numbered_rows(dice.keys(n_rows), first_number)


def numbered_rows(keys: Sequence[int | None], first_number: int) -> pa.RecordBatch:
    numbers = range(first_number, first_number + len(keys))
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(numbers, pa.int64())], schema=SCHEMA)


def joined(tables: Sequence[pa.Table], how: str = "inner", ended: Sequence[bool] = (True, True)) -> Counter[Row]:
    """Each key with the numbers of a left and a right row that have it; null matches nothing.

    What matches nothing is certain when the other side has ended, or when it is null.
    """
    left, right = (_numbers_by_key(table) for table in tables)
    pairs = {(key, a, b): 1 for key in left.keys() & right.keys() - {None} for a in left[key] for b in right[key]}
    matched = {(key, a): 1 for key, a, _ in pairs}
    lefts = {(key, a): 1 for key in left if key is None or ended[RIGHT] for a in left[key]}
    rights = {(key, b): 1 for key in right if key is None or ended[LEFT] for b in right[key]}
    match how:
        case "semi":
            return Counter(matched)
        case "anti":
            return Counter(lefts) - Counter(matched)
    found: Counter[Row] = Counter(pairs)
    if how in ("left", "full"):
        found += Counter({(*row, None): 1 for row in Counter(lefts) - Counter(matched)})
    if how in ("right", "full"):
        others = Counter(rights) - Counter({(key, b): 1 for key, _, b in pairs})
        found += Counter({(key, None, b): 1 for key, b in others})
    return found


def _numbers_by_key(table: pa.Table) -> dict[int | None, list[int]]:
    numbers: dict[int | None, list[int]] = {}
    for key, number in zip(table["key"].to_pylist(), table["row"].to_pylist(), strict=True):
        numbers.setdefault(key, []).append(number)
    return numbers


def _with_few_bits(code: CodeRows) -> CodeRows:
    def few(batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
        codes, valid = code(batch)
        return codes & FEW_BITS, valid

    return few
