"""`sooner.join` end to end, with memory for a small part of the rows: the same rows as DuckDB."""

from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sooner
from queries import Rows, join_rows, multiset, nested_loop, numbered, soon

SPILLING = [name for name in sooner.algorithms() if name != "symmetric_hash"]
SMALL = "64KB"


def spilled_on_the_way(query: sooner.Query) -> tuple[Rows, int]:
    """All results, and the most rows that were on disk."""
    found, most = Rows(), 0
    for batch in query:
        found += multiset([batch])
        most = max(most, query.progress.spilled_rows)
    return found, most


def duckdb_join(left: pa.Table, right: pa.Table, sql: str) -> Rows:
    with duckdb.connect() as database:
        database.register("l", left)
        database.register("r", right)
        return multiset(database.sql(sql).to_arrow_table())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPILLING)
def test_every_algorithm_gives_the_answer_with_little_memory(name: str, tmp_path: Path) -> None:
    left = numbered(3000, keys=900, seed=1, name="a").append_column(
        "text", pa.array([f"text {n}" * (n % 5) for n in range(3000)])
    )
    right = numbered(3000, keys=900, seed=2, name="b").append_column(
        "maybe", pa.array([None if n % 3 else n for n in range(3000)])
    )
    query = sooner.join(left, right, on="k", algorithm=name, memory=SMALL, spill_dir=tmp_path)
    found, spilled_rows = soon(lambda: spilled_on_the_way(query))
    assert found == duckdb_join(left, right, "select l.k, a, text, b, maybe from l join r on l.k = r.k")
    assert spilled_rows > 1000
    assert query.progress.peak_bytes <= 64 * 1024
    assert list(tmp_path.iterdir()) == []


def test_a_symmetric_hash_join_gives_the_answer_with_enough_memory() -> None:
    left, right = numbered(3000, name="a", seed=1), numbered(3000, name="b", seed=2)
    query = sooner.join(left, right, on="k", algorithm="symmetric_hash")
    found, spilled_rows = soon(lambda: spilled_on_the_way(query))
    assert found == duckdb_join(left, right, "select l.k, a, b from l join r on l.k = r.k")
    assert spilled_rows == 0


def some_of(values: list[object], n_rows: int, seed: int) -> list[object]:
    return [values[i] for i in np.random.default_rng(seed).integers(0, len(values), n_rows)]


KEYS = {
    "text": (pa.string(), pa.string(), ["", "a", "b", "ä", "a" * 300, None, "\N{SNOWMAN}"]),
    "text of two sizes": (pa.string(), pa.large_string(), ["", "a", "b", "long " * 60, None]),
    "bytes": (pa.binary(), pa.binary(), [b"", b"\0", b"\0\0", b"a", None]),
    "floats": (pa.float64(), pa.float64(), [0.0, -0.0, float("nan"), 1.5, float("inf"), None]),
    "floats and integers": (pa.float64(), pa.int64(), [0, 1, 2, 3, None]),
    "small and large integers": (pa.int8(), pa.int64(), [-3, 0, 1, 2, 99, None]),
    "decimals and integers": (pa.decimal128(10, 2), pa.int32(), [Decimal(1), Decimal(2), Decimal(70), None]),
    "booleans": (pa.bool_(), pa.bool_(), [True, False, None]),
    "only nulls": (pa.int64(), pa.int64(), [None]),
}


@pytest.mark.parametrize("algorithm", ["rpj", "xjoin", "hmj"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_kind_match_by_sparks_rules(kind: str, algorithm: str) -> None:
    left_type, right_type, values = KEYS[kind]
    left = pa.table({"k": pa.array(some_of(values, 300, 1), left_type), "a": range(300), "ballast": ["x" * 300] * 300})
    right = pa.table({"k": pa.array(some_of(values, 300, 2), right_type), "b": range(300)})
    query = sooner.join(left, right, on="k", algorithm=algorithm, memory=SMALL)
    table = soon(query.to_table)
    found = list(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
    assert multiset(table.select(["a", "b"])) == nested_loop(left, right, ["k"], ["k"])
    assert len(found) > 0 or kind == "only nulls"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("algorithm", SPILLING)
def test_composite_keys_must_be_equal_in_every_part(algorithm: str) -> None:
    def table(seed: int, names: list[str]) -> pa.Table:
        columns = {
            names[0]: pa.array(some_of(["a", "b", "ab", "", None], 400, seed), pa.string()),
            names[1]: pa.array(some_of(list(range(12)), 400, seed + 1), pa.int32()),
            names[2]: pa.array(some_of([0.0, -0.0, float("nan"), 2.5, None], 400, seed + 2), pa.float64()),
        }
        return pa.table({**columns, f"row{seed}": range(400), f"ballast{seed}": ["x" * 200] * 400})

    left, right = table(10, ["s", "i", "f"]), table(20, ["text", "number", "float"])
    keys = {"left_on": ["s", "i", "f"], "right_on": ["text", "number", "float"]}
    query = sooner.join(left, right, **keys, algorithm=algorithm, memory=SMALL)
    table_found = soon(query.to_table)
    assert multiset(table_found.select(["row10", "row20"])) == nested_loop(left, right, *keys.values())


def test_a_table_can_be_joined_with_itself() -> None:
    table = numbered(200, keys=20)
    found = join_rows(sooner.join(table, table, on="k"))
    assert found == duckdb_join(table, table, "select l.k, l.row, r.row as other from l join r on l.k = r.k")


def test_an_empty_input_gives_an_empty_answer_with_all_columns() -> None:
    empty = numbered(10).slice(0, 0)
    result = soon(sooner.join(numbered(10, name="a"), empty, on="k").to_table)
    assert result.num_rows == 0
    assert result.column_names == ["k", "a", "row"]


@pytest.mark.parametrize("kind", ["dictionary", "struct", "list", "string view", "run ends", "view in a struct"])
def test_columns_of_any_type_can_be_spilled(kind: str) -> None:
    texts = [None if n % 5 == 0 else f"value {n % 7}" for n in range(3000)]
    column = {
        "dictionary": lambda: pa.array(texts).dictionary_encode(),
        "struct": lambda: pa.array([{"t": text, "n": 1} for text in texts]),
        "list": lambda: pa.array([[text] for text in texts]),
        "string view": lambda: pa.array(texts, pa.string_view()),
        "run ends": lambda: pa.RunEndEncodedArray.from_arrays(
            pa.array([1000, 3000], pa.int32()), pa.array(["x", None])
        ),
        "view in a struct": lambda: pa.StructArray.from_arrays([pa.array(texts, pa.string_view())], ["view"]),
    }[kind]()
    left = numbered(3000, keys=2000, seed=1, name="a").append_column("c", column)
    right = numbered(3000, keys=2000, seed=2, name="b")
    query = sooner.join(left, right, on="k", memory=SMALL)
    result = soon(query.to_table)
    assert multiset(result.select(["a", "b"])) == nested_loop(left, right, ["k"], ["k"])
    assert result["c"].to_pylist() == [column[a].as_py() for a in result["a"].to_pylist()]


def test_list_views_are_refused() -> None:
    views = pa.table({"k": [1], "v": pa.array([["a"]], pa.list_view(pa.string()))})
    with pytest.raises(sooner.InvalidJoin, match="column 'v' is a list_view"):
        sooner.join(views, views, on="k")


def test_dictionaries_that_differ_between_batches_are_no_obstacle() -> None:
    def batch(number: int) -> pa.RecordBatch:
        words = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([f"a{number}", f"b{number}"]))
        return pa.record_batch([pa.array([number, number]), words], ["k", "word"])

    left = pa.Table.from_batches([batch(number) for number in range(200)])
    result = soon(sooner.join(left, pa.table({"k": range(200)}), on="k").to_table)
    assert sorted(result["word"].to_pylist()) == sorted(f"{letter}{n}" for n in range(200) for letter in "ab")
