"""`sooner.estimate`: the end is DuckDB's answer, and on the way there is nothing that is not so."""

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sooner
from sooner.errors import InvalidJoin

ROWS, KEYS = 20_000, 3_000


def orders(rows: int = ROWS) -> pa.Table:
    dice = np.random.default_rng(11)
    cents = pa.array([Decimal(int(one)).scaleb(-2) for one in dice.integers(0, 10**7, rows)], pa.decimal128(15, 2))
    return pa.table(
        {
            "k": pa.array(np.sort(dice.integers(0, KEYS, rows))),
            "price": cents,
            "x": pa.array([None if one < 500 else int(one) for one in dice.integers(0, 10_000, rows)]),
            "g": pa.array(dice.choice(["a", "b", None], rows)),
        }
    )


def customers() -> pa.Table:
    dice = np.random.default_rng(12)
    return pa.table({"k": np.arange(KEYS), "h": dice.integers(0, 3, KEYS), "y": dice.normal(size=KEYS)})


def as_files(folder: Path, **tables: pa.Table) -> list[str]:
    """In the order of their keys, in small row groups: blocks that can match are told apart."""
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=500)
    return [str(folder / f"{name}.parquet") for name in tables]


AGGREGATES: dict[str, Any] = {
    "n": "count",
    "x_n": ("count", "x"),
    "total": ("sum", "price * (1 - 0.05)"),
    "weighted": ("sum", "x * y"),
    "mean": ("avg", "price"),
    "spread": ("stddev", "x"),
}
QUERY = """
    SELECT g, h, count(*), count(x), sum(price * (1 - 0.05)), sum(x * y), avg(price), stddev(x)
    FROM left_ JOIN right_ USING (k) WHERE x > 1000 AND h < 2 GROUP BY g, h ORDER BY g NULLS LAST, h
"""
WHERE = "x > 1000 AND h < 2"


def duckdb_s(left_: pa.Table, right_: pa.Table) -> list[tuple[Any, ...]]:  # noqa: ARG001 - by their names
    return duckdb.sql(QUERY).fetchall()


def require_same(found: sooner.Estimate, expected: list[tuple[Any, ...]]) -> None:
    assert found.exact and found.relative_error == 0 and found.share_read == 1
    assert list(found.values) == [row[:2] for row in expected]
    for group, row in zip(found.values.values(), expected, strict=True):
        for value, theirs in zip(group.values(), row[2:], strict=True):
            if isinstance(theirs, float):
                assert value.value == pytest.approx(theirs, rel=1e-9)
            else:
                assert value.value == theirs and not isinstance(value.value, float)


@pytest.mark.parametrize("memory", ["1GB", "256KB"])
@pytest.mark.parametrize("kind", ["tables", "files", "readers"])
def test_the_end_is_duckdbs_answer(kind: str, memory: str, tmp_path: Path) -> None:
    left, right = orders(), customers()
    expected = duckdb_s(left, right)
    inputs: list[Any] = [left, right]
    if kind == "files":
        inputs = as_files(tmp_path, left=left, right=right)
    if kind == "readers":
        inputs = [pa.RecordBatchReader.from_batches(one.schema, one.to_batches(1_000)) for one in inputs]
    sampling = "blocks" if kind == "readers" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # keys are in order here, which is said of readers
        query = sooner.estimate(
            *inputs, on="k", aggregates=AGGREGATES, by=["g", "h"], where=WHERE, memory=memory, sampling=sampling
        )
        require_same(query.final(), expected)


def test_blocks_that_can_match_come_together(tmp_path: Path) -> None:
    """Tables in the order of their keys: a few blocks are a sample of the whole, and the interval holds."""
    left, right = as_files(tmp_path, left=orders(600_000), right=customers())
    found = list(sooner.estimate(left, right, on="k", aggregates={"n": "count"}))
    early = [one for one in found if one["n"].low is not None and not one.exact]
    assert early and early[0].share_read is not None and early[0].share_read < 0.6
    assert all(one["n"].low * 0.9 <= 600_000 <= one["n"].high * 1.1 for one in early)
    assert found[-1]["n"] == (600_000, 600_000, 600_000)


def test_it_stops_when_it_is_sure_enough() -> None:
    left, right = orders(200_000), customers()
    found = sooner.estimate(left, right, on="k", aggregates={"x": ("avg", "x")}, until="20%").final()
    assert found.relative_error is not None and found.relative_error <= 0.2
    assert sooner.estimate(left, right, on="k", aggregates={"n": "count"}, seconds=1e-6).final().rows < 201_000


def test_a_condition_of_pyarrow_is_that_of_sql() -> None:
    left, right = orders(), customers()
    by_text = sooner.estimate(left, right, on="k", aggregates={"n": "count"}, where="x > 5000 AND h = 1").final()
    condition = (pc.field("x") > 5000) & (pc.field("h") == 1)
    assert sooner.estimate(left, right, on="k", aggregates={"n": "count"}, where=condition).final()["n"] == by_text["n"]


def test_expressions_over_both_inputs_walk_the_pairs() -> None:
    lefts, rights = orders(), customers()
    aggregates = {"s": ("sum", "abs(x - h)"), "n": ("count", "x / h")}
    found = sooner.estimate(lefts, rights, on="k", aggregates=aggregates, by="x > 100 * h").final()
    expected = duckdb.sql(
        "SELECT x > 100 * h, sum(abs(x - h)), count(CASE WHEN h <> 0 THEN x END) "
        "FROM lefts JOIN rights USING (k) GROUP BY 1 ORDER BY 1 NULLS LAST"
    ).fetchall()
    assert [(key, value.value, found["n"][key].value) for key, value in found["s"].items()] == expected


def test_a_hot_key_needs_no_pairs() -> None:
    """A million million of them."""
    rows = 10**6
    left = pa.table({"k": np.zeros(rows, np.int64), "x": np.ones(rows, np.int64)})
    found = sooner.estimate(left, left, on="k", aggregates={"n": "count", "s": ("sum", "x_left * x_right")}).final()
    assert found["n"].value == found["s"].value == rows**2


def test_without_sizes_sums_are_those_so_far() -> None:
    def reader(table: pa.Table) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(200))

    dice = np.random.default_rng(1)
    left = orders().take(pa.array(dice.permutation(ROWS)))
    aggregates = {"n": "count", "x": ("avg", "x")}
    found = list(sooner.estimate(reader(left), customers(), on="k", aggregates=aggregates, sampling="rows"))
    early = [one for one in found if not one.exact and one.share_read is None]
    assert all(one["n"].low is None for one in early)
    sized = sooner.estimate(
        reader(left), customers(), on="k", aggregates=aggregates, sampling="rows", total_rows=(ROWS, None)
    )
    assert all(one.share_read is not None for one in sized)


def test_an_input_that_cannot_be_sampled_is_warned_of() -> None:
    reader = pa.RecordBatchReader.from_batches(orders().schema, orders().to_batches())
    with pytest.warns(UserWarning, match="left can be read in its own order only.*sooner shuffle"):
        sooner.estimate(reader, customers(), on="k", aggregates={"n": "count"}).final()


def test_of_nothing() -> None:
    """An empty join, groups that vanish, and nulls alone: as SQL has it."""
    left, right = orders(), customers()
    empty = sooner.estimate(left, right, on="k", aggregates=AGGREGATES, where="x < 0").final()
    assert empty["n"] == (0, 0, 0) and empty["total"].value is None and empty["mean"].low is None
    assert sooner.estimate(left, right, on="k", aggregates=AGGREGATES, by="g", where="x < 0").final().values == {}
    nulls = sooner.estimate(left, right, on="k", aggregates={"s": ("sum", "x / 0")}).final()
    assert nulls["s"].value is None


def test_estimates_as_a_stream_and_in_a_notebook() -> None:
    query = sooner.estimate(orders(), customers(), on="k", aggregates={"n": "count"}, by="g")
    table = pa.table(query)
    assert {"g", "n", "n_low", "n_high", "share_read", "exact"} <= {*table.column_names}
    assert table.filter(pc.field("exact"))["n"].to_pylist() == [float(one) for one in [*table["n"].to_pylist()[-3:]]]
    last = sooner.estimate(orders(), customers(), on="k", aggregates={"n": "count"}, by="g").final()
    assert "<table>" in last._repr_html_() and str(last).startswith("exact")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"aggregates": {}}, "must name at least one"),
        ({"aggregates": {"s": ("sum", "g")}}, "sum of g, which is a text; give a number"),
        ({"aggregates": {"s": ("sum", "pric")}}, "did you mean 'price'"),
        ({"aggregates": {"s": ("median", "x")}}, "asks for 'median'; choose one of"),
        ({"aggregates": {"s": ("sum", "*")}}, "sum of all columns; name one"),
        ({"aggregates": {"s": ("sum", "sum(x)")}}, "aggregates belong on the outside"),
        ({"confidence": 1.0}, "must lie between 0 and 1"),
        ({"confidence": 95}, "must lie between 0 and 1"),
        ({"until": "much"}, "must be a share"),
        ({"seconds": 0}, "more than 0"),
        ({"sampling": "columns"}, "must be 'rows' or 'blocks'"),
        ({"total_rows": (5,)}, "total_rows=\\(5,\\) must be how many rows"),
        ({"where": "price"}, "not a condition"),
        ({"where": "x > (SELECT 1)"}, "subquer"),
        ({"by": "nobody"}, "nobody"),
        ({"by": 5}, "by=5 must be"),
        ({"algorithm": "rpj"}, "no random sample"),
        ({"algorithm": "diner"}, "no random sample"),
        ({"algorithm": "xjoin"}, "no interval can be given"),
    ],
)
def test_refusals(change: dict[str, Any], sentence: str) -> None:
    arguments: dict[str, Any] = {"on": "k", "aggregates": {"n": "count"}, **change}
    with pytest.raises(InvalidJoin, match=sentence):
        sooner.estimate(orders(100), customers(), **arguments)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.date32(), [2**31 - 1, 5]),
        (pa.timestamp("us"), [2**62 + 2**61, 1]),
        (pa.duration("s"), [2**62, 5]),
        (pa.time64("ns"), [1001, 1002]),  # both are a microsecond after midnight, for Python
    ],
)
def test_groups_that_python_has_no_value_for_are_refused_in_a_sentence(type_: pa.DataType, values: list[int]) -> None:
    stored = pa.array(values, pa.int32() if type_.bit_width == 32 else pa.int64()).view(type_)
    left, right = pa.table({"k": [1, 1], "at": stored}), pa.table({"k": [1]})
    with pytest.raises(InvalidJoin, match=r"by= has a column of .* that Python cannot hold"):
        sooner.estimate(left, right, on="k", aggregates={"n": "count"}, by="at").final()


def test_days_between_a_left_and_a_right_date_are_summed_pair_by_pair() -> None:
    """Dates subtract, but none of the two is a number by itself that could be summed first."""
    sent = pa.table({"k": [1, 1, 2], "sent": pa.array([3, None, 5], pa.int32()).cast(pa.date32())})
    ordered = pa.table({"k": [1, 2], "ordered": pa.array([1, 1], pa.int32()).cast(pa.date32())})
    aggregates = {"days": ("sum", "sent - ordered"), "mean": ("avg", "sent - ordered + 1")}
    last = sooner.estimate(sent, ordered, on="k", aggregates=aggregates).final()
    assert (last["days"].value, last["mean"].value) == (6, 4.0)
