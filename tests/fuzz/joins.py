"""Random joins (`join_cases`) against plain Python (`join_oracle`): all that comes out, and what is left behind."""

import reprlib
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import sooner
from fuzz import join_oracle
from fuzz.family import Wrong, dice_of, require
from fuzz.join_cases import JoinCase, random_join
from fuzz.join_oracle import Question, Result, meaning
from fuzz.tables import inputs_of, shown, with_fewer_rows
from fuzz.values import raw_values
from sooner.errors import BudgetTooSmall, InvalidJoin, SoonerError

MOST_RESULTS = 8_000
GONE_SECONDS = 5.0
DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


class Joins:
    name = "joins"

    def case(self, seed: int) -> JoinCase:
        dice = dice_of(self.name, seed)
        while True:
            made = random_join(dice, seed)
            if _size(made) <= MOST_RESULTS:
                return made

    def check(self, case: JoinCase) -> None:
        threads = threading.active_count()
        directory = Path(tempfile.mkdtemp(prefix="sooner-fuzz-"))
        spilled = directory / "spilled"
        spilled.mkdir()
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
            _soon(lambda: not list(spilled.iterdir()), "the spill directory is not empty")
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


def _size(case: JoinCase) -> int:
    """No more results than Python can compare soon."""
    if case.left.num_rows * case.right.num_rows <= MOST_RESULTS:
        return 0
    return len(_answer(case))


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
    if case.arguments["how"] == "full" and (
        "no type has all values" in str(error) or "of which there is no" in str(error)
    ):
        return True  # all keys of both sides would have to be in one column
    together = [(name, name) for name in case.shared] if case.arguments["how"] == "full" else []
    near = [case.question["near"]] if "near" in case.question else []
    return isinstance(error, InvalidJoin) and not all(_fit_together(case, *names) for names in (*together, *near))


def _fit_together(case: JoinCase, left: str, right: str) -> bool:
    """Whether the finer of two types of moments can hold all values of both: as keys of a full join they are in one
    column, and in a range they are subtracted.
    """
    columns = case.left[left], case.right[right]
    if not all(pa.types.is_temporal(column.type) for column in columns):
        return True
    finer = min((column.type for column in columns), key=join_oracle.nanoseconds_in_a_unit)
    unit, most = join_oracle.nanoseconds_in_a_unit(finer), 2 ** (finer.bit_width - 1)
    found = [meaning(value, column.type) for column in columns for value in raw_values(column)]
    return all(value is None or -most <= value // unit < most for value in found)


def _check_answer(case: JoinCase, directory: Path) -> None:
    query = sooner.join(*inputs_of(case, directory), **case.arguments, spill_dir=directory / "spilled")
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
        found.append(
            (name, (None if how == "right" else places[0], places[1] if how in ("right", "full") else None, True))
        )
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
        require(
            not missing, f"{missing.total()} results are missing, such as {reprlib.repr(next(iter(missing), None))}"
        )
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
