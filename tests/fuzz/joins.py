"""Random joins: schemas, values, kinds, ranges, algorithms, memory and early stops, against `join_oracle`."""

import datetime as dt
import reprlib
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import sooner
from fuzz import join_oracle
from fuzz.family import Wrong, dice_of, require
from fuzz.join_oracle import Question, Result, limit_of, meaning
from fuzz.tables import FORMS, NAMES, as_form, ballast, column, payload, shown, some_rows, table_of, with_fewer_rows
from fuzz.values import FLAT, Kind, raw_values
from sooner.errors import BudgetTooSmall, InvalidJoin, SoonerError

HOWS = ("inner", "left", "right", "full", "semi", "anti")
NUMBERS = ("integer", "float", "decimal")
MOMENTS = ("date", "local time", "instant", "duration", "time of day")
LEAST_MEMORY = 64 * 1024
MOST_RESULTS = 8_000
GONE_SECONDS = 5.0
KINDS = {family: [kind for kind in FLAT if kind.family == family] for family in {kind.family for kind in FLAT}}
DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


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


class Joins:
    name = "joins"

    def case(self, seed: int) -> JoinCase:
        dice = dice_of(self.name, seed)
        while True:
            made = _case(dice, seed)
            if _size(made) <= MOST_RESULTS:
                return made

    def check(self, case: JoinCase) -> None:
        threads = threading.active_count()
        directory = Path(tempfile.mkdtemp(prefix="sooner-fuzz-"))
        try:
            refused = _must_be_refused(case)
            try:
                _check_answer(case, directory)
            except SoonerError as error:
                require(str(error).strip() != "" and "\n" not in str(error), f"this is no sentence: {error!r}")
                if not (refused or _may_fail(case, error)):
                    raise Wrong(f"it was refused: {type(error).__name__}: {error}") from error
            else:
                require(not refused, f"it was not refused, although {refused}")
            _soon(lambda: not list(directory.iterdir()), "the spill directory is not empty")
            _soon(lambda: threading.active_count() <= threads, "threads are left")
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def shown(self, case: JoinCase) -> str:
        stop = "" if case.stop == "never" else f"\nstopped by {case.stop} after {case.after}"
        return f"{case.arguments}{stop}\n{shown(case.left, f'left as {case.forms[0]}')}\n" + shown(
            case.right, f"right as {case.forms[1]}"
        )

    def smaller(self, case: JoinCase) -> Iterator[JoinCase]:
        yield from with_fewer_rows(case)
        if case.forms != ("table", "table"):
            yield replace(case, forms=("table", "table"))


# Making cases


def _case(dice: Random, seed: int) -> JoinCase:
    rows = some_rows(dice), some_rows(dice)
    ranged = dice.random() < 0.4
    n_keys = dice.choice((0, 0, 1, 2)) if ranged else dice.choice((1, 1, 1, 2, 3))
    domain = dice.choice((1, 3, 20, 100, 10**6)) if n_keys + ranged > 1 else dice.choice((3, 20, 100, 10**6))
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
    return JoinCase(
        left, right, arguments, question, (dice.choice(FORMS), dice.choice(FORMS)), *_stop(dice), seed=seed
    )


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
    arguments["algorithm"] = dice.choice(sooner.algorithms())
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


def _size(case: JoinCase) -> int:
    """No more results than Python can compare soon."""
    if case.left.num_rows * case.right.num_rows <= MOST_RESULTS:
        return 0
    return len(_answer(case))


# What is wrong with them


def _answer(case: JoinCase) -> list[Result]:
    return join_oracle.answer(Question(case.left, case.right, **case.question))


def _must_be_refused(case: JoinCase) -> str | None:
    """Why, if it must."""
    for left, right in case.question["keys"]:
        if _most_digits(case, left, right) > 76:
            return f"{left!r} and {right!r} have more than 76 digits together"
    if case.question.get("near") is not None:
        digits = _most_digits(case, *case.question["near"])
        if digits > 38:
            return "ranges are of 38 digits at most"
        if "lateness" in case.arguments and digits > 18:
            return "lateness is of 18 digits at most"
    names = [name for name, _ in _columns(case)]
    if len(set(names)) < len(names):
        return "two columns have one name"
    return None


def _most_digits(case: JoinCase, left: str, right: str) -> int:
    """Of the decimals in which two numbers meet; none where they do not."""
    types = [_plain(case.left.schema.field(left).type), _plain(case.right.schema.field(right).type)]
    exact = all(pa.types.is_decimal(type_) or pa.types.is_integer(type_) for type_ in types)
    mixed = pa.uint64() in types and any(pa.types.is_signed_integer(type_) for type_ in types)
    if not exact or not (mixed or any(map(pa.types.is_decimal, types))):
        return 0
    scale = max(type_.scale if pa.types.is_decimal(type_) else 0 for type_ in types)
    return scale + max(
        type_.precision - type_.scale
        if pa.types.is_decimal(type_)
        else 20 if type_ == pa.uint64() else DIGITS[type_.bit_width]
        for type_ in types
    )  # fmt: skip


def _may_fail(case: JoinCase, error: SoonerError) -> bool:
    if isinstance(error, BudgetTooSmall):
        return case.arguments["algorithm"] == "symmetric_hash" and case.arguments["memory"] not in (None, "1GB")
    together = [(name, name) for name in case.shared] if case.arguments["how"] == "full" else []
    near = [case.question["near"]] if "near" in case.question else []
    return isinstance(error, InvalidJoin) and not all(_fit_together(case, *names) for names in (*together, *near))


def _fit_together(case: JoinCase, left: str, right: str) -> bool:
    """Whether the finer of two types of moments can hold all values of both: as keys of a full join they are in one
    column, and in a range they are subtracted."""
    columns = case.left[left], case.right[right]
    if not all(pa.types.is_temporal(column.type) for column in columns):
        return True
    finer = min((column.type for column in columns), key=join_oracle.nanoseconds_in_a_unit)
    unit, most = join_oracle.nanoseconds_in_a_unit(finer), 2 ** (finer.bit_width - 1)
    found = [meaning(value, column.type) for column in columns for value in raw_values(column)]
    return all(value is None or -most <= value // unit < most for value in found)


def _check_answer(case: JoinCase, directory: Path) -> None:
    dice = dice_of("forms", case.seed)
    inputs = [as_form(table, form, dice) for table, form in zip((case.left, case.right), case.forms, strict=True)]
    query = sooner.join(*inputs, **case.arguments, spill_dir=directory)
    expected = _columns(case)
    require(query.schema.names == [name for name, _ in expected], f"the columns are {query.schema.names}")
    found = pa.Table.from_batches(_batches(query, case), schema=query.schema)
    found.validate(full=True)
    for one in query.schema:
        require(one.nullable or not found[one.name].null_count, f"{one.name!r} has nulls and must not")
    _compare(case, found, expected)
    if case.stop == "never":
        _check_progress(case, query, found.num_rows)


def _batches(query: sooner.Query, case: JoinCase) -> list[pa.RecordBatch]:
    if case.stop == "head":
        return query.head(case.after).to_batches()  # type: ignore[no-any-return]
    batches: list[pa.RecordBatch] = []
    with query:
        for batch in query:
            batches.append(batch)
            if case.stop != "never" and len(batches) > case.after:
                if case.stop == "stop":
                    query.stop()
                break
    return batches


Source = tuple[int | None, int | None, bool]  # columns of the left and of the right, and whether it is a shared key


def _columns(case: JoinCase) -> list[tuple[str, Source]]:
    """The names of the results' columns, and where their values come from."""
    how, shared = case.arguments["how"], case.shared
    lefts, rights = case.left.schema.names, [] if how in ("semi", "anti") else case.right.schema.names
    suffixes = case.arguments.get("suffixes") or ("_left", "_right")
    found: list[tuple[str, Source]] = []
    for name in shared:
        places = lefts.index(name), case.right.schema.names.index(name)
        found.append((name, (None if how == "right" else places[0], places[1] if how in ("right", "full") else None, True)))
    own = [name for name in lefts if name not in shared], [name for name in rights if name not in shared]
    clashing = set(own[0]) & set(own[1])
    for side, names in enumerate(own):
        for name in names:
            called = name + suffixes[side] if name in clashing else name
            at = (lefts, rights)[side].index(name)
            found.append((called, (at, None, False) if side == 0 else (None, at, False)))
    return found


def _compare(case: JoinCase, found: pa.Table, expected: Sequence[tuple[str, Source]]) -> None:
    columns: list[tuple[list[Any] | None, list[Any] | None]] = []
    read = []
    for number, (_, (left, right, is_key)) in enumerate(expected):
        coalesced = is_key and left is not None and right is not None
        type_ = found.schema.field(number).type
        sources = [None if at is None else table.column(at) for table, at in ((case.left, left), (case.right, right))]
        if not coalesced:
            plain = next(_plain(source.type) for source in sources if source is not None)
            require(type_ == plain, f"{found.schema.names[number]!r} is {type_}, not {plain}")
        as_floats = pa.types.is_floating(type_)

        def values(column: Any, coalesced: bool = coalesced, as_floats: bool = as_floats) -> list[Any] | None:
            if column is None or not coalesced:
                return None if column is None else raw_values(column)
            return [meaning(value, column.type, as_floats) for value in raw_values(column)]

        columns.append((values(sources[0]), values(sources[1])))
        read.append(values(found.column(number)) or [])
    rows = Counter(zip(*read, strict=True) if read else ((),) * found.num_rows)
    certain, possible = Counter[Any](), Counter[Any]()
    for result in _answer(case):
        row = tuple(_value(pair, result) for pair in columns)
        possible[row] += 1
        certain[row] += result.certain
    surplus = rows - possible
    require(not surplus, f"{surplus.total()} results too many, such as {reprlib.repr(next(iter(surplus), None))}")
    if case.stop == "never":
        missing = certain - rows
        require(not missing, f"{missing.total()} results are missing, such as {reprlib.repr(next(iter(missing), None))}")
    elif case.stop == "head" and certain == possible:
        wanted = min(case.after, possible.total())
        require(found.num_rows == wanted, f"head({case.after}) has {found.num_rows} rows of {possible.total()}")


def _value(columns: tuple[list[Any] | None, list[Any] | None], result: Result) -> Any:
    left, right = columns
    if left is not None and result.left is not None:
        return left[result.left]
    return None if right is None or result.right is None else right[result.right]


def _check_progress(case: JoinCase, query: sooner.Query, results: int) -> None:
    progress = query.progress
    late = progress.late_rows or (0, 0)
    arrived = tuple(a + b for a, b in zip(progress.arrived_rows, late, strict=True))
    require(progress.phase == "done", f"the phase is {progress.phase} at the end")
    require(arrived == (case.left.num_rows, case.right.num_rows), f"{arrived} rows arrived")
    require(progress.covered_fraction == 1.0, f"{progress.covered_fraction} of the pairs are covered at the end")
    require(progress.results == results, f"{progress.results} results are counted, and {results} came")
    require(progress.resident_rows == progress.spilled_rows == 0, f"rows are left: {progress}")
    memory = case.arguments["memory"]
    if isinstance(memory, int):
        require(progress.peak_bytes <= memory, f"{progress.peak_bytes} bytes of memory were taken")


def _plain(type_: pa.DataType) -> pa.DataType:
    """Without its encoding."""
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return _plain(type_.value_type)
    return pa.large_string() if pa.types.is_string_view(type_) else type_


def _soon(holds: Any, sentence: str) -> None:
    until = time.monotonic() + GONE_SECONDS
    while not holds():
        require(time.monotonic() < until, sentence)
        time.sleep(0.001)
