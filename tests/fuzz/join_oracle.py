"""What a join must give, in plain Python: dictionaries of equal keys, and differences that are exact.

The rules are those of the README: null matches nothing, NaN equals NaN and -0.0 equals 0.0 as keys; numbers of which
one is a float meet as doubles; a range is exact but for floats, which are subtracted as doubles, and in it NaN is near
nothing.

Where rows may be forgotten before they have met everything there is more than one right answer. Each result is then
`certain`, or merely possible.
"""

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.values import SECONDS_A_DAY, UNITS, Raw, raw_values

NANOSECONDS = 10**9


@dataclass(frozen=True)
class Result:
    """A pair of rows, or one without a partner, by their numbers."""

    left: int | None
    right: int | None
    certain: bool = True


@dataclass(frozen=True)
class Question:
    """A join without anything that has no say in the answer."""

    left: pa.Table
    right: pa.Table
    how: str
    keys: tuple[tuple[str, str], ...]
    near: tuple[str, str] | None = None
    low: Any = None
    high: Any = None
    lateness: Any = None
    forgets: bool = False  # rows that arrive at different times may miss each other


def answer(question: Question) -> list[Result]:
    pairs = list(_pairs(question))
    late = _late(question, 0), _late(question, 1)

    def is_certain(i: int, j: int) -> bool:
        return not question.forgets and i not in late[0] and j not in late[1]

    found: list[Result] = []
    partners: tuple[dict[int, bool], dict[int, bool]] = ({}, {})  # whether a row that matches certainly does
    for i, j in pairs:
        certain = is_certain(i, j)
        partners[0][i] = partners[0].get(i, False) or certain
        partners[1][j] = partners[1].get(j, False) or certain
        if question.how not in ("semi", "anti"):
            found.append(Result(i, j, certain))
    if question.how == "semi":
        return [Result(i, None, certain and i not in late[0]) for i, certain in partners[0].items()]
    for side, kinds in ((0, ("left", "full", "anti")), (1, ("right", "full"))):
        if question.how in kinds:
            rows = (question.left, question.right)[side].num_rows
            for row in range(rows):
                if not partners[side].get(row, False):  # nothing that it matches for certain
                    certain = row not in partners[side] and row not in late[side]
                    found.append(Result(row, None, certain) if side == 0 else Result(None, row, certain))
    return found


def _pairs(question: Question) -> Iterator[tuple[int, int]]:
    left_keys, right_keys = _keys(question)
    places: dict[Any, list[int]] = {}
    for j, key in enumerate(right_keys):
        if key is not None:
            places.setdefault(key, []).append(j)
    if question.near is None:
        for i, key in enumerate(left_keys):
            if key is not None:
                yield from ((i, j) for j in places.get(key, ()))
        return
    lefts, rights = numbers(question)
    for i, key in enumerate(left_keys):
        if key is not None and lefts[i] is not None:
            for j in places.get(key, ()):
                if rights[j] is not None and is_near(lefts[i], rights[j], question.low, question.high):
                    yield i, j


def is_near(left: Any, right: Any, low: Any, high: Any) -> bool:
    apart = 0 if left == right else right - left
    return bool((low is None or apart >= low) and (high is None or apart <= high) and apart == apart)


def _keys(question: Question) -> tuple[list[Any], list[Any]]:
    """A tuple for each row, or None where it matches nothing."""
    columns: tuple[list[list[Any]], list[list[Any]]] = ([], [])
    for left, right in question.keys:
        types = question.left.schema.field(left).type, question.right.schema.field(right).type
        as_floats = pa.types.is_floating(types[0]) or pa.types.is_floating(types[1])
        columns[0].append([meaning(value, types[0], as_floats) for value in raw_values(question.left[left])])
        columns[1].append([meaning(value, types[1], as_floats) for value in raw_values(question.right[right])])
    rows = question.left.num_rows, question.right.num_rows
    return _tuples(columns[0], rows[0]), _tuples(columns[1], rows[1])


def _tuples(columns: Sequence[list[Any]], rows: int) -> list[Any]:
    keys = zip(*columns, strict=True) if columns else ((),) * rows
    return [None if None in key else key for key in keys]


def meaning(value: Raw, type_: pa.DataType, as_floats: bool = False) -> Any:
    """Equal for values that are equal, whatever their types."""
    if value is None:
        return None
    if as_floats or pa.types.is_floating(type_):
        number = float(value)
        return "NaN" if math.isnan(number) else number + 0.0
    if pa.types.is_temporal(type_):
        return value * nanoseconds_in_a_unit(type_)
    return value


def nanoseconds_in_a_unit(type_: pa.DataType) -> int:
    if pa.types.is_date32(type_):
        return SECONDS_A_DAY * NANOSECONDS
    return NANOSECONDS // UNITS["ms" if pa.types.is_date64(type_) else type_.unit]


def numbers(question: Question) -> tuple[list[Any], list[Any]]:
    """The values that must be near each other: doubles if one is a float, else whole numbers and fractions."""
    assert question.near is not None
    fields = [
        table.schema.field(name) for table, name in zip((question.left, question.right), question.near, strict=True)
    ]
    as_floats = any(pa.types.is_floating(field.type) for field in fields)
    found = []
    for table, field in zip((question.left, question.right), fields, strict=True):
        values = [meaning(value, field.type, as_floats) for value in raw_values(table[field.name])]
        values = [None if value == "NaN" else value for value in values]
        if pa.types.is_decimal(field.type) and not as_floats:
            values = [None if value is None else Fraction(value) for value in values]
        found.append(values)
    return found[0], found[1]


def limit_of(width: Any, as_floats: bool) -> Any:
    """In nanoseconds for moments; a float that meets exact numbers stands for the decimal that it is written as."""
    if width is None:
        return None
    if isinstance(width, dt.timedelta):
        return width // dt.timedelta(microseconds=1) * 1000
    if isinstance(width, np.timedelta64):
        return int(width.astype("timedelta64[ns]").astype(np.int64))
    if as_floats:
        return float(width)
    return Fraction(repr(width)) if isinstance(width, float) else Fraction(width)


def _late(question: Question, side: int) -> set[int]:
    """Rows that come after one of their own input that is further ahead than the lateness; which are left out, depends
    on how many arrive at once.
    """
    if question.lateness is None:
        return set()
    newest, late = None, set()
    for row, value in enumerate(numbers(question)[side]):
        if value is None:
            continue
        if newest is not None and not _is_in_time(newest, value, question.lateness):
            late.add(row)
        newest = value if newest is None else max(newest, value)
    return late


def _is_in_time(newest: Any, value: Any, lateness: Any) -> bool:
    if value >= newest:
        return True
    if math.isinf(newest) or math.isinf(value):
        return False
    behind = Fraction(newest) - Fraction(value)
    rounding = Fraction(max(abs(newest), abs(value))) / 2**50 if isinstance(newest, float) else 0
    return behind + rounding <= Fraction(lateness)
