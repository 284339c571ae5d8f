"""Random aggregates over random joins: the last estimate is the exact answer, which DuckDB's rows give."""

import datetime as dt
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import sooner
from fuzz import duckdb_oracle as oracle
from fuzz.expressions import KINDS, Maker
from fuzz.family import Wrong, dice_of, require
from fuzz.tables import FORMS, PARQUET, inputs_of, shown, some_rows, table_of, with_fewer_rows
from fuzz.values import decimal_of
from sooner.errors import BudgetTooSmall, SoonerError

FUNCTIONS = ("count", "sum", "sum", "avg", "variance", "stddev")
ALGORITHMS = ("pr_join", "ripple", "grace")
KEY_TYPES = ("int64", "string", "float64", "date32")
_EXPECTED = ("AS DOUBLE", "in no year", "is NULL")
EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class EstimateCase:
    left: pa.Table
    right: pa.Table
    aggregates: dict[str, tuple[str, str]]
    by: list[str]
    where: str | None
    arguments: dict[str, Any]
    forms: tuple[str, str]
    wild: bool
    seed: int


class Estimates:
    name = "estimates"

    def case(self, seed: int) -> EstimateCase:
        dice = dice_of(self.name, seed)
        wild = dice.random() < 0.4
        kinds: dict[str, str] = {}
        key_type = dice.choice(KEY_TYPES)
        tables = [random_table(dice, side, key_type, kinds, wild) for side in "lr"]
        maker = Maker(dice, kinds, wild=wild)
        depth = dice.choice((0, 1, 1, 2, 3))
        aggregates = {}
        for number in range(dice.choice((1, 1, 2, 3))):
            function = dice.choice(FUNCTIONS)
            of = maker.any(depth) if function == "count" else maker.number(depth)
            aggregates[f"result {number}"] = (function, "*" if function == "count" and dice.random() < 0.3 else of)
        by = dice.sample(sorted(kinds), min(dice.choice((0, 0, 1, 1, 2)), len(kinds)))
        if dice.random() < 0.2:
            by = list(dict.fromkeys([*by[:1], maker.of(dice.choice(("whole", "flag", "word", "day", "decimal")), 1)]))
        where = maker.of("flag", dice.choice((1, 2))) if dice.random() < 0.5 else None
        forms = dice.choice((*FORMS, PARQUET)), dice.choice((*FORMS, PARQUET))
        arguments: dict[str, Any] = {
            "algorithm": dice.choice(ALGORITHMS),
            "memory": dice.choice((64 * 1024, 64 * 1024, 200_000, "1GB", None)),
            "seed": dice.randrange(3),
            "workers": dice.choice((1, 2)),
        }
        if not all(form in ("table", "chunks", "slices", PARQUET) for form in forms) or dice.random() < 0.2:
            arguments["sampling"] = dice.choice(("rows", "blocks"))
        return EstimateCase(*tables, aggregates, by, where, arguments, forms, wild, seed)

    def check(self, case: EstimateCase) -> None:
        try:
            rows: oracle.Rows | None = oracle.rows_of(query_of(case), {"l": case.left, "r": case.right})
        except oracle.Refused:
            rows = None
        try:
            found = _final(case)
        except SoonerError as error:
            require(str(error).strip() != "" and "\n" not in str(error), f"this is no sentence: {error!r}")
            if not case.wild and rows is not None and not is_expected(error):
                raise Wrong(f"it was refused: {type(error).__name__}: {error}") from error
            return
        if rows is not None:
            _compare(case, found, rows)

    def shown(self, case: EstimateCase) -> str:
        asked = f"aggregates={case.aggregates}, by={case.by}, where={case.where!r}"
        tables = [
            shown(table, f"{side} as {form}")
            for table, side, form in zip((case.left, case.right), ("left", "right"), case.forms, strict=True)
        ]
        return "\n".join([asked, str(case.arguments), *tables])

    def smaller(self, case: EstimateCase) -> Iterator[EstimateCase]:
        for name in case.aggregates if len(case.aggregates) > 1 else ():
            yield replace(case, aggregates={name: case.aggregates[name]})
        if case.where is not None:
            yield replace(case, where=None)
        for at in range(len(case.by)):
            yield replace(case, by=case.by[:at] + case.by[at + 1 :])
        yield from with_fewer_rows(case)


def is_expected(error: SoonerError) -> bool:
    """Numbers of more digits than stay exact, years that there are not, parts that are NULL by themselves, and groups
    that take more than the memory.
    """
    return isinstance(error, BudgetTooSmall) or any(words in str(error) for words in _EXPECTED)


def random_table(dice: Random, side: str, key_type: str, kinds: dict[str, str], wild: bool) -> pa.Table:
    """A key, and columns whose names and kinds go to `kinds`."""
    rows = some_rows(dice)
    columns = {"k": _keys(dice, rows, key_type)}
    for kind in dice.sample(KINDS, dice.randrange(1, 5)):
        name = f"{side}{kind[0]}{len(columns)}"
        kinds[name] = kind
        columns[name] = random_column(dice, kind, rows, wild)
    return table_of(columns)


def _keys(dice: Random, rows: int, type_: str) -> pa.Array:
    domain, values = dice.choice((1, 5, 50, 1000)), []
    for _ in range(rows):
        number = dice.randrange(domain)
        value: Any = f"key {number}" if type_ == "string" else float(number) if type_ == "float64" else number
        values.append(None if dice.random() < 0.05 else value)
    if type_ == "date32":
        return pa.array(values, pa.int32()).view(pa.date32())
    return pa.array(values, type_)


def random_column(dice: Random, kind: str, rows: int, wild: bool) -> pa.Array:
    nulls = dice.choice((0.0, 0.0, 0.2, 1.0))
    type_ = dice.choice(_types(kind, wild))
    values = [None if dice.random() < nulls else _value(dice, kind, type_, wild) for _ in range(rows)]
    array = pa.array(values, type_)
    return array.dictionary_encode() if kind == "word" and dice.random() < 0.2 else array


def _types(kind: str, wild: bool) -> tuple[pa.DataType, ...]:
    return {
        "whole": (pa.int64(), pa.int64(), pa.int32(), pa.int8(), *((pa.uint64(), pa.uint32()) if wild else ())),
        "decimal": (pa.decimal128(9, 2), pa.decimal128(15, 4), *((pa.decimal128(38, 3),) if wild else ())),
        "real": (pa.float64(), pa.float64(), pa.float32()),
        "flag": (pa.bool_(),),
        "word": (pa.string(), pa.large_string()),
        "day": (pa.date32(),),
        "moment": (pa.timestamp("us"), pa.timestamp("s"), pa.timestamp("ms")),
    }[kind]


def _value(dice: Random, kind: str, type_: pa.DataType, wild: bool) -> Any:
    extreme = wild and dice.random() < 0.2
    match kind:
        case "whole":
            bits = type_.bit_width - pa.types.is_signed_integer(type_)
            low = 0 if pa.types.is_unsigned_integer(type_) else -100
            return dice.choice((2**bits - 1, 2**bits // 2, low)) if extreme else dice.randrange(low, 100)
        case "decimal":
            most = 10**type_.precision - 1 if extreme else min(10**type_.precision - 1, 10**6)
            unscaled = dice.choice((most, -most, 1)) if extreme else dice.randrange(-most, most)
            return decimal_of(unscaled, type_.scale)
        case "real":
            strange = (math.nan, math.inf, -math.inf, -0.0, 1e-300, 1e300 if type_ == pa.float64() else 1e30)
            return dice.choice(strange) if extreme else dice.choice((dice.uniform(-10, 10), float(dice.randrange(5))))
        case "flag":
            return dice.random() < 0.5
        case "word":
            strange_words = ("", "a\0", "ß", "\U0001f600", "ä%", "back\\slash", "it's")
            return dice.choice(strange_words) if dice.random() < 0.1 else f"text {dice.randrange(6)}"
        case "day":
            return dt.date(1970, 1, 1) + dt.timedelta(dice.randrange(-500, 500))
    micros = 1 if type_.unit == "us" else 10**6
    return EPOCH + dt.timedelta(microseconds=dice.randrange(-(10**13), 10**13) // micros * micros)


def query_of(case: EstimateCase) -> str:
    """The rows of the join: what they are grouped by, and what is aggregated."""
    items = [
        *(f"({text})" for text in case.by),
        *("1" if of == "*" else f"({of})" for _, of in case.aggregates.values()),
    ]
    where = "" if case.where is None else f" WHERE {case.where}"
    return f"SELECT {', '.join(items)} FROM l JOIN r USING (k){where}"


def _final(case: EstimateCase) -> sooner.Estimate:
    asked = {"aggregates": case.aggregates, "by": case.by or None, "where": case.where, **case.arguments}
    with tempfile.TemporaryDirectory(prefix="sooner-fuzz-") as directory:
        found = list(sooner.estimate(*inputs_of(case, Path(directory)), on="k", **asked))
    for one in found:
        for group in one.values.values():
            for value in group.values():
                check_interval(value, exact=one.exact)
    require(found[-1].exact, "the last estimate is not exact")
    require([one.exact for one in found[:-1]].count(True) == 0, "an estimate before the last is exact")
    return found[-1]


def check_interval(value: Any, *, exact: bool) -> None:
    if (
        value.low is not None
        and value.value is not None
        and not any(map(_is_nan, (value.low, value.value, value.high)))
    ):
        require(value.low <= value.value <= value.high, f"an interval does not hold its own value: {value}")
        require(not exact or value.low == value.value == value.high, f"what is exact has an interval: {value}")


def _is_nan(number: Any) -> bool:
    return isinstance(number, float) and math.isnan(number)


def _compare(case: EstimateCase, found: sooner.Estimate, rows: oracle.Rows) -> None:
    expected = oracle.grouped(rows, len(case.by))
    groups = {oracle.group_key(key): values for key, values in found.values.items()}
    require(len(groups) == len(found.values), f"a group is there twice: {list(found.values)}")
    require(groups.keys() == expected.keys(), f"the groups differ by {list(groups.keys() ^ expected.keys())[:3]}")
    for key, of_group in expected.items():
        for at, (name, (function, _)) in enumerate(case.aggregates.items()):
            compare_value(groups[key][name].value, function, [row[at] for row in of_group], f"{name} of {key}")


def compare_value(found: Any, function: str, values: list[Any], what: str) -> None:
    known, size = oracle.aggregate(function, values)
    if isinstance(known, Fraction):
        right = found is not None and not isinstance(found, float) and Fraction(found) == known
    else:
        right = oracle.same(found, known, size)
    require(right, f"{what} is {found!r}, and {function} of {len(values)} values is {known!r}")
