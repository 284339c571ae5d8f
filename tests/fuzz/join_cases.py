"""Random joins: schemas, values, kinds, ranges, algorithms, memory and early stops."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import sooner
from fuzz.join_oracle import limit_of, meaning
from fuzz.tables import FORMS, NAMES, ballast, column, many_rows, payload, some_rows, table_of
from fuzz.values import FLAT, Kind, raw_values

HOWS = ("inner", "left", "right", "full", "semi", "anti")
NUMBERS = ("integer", "float", "decimal")
MOMENTS = ("date", "local time", "instant", "duration", "time of day")
LEAST_MEMORY = 64 * 1024
KINDS = {family: [kind for kind in FLAT if kind.family == family] for family in {kind.family for kind in FLAT}}


@dataclass(frozen=True)
class JoinCase:
    left: pa.Table
    right: pa.Table
    arguments: dict[str, Any]
    question: dict[str, Any] = field(default_factory=dict)  # what of it the oracle is asked, but for the tables
    forms: tuple[str, str] = ("table", "table")
    stop: str = "never"  # or "head", "break", "stop"
    after: int = 0  # rows or batches
    seed: int = 0

    @property
    def shared(self) -> list[str]:
        return [left for left, right in self.question["keys"] if left == right]


def random_join(dice: Random, seed: int) -> JoinCase:
    ranged = dice.random() < 0.4
    many = not ranged and dice.random() < 0.05
    rows = (many_rows(dice), many_rows(dice)) if many else (some_rows(dice), some_rows(dice))
    n_keys = dice.choice((0, 0, 1, 2)) if ranged else dice.choice((1, 1, 1, 2, 3))
    domain = dice.choice((1, 3, 20, 100, 10**6)) if n_keys + ranged > 1 else dice.choice((3, 20, 100, 10**6))
    domain = 2000 if many else domain
    names = _names(dice, n_keys + ranged)
    sides: tuple[dict[str, pa.Array], dict[str, pa.Array]] = ({}, {})
    arguments: dict[str, Any] = {}
    question: dict[str, Any] = {"keys": tuple(names[:n_keys])}
    for left, right in names[:n_keys]:
        _add_columns(dice, sides, (left, right), _key_kinds(dice), rows, domain)
    if ranged:
        kinds = _near_kinds(dice)
        _add_columns(dice, sides, names[-1], kinds, rows, domain, nulls=0.05)
        _ask_for_range(dice, arguments, question, names[-1], kinds, sides)
    _name_columns(dice, arguments, names, ranged)
    for side in (0, 1):
        free = [name for name in NAMES if name not in sides[side]]
        sides[side].update(payload(dice, rows[side], dice.sample(free, dice.randrange(4))))
        if dice.random() < 0.25:
            sides[side]["ballast"] = ballast(dice, rows[side])
    left, right = (_in_some_order(dice, table_of(columns)) for columns in sides)
    _choose_means(dice, arguments, question)
    return JoinCase(left, right, arguments, question, (dice.choice(FORMS), dice.choice(FORMS)), *_stop(dice), seed=seed)


def _in_some_order(dice: Random, table: pa.Table) -> pa.Table:
    return table.select(dice.sample(table.column_names, table.num_columns))


def _names(dice: Random, n: int) -> list[tuple[str, str]]:
    lefts = dice.sample(NAMES, n)
    if dice.random() < 0.5:
        return list(zip(lefts, lefts, strict=True))
    return list(zip(lefts, dice.sample(NAMES, n), strict=True))


def _key_kinds(dice: Random) -> tuple[Kind, Kind]:
    """Of one type, or of two that meet."""
    one = dice.choice(FLAT)
    if dice.random() < 0.5:
        return one, one
    families = {
        **dict.fromkeys(NUMBERS, NUMBERS),
        "date": ("date", "local time"),
        "local time": ("date", "local time"),
        "null": tuple(KINDS),
    }.get(one.family, (one.family,))
    return one, dice.choice(KINDS[dice.choice(families)])


def _near_kinds(dice: Random) -> tuple[Kind, Kind]:
    while True:
        one, other = _key_kinds(dice)
        if one.family in (*NUMBERS, *MOMENTS) and other.family in (*NUMBERS, *MOMENTS):
            return (one, other) if dice.random() < 0.5 else (other, one)


def _add_columns(
    dice: Random,
    sides: Sequence[dict[str, pa.Array]],
    names: tuple[str, str],
    kinds: tuple[Kind, Kind],
    rows: tuple[int, int],
    domain: int,
    nulls: float | None = None,
) -> None:
    strange = dice.choice((0.0, 0.1, 0.5))
    for side in (0, 1):
        share = dice.choice((0.0, 0.1, 0.4)) if nulls is None else nulls
        sides[side][names[side]] = column(dice, kinds[side], rows[side], domain, share, strange)


def _ask_for_range(
    dice: Random,
    arguments: dict[str, Any],
    question: dict[str, Any],
    names: tuple[str, str],
    kinds: tuple[Kind, Kind],
    sides: Sequence[dict[str, pa.Array]],
) -> None:
    as_floats = any(kind.family == "float" for kind in kinds)

    def width() -> Any:
        if kinds[0].family in MOMENTS:
            days = "date" in (kinds[0].family, kinds[1].family) or dice.random() < 0.3
            number = dice.choice((0, 1, 2, 5, 400)) * (86_400 if days else 1)
            return dice.choice((dt.timedelta(seconds=number), np.timedelta64(number, "s")))
        fine = 0.5 if as_floats else 1
        whole = dice.choice((0, 1, 2, 7, 100, 2**31, 2**63, 2**64, 2**70, 10**40, fine))
        return dice.choice((whole, Decimal(whole), float(whole)))

    one, other = sorted((width(), width()), key=lambda value: limit_of(value, as_floats))
    if dice.random() < 0.4:
        arguments["within"], low, high = one, -limit_of(one, as_floats), limit_of(one, as_floats)
    else:
        low_end, high_end = dice.choice(((one, other), (-other, -one), (-one, other), (None, one), (-other, None)))
        arguments["within"] = (low_end, high_end)
        low, high = limit_of(low_end, as_floats), limit_of(high_end, as_floats)
    question.update(near=names, low=low, high=high)
    if dice.random() < 0.25:
        arguments["lateness"] = lateness = width()
        question["lateness"] = limit_of(lateness, as_floats)
        if dice.random() < 0.6:  # in order, as times mostly come
            for side in (0, 1):
                values = sides[side][names[side]]
                sides[side][names[side]] = values.take(pa.array(_order(values), pa.int64()))


def _order(values: pa.Array) -> list[int]:
    numbers = [meaning(value, values.type) for value in raw_values(values)]
    return sorted(range(len(numbers)), key=lambda at: 0 if numbers[at] in (None, "NaN") else numbers[at])


def _name_columns(dice: Random, arguments: dict[str, Any], names: Sequence[tuple[str, str]], ranged: bool) -> None:
    def put(words: tuple[str, str, str], some: Sequence[tuple[str, str]]) -> None:
        lefts, rights = [left for left, _ in some], [right for _, right in some]
        if lefts == rights and dice.random() < 0.8:
            arguments[words[0]] = lefts[0] if len(lefts) == 1 and dice.random() < 0.5 else lefts
        else:
            arguments[words[1]], arguments[words[2]] = lefts, rights

    keys = names[:-1] if ranged else names
    if ranged:
        put(("on", "left_on", "right_on"), names[-1:])
        if keys:
            put(("by", "left_by", "right_by"), keys)
    else:
        put(("on", "left_on", "right_on"), keys)


def _choose_means(dice: Random, arguments: dict[str, Any], question: dict[str, Any]) -> None:
    arguments["how"] = question["how"] = dice.choice(HOWS)
    arguments["algorithm"] = dice.choice(("auto", *sooner.algorithms()))
    arguments["memory"] = dice.choice((LEAST_MEMORY, LEAST_MEMORY, LEAST_MEMORY, 100_000, "256KB", "1MB", "1GB", None))
    arguments["workers"] = dice.choice((1, 1, 2))
    if dice.random() < 0.3:
        arguments["partitions"] = dice.choice((1, 2, 3, 8))
    if dice.random() < 0.3:
        arguments["silence_seconds"] = dice.choice((0, 0.001))
    if dice.random() < 0.3 and question["how"] not in ("semi", "anti"):
        arguments["suffixes"] = dice.choice((("_l", "_r"), ("", "_other"), ("_x", "")))
    if "near" not in question and dice.random() < 0.1:
        arguments["retention"], question["forgets"] = dice.choice(
            ((dt.timedelta(days=1), False), (dt.timedelta(milliseconds=1), True))
        )


def _stop(dice: Random) -> tuple[str, int]:
    if dice.random() < 0.75:
        return "never", 0
    return dice.choice(("head", "break", "stop")), dice.choice((0, 1, 3, 20))
