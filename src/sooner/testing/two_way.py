"""The two-way join as a subject: rows with a key and a number on both sides, joined in Python as the oracle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from sooner.kernels.array_types import Codes, Flags
from sooner.kernels.keys import KeyPlan
from sooner.named_algorithms import Algorithm
from sooner.operators.order import CodeRows, Order
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.testing.dice import Dice
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


def two_way_subject(algorithm: Algorithm, *, spills: bool = True, colliding: bool = False) -> Subject:
    """The two-way join with this algorithm. One that never spills gets plenty of memory."""
    plan_of = CollidingPlan if colliding else TwoWayPlan
    return Subject(
        name=f"the algorithm {algorithm.name!r}" + (", with codes that collide" if colliding else ""),
        plan=plan_of(("key",), ("key",), ("_left", "_right"), algorithm),
        schemas=(SCHEMA, SCHEMA),
        draw_rows=draw_numbered_rows,
        answer=joined,
        spills=spills,
    )


def draw_numbered_rows(dice: Dice, which: int, n_rows: int, first_number: int) -> pa.RecordBatch:  # noqa: ARG001
    """Keys as the dice have them, and the numbers of the rows."""
    return numbered_rows(dice.keys(n_rows), first_number)


def numbered_rows(keys: Sequence[int | None], first_number: int) -> pa.RecordBatch:
    numbers = range(first_number, first_number + len(keys))
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(numbers, pa.int64())], schema=SCHEMA)


def joined(tables: Sequence[pa.Table]) -> Counter[Row]:
    """Each key with the numbers of a left and a right row that have it; null matches nothing."""
    left, right = tables
    numbers: dict[int, list[int]] = {}
    for key, number in zip(right["key"].to_pylist(), right["row"].to_pylist(), strict=True):
        numbers.setdefault(key, []).append(number)
    both = zip(left["key"].to_pylist(), left["row"].to_pylist(), strict=True)
    return Counter((key, a, b) for key, a in both if key is not None for b in numbers.get(key, ()))


def _with_few_bits(code: CodeRows) -> CodeRows:
    def few(batch: pa.RecordBatch) -> tuple[Codes, Flags | None]:
        codes, valid = code(batch)
        return codes & FEW_BITS, valid

    return few
