"""Left, right, full, semi and anti joins end to end: DuckDB's rows, as early as they are certain."""

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from joins import DISTINCT, OTHER_JOINS
from queries import Gated, Rows, gated, join_rows, multiset, refused, soon, wait_for, wait_until
from sooner.errors import InvalidJoin
from sooner.how import KINDS, How
from sooner.progress import Progress

SPILLING = [name for name in DISTINCT if name != "symmetric_hash"]
SMALL = "64KB"
SQL = {
    "inner": "select l.k, a, text, b from l join r on l.k = r.k",
    "left": "select l.k, a, text, b from l left join r on l.k = r.k",
    "right": "select r.k, a, text, b from l right join r on l.k = r.k",
    "full": "select coalesce(l.k, r.k), a, text, b from l full join r on l.k = r.k",
    "semi": "select k, a, text from l semi join r on l.k = r.k",
    "anti": "select k, a, text from l anti join r on l.k = r.k",
}


def expected(left: pa.Table, right: pa.Table, how: str) -> Rows:
    with duckdb.connect() as database:
        database.register("l", left)
        database.register("r", right)
        return multiset(database.sql(SQL[how]).to_arrow_table())


def keys(n_rows: int, low: int, high: int, seed: int, nulls: float = 0.05, hot: float = 0.0) -> list[int | None]:
    """So many keys; some are null, and some are one and the same."""
    dice = np.random.default_rng(seed)
    drawn = np.where(dice.random(n_rows) < hot, high - 1, dice.integers(low, high, n_rows)).tolist()
    return [None if chance < nulls else key for key, chance in zip(drawn, dice.random(n_rows), strict=True)]


def left_of(some: list[int | None], type_: pa.DataType | None = None) -> pa.Table:
    numbers = range(len(some))
    texts = [f"text {n}" * (n % 5) for n in numbers]
    return pa.table({"a": numbers, "k": pa.array(some, pa.int64()).cast(type_ or pa.int64()), "text": texts})


def right_of(some: list[int | None], type_: pa.DataType | None = None) -> pa.Table:
    return pa.table({"k": pa.array(some, pa.int64()).cast(type_ or pa.int64()), "b": range(len(some))})


LEFT, RIGHT = left_of(keys(2500, 0, 900, 1)), right_of(keys(2500, 450, 1350, 2))
WIDE_LEFT = LEFT.set_column(2, "text", pa.array([f"text {n}" * 40 for n in range(len(LEFT))]))


def left_for_every_algorithm(how: How) -> pa.Table:
    return WIDE_LEFT if how in ("semi", "anti") else LEFT


@cache
def answer_for_every_algorithm(how: How) -> Rows:
    return expected(left_for_every_algorithm(how), RIGHT, how)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("name", SPILLING)
def test_every_algorithm_gives_the_answer_with_little_memory(name: str, how: How, tmp_path: Path) -> None:
    left = left_for_every_algorithm(how)
    right = gated(RIGHT, lambda: wait_until(query, lambda progress: progress.arrived_rows[0] == len(left)))
    query = sooner.join(left, right, on="k", how=how, algorithm=name, memory=SMALL, spill_dir=tmp_path)
    found, most_spilled = Rows(), 0

    def read() -> None:
        nonlocal most_spilled
        for batch in query:
            found.update(multiset([batch]))
            most_spilled = max(most_spilled, query.progress.spilled_rows)

    soon(read)
    assert found == answer_for_every_algorithm(how)
    assert most_spilled > 500
    assert query.progress.peak_bytes <= 64 * 1024
    assert list(tmp_path.iterdir()) == []


NOTHING: list[int | None] = []
TABLES: dict[str, tuple[list[int | None], list[int | None]]] = {
    "an empty left": (NOTHING, keys(300, 0, 50, 1)),
    "an empty right": (keys(300, 0, 50, 1), NOTHING),
    "nothing at all": (NOTHING, NOTHING),
    "only nulls on the left": ([None] * 200, keys(200, 0, 50, 2)),
    "only nulls on the right": (keys(200, 0, 50, 2), [None] * 200),
    "only nulls": ([None] * 200, [None] * 300),
    "nothing matches": (keys(400, 0, 50, 3), keys(400, 50, 100, 4)),
    "everything matches": (keys(100, 0, 5, 3, nulls=0), keys(100, 0, 5, 4, nulls=0)),
    "a hot key on both sides": (keys(400, 0, 200, 5, hot=0.3), keys(400, 100, 200, 6, hot=0.3)),
    "a hot key on the left alone": (keys(2000, 0, 200, 5, hot=0.6), keys(300, 0, 150, 6)),
    "a hot key on the right alone": (keys(300, 0, 150, 6), keys(2000, 0, 200, 5, hot=0.6)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind(kind: str, how: How) -> None:
    for type_, algorithm, memory in ((pa.string(), "xjoin", SMALL), (pa.int64(), "hmj", None)):
        left, right = left_of(TABLES[kind][0], type_), right_of(TABLES[kind][1], type_)
        found = join_rows(sooner.join(left, right, on="k", how=how, algorithm=algorithm, memory=memory))
        assert found == expected(left, right, how), f"{type_}, {algorithm}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("last", ["left", "right"])
@pytest.mark.parametrize("memory", [SMALL, None])
def test_ends_in_either_order(how: How, last: str, memory: str | None) -> None:
    """One side waits in the middle until the other has been read to its end."""
    ended = threading.Event()
    sides = {"left": LEFT, "right": RIGHT}
    first = "right" if last == "left" else "left"
    sources = {last: gated(sides[last], wait_for(ended)), first: ending(sides[first], ended.set)}
    found = join_rows(sooner.join(sources["left"], sources["right"], on="k", how=how, memory=memory))
    assert found == expected(LEFT, RIGHT, how)


def ending(table: pa.Table, then: Callable[[], object]) -> Gated:
    return Gated([*table.to_batches(max_chunksize=500), then], table.schema)


# As early as it is certain


def test_a_row_that_matches_nothing_comes_when_the_other_side_has_ended_although_more_may_come() -> None:
    goes_on, came = threading.Event(), threading.Event()
    left = gated(LEFT, wait_for(goes_on))
    query = sooner.join(left, RIGHT, on="k", how="left", memory=SMALL)
    half = LEFT.slice(0, left_rows_before(left))
    unmatched = expected(half, RIGHT, "left") - expected(half, RIGHT, "inner")
    found = Rows()

    def read() -> None:
        for batch in query:
            found.update(multiset([batch]))
            if not goes_on.is_set() and unmatched <= found:
                came.set()
                goes_on.set()

    soon(read)
    assert came.is_set()
    assert found == expected(LEFT, RIGHT, "left")


def left_rows_before(source: Gated) -> int:
    batches = [step for step in source.steps if not callable(step)]
    return sum(batch.num_rows for batch in batches[: len(batches) // 2])


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_a_row_without_a_key_comes_at_once(how: How) -> None:
    goes_on = threading.Event()
    left = pa.table({"k": pa.array([None], pa.int64()), "a": [7]})
    query = sooner.join(left, gated(RIGHT, wait_for(goes_on)), on="k", how=how)

    def read() -> None:
        for batch in query:
            if 7 in batch.column("a").to_pylist():
                goes_on.set()

    soon(read)
    assert goes_on.is_set()


def test_a_left_row_of_a_semi_join_comes_at_its_first_match_and_leaves_the_state() -> None:
    looked: list[Progress] = []

    def look() -> None:
        looked.append(wait_until(query, lambda progress: progress.forgotten_rows_by_side[0] == 100))

    sevens = right_of([7, 7, 7]).to_batches()
    query = sooner.join(
        left_of([7] * 100 + [8] * 50), Gated([*sevens, look, *sevens], RIGHT.schema), on="k", how="semi"
    )
    assert join_rows(query) == expected(left_of([7] * 100), right_of([7]), "semi")
    assert (looked[0].results, looked[0].resident_rows_by_side[0]) == (100, 50)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_of_the_right_each_key_is_kept_once(how: How) -> None:
    """The left begins when all of the right is there."""
    looked: list[Progress] = []

    def look() -> None:
        looked.append(wait_until(query, lambda progress: progress.forgotten_rows_by_side[1] == 1000 - 60))

    right = right_of(keys(1000, 0, 60, 1, nulls=0))
    left = Gated([look, *LEFT.to_batches()], LEFT.schema)
    query = sooner.join(left, ending(right, lambda: None), on="k", how=how)
    assert join_rows(query) == expected(LEFT, right, how)
    assert looked[0].resident_rows_by_side[1] == 60


@pytest.mark.parametrize("how", ["left", "full", "anti", "semi"])
@pytest.mark.parametrize("memory", [SMALL, None])
def test_an_endless_side_can_be_finished(how: How, memory: str | None) -> None:
    """What its source would still give is left out, and rows of the other side are decided."""

    def finish() -> None:
        wait_until(query, lambda progress: progress.arrived_rows[1] == RIGHT.num_rows)
        query.finish("right")

    more = right_of(keys(100, 0, 900, 7)).to_batches()
    endless = Gated([*RIGHT.to_batches(max_chunksize=500), finish, *more], RIGHT.schema)
    query = sooner.join(LEFT, endless, on="k", how=how, memory=memory)
    assert join_rows(query) == expected(LEFT, RIGHT, how)
    assert endless.closed.is_set()


def test_only_an_input_can_be_finished() -> None:
    with refused(InvalidJoin, "side='top'", "'left' or 'right'"):
        sooner.join(LEFT, RIGHT, on="k").finish("top")  # type: ignore[arg-type]


# Columns


@pytest.mark.parametrize(
    ("how", "columns"),
    [
        ("inner", {"k": "int32", "a": "string", "b": "double"}),
        ("left", {"k": "int32", "a": "string", "b": "double"}),
        ("right", {"k": "int64", "a": "string", "b": "double"}),
        ("full", {"k": "int64", "a": "string", "b": "double"}),
        ("semi", {"k": "int32", "a": "string"}),
        ("anti", {"k": "int32", "a": "string"}),
    ],
)
def test_a_key_of_one_name_comes_once_and_first_from_the_side_that_is_there(how: How, columns: dict[str, str]) -> None:
    left = pa.table({"a": ["x", "y"], "k": pa.array([1, 2], pa.int32())})
    right = pa.table({"k": pa.array([2, 3], pa.int64()), "b": [0.5, 1.5]})
    result = sooner.join(left, right, on="k", how=how).to_table()
    assert {field.name: str(field.type) for field in result.schema} == columns
    rows = {
        "inner": [(2, "y", 0.5)],
        "left": [(1, "x", None), (2, "y", 0.5)],
        "right": [(2, "y", 0.5), (3, None, 1.5)],
        "full": [(1, "x", None), (2, "y", 0.5), (3, None, 1.5)],
        "semi": [(2, "y")],
        "anti": [(1, "x")],
    }
    assert sorted(zip(*(column.to_pylist() for column in result.columns), strict=True)) == rows[how]


def test_keys_of_other_names_are_null_with_their_side() -> None:
    left, right = pa.table({"x": [1, 2], "a": [10, 20]}), pa.table({"y": [2, 3], "b": [200, 300]})
    result = sooner.join(left, right, left_on="x", right_on="y", how="outer").to_table().sort_by("b")
    assert result.to_pydict() == {"x": [2, None, 1], "a": [20, None, 10], "y": [2, 3, None], "b": [200, 300, None]}


def test_columns_that_may_be_missing_may_be_null() -> None:
    fields = [pa.field(name, pa.int64(), nullable=False) for name in "kab"]
    left = pa.table([[1], [2]], schema=pa.schema([fields[0], fields[1]]))
    right = pa.table([[1], [2]], schema=pa.schema([fields[0], fields[2]]))
    nullable = {
        how: [field.nullable for field in sooner.join(left, right, on="k", how=how).schema]  # type: ignore[arg-type]
        for how in KINDS
    }
    assert nullable == {
        "inner": [False, False, False],
        "left": [False, False, True],
        "right": [False, True, False],
        "full": [True, True, True],
        "semi": [False, False],
        "anti": [False, False],
    }


@pytest.mark.parametrize("kind", ["dictionary", "struct", "list", "map", "text", "binary", "bool", "fixed", "null"])
def test_columns_of_any_type_can_be_missing(kind: str) -> None:
    column = {
        "dictionary": lambda: pa.array(["x"]).dictionary_encode(),
        "struct": lambda: pa.array([{"t": "x", "n": 1}]),
        "list": lambda: pa.array([["x"]]),
        "map": lambda: pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64())),
        "text": lambda: pa.array(["x"], pa.large_string()),
        "binary": lambda: pa.array([b"x"]),
        "bool": lambda: pa.array([True]),
        "fixed": lambda: pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2)),
        "null": lambda: pa.nulls(1),
    }[kind]()
    right = pa.table({"k": [1], "c": column})
    result = sooner.join(pa.table({"k": [1, 2]}), right, on="k", how="left").to_table().sort_by("k")
    assert result["c"].to_pylist() == [column[0].as_py(), None]


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_no_other_column_of_the_right_is_read(how: How, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    wide = RIGHT.append_column("ballast", pa.array(["x" * 1000] * len(RIGHT)))
    pq.write_table(wide, tmp_path / "right.parquet")
    for right in (tmp_path / "right.parquet", wide, pa.Table.from_batches(wide.to_batches(100)).to_reader()):
        query = sooner.join(LEFT, right, on="k", how=how, memory=None)
        assert join_rows(query) == expected(LEFT, RIGHT, how)
        assert query.progress.peak_bytes < 2**20


@pytest.mark.parametrize("how", ["LEFT", "left_outer", "leftouter", "Left Outer"])
def test_words_of_others_for_the_same_join(how: str) -> None:
    query = sooner.join(LEFT, RIGHT, on="k", how=how)  # type: ignore[arg-type]
    assert join_rows(query) == expected(LEFT, RIGHT, "left")
