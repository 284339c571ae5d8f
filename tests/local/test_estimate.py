"""`sooner.estimate`: the end is DuckDB's answer, and on the way there is nothing that is not so."""

import itertools
import math
import warnings
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sooner
from sooner.errors import InvalidJoin, ResultTooLarge
from sooner.local.inbox import Inbox, Waiting

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


def test_one_aggregate_may_be_a_text_alone() -> None:
    """As on the command line."""
    alone = sooner.estimate(orders(), customers(), on="k", aggregates="total = sum(x)").final()
    assert alone["total"] == sooner.estimate(orders(), customers(), on="k", aggregates=["sum(x)"]).final()["sum(x)"]


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
        ({"aggregates": " "}, "must name at least one"),
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


def fractions_s(values: Sequence[Any]) -> tuple[Fraction, Fraction]:
    """The average and the variance, without any rounding."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return mean, sum(((one - mean) ** 2 for one in exact), Fraction(0)) / (len(exact) - 1)


DICE = np.random.default_rng(4)
NEAR_EACH_OTHER: dict[str, tuple[list[Any], pa.DataType]] = {
    "timestamps": ([1_700_000_000 + one for one in DICE.integers(0, 60, 5_000).tolist()], pa.int64()),
    "two large numbers": ([10**12 + one % 2 for one in range(5_000)], pa.int64()),
    "the largest numbers": ([2**63 - 1 - one for one in DICE.integers(0, 9, 5_000).tolist()], pa.int64()),
    "the smallest numbers": ([-(2**63) + one for one in DICE.integers(0, 9, 5_000).tolist()], pa.int64()),
    "decimals": ([Decimal(9 * 10**13 + one).scaleb(-4) for one in range(5_000)], pa.decimal128(18, 4)),
    "large doubles": ((1e15 + DICE.normal(size=5_000)).tolist(), pa.float64()),
    "huge doubles": ((1e150 * DICE.normal(size=5_000)).tolist(), pa.float64()),
    "negative doubles": ((-1e9 + DICE.normal(size=5_000)).tolist(), pa.float64()),
    "one decimal": ([Decimal("0.10")] * 5_000, pa.decimal128(9, 2)),
    "one double": ([0.1] * 5_000, pa.float64()),
}


@pytest.mark.parametrize("memory", ["1GB", "64KB"])
@pytest.mark.parametrize("kind", NEAR_EACH_OTHER)
def test_deviations_have_all_their_digits(kind: str, memory: str) -> None:
    values, type_ = NEAR_EACH_OTHER[kind]
    left = pa.table({"k": pa.array(np.arange(len(values)) % 50), "x": pa.array(values, type_)})
    right = pa.table({"k": np.arange(50)})
    aggregates = {"m": ("avg", "x"), "v": ("variance", "x"), "s": ("stddev", "x"), "pairs": ("stddev", "x + 0 * k")}
    found = sooner.estimate(left, right, on="k", aggregates=aggregates, memory=memory).final()
    mean, variance = fractions_s(values)
    assert found["m"].value == pytest.approx(float(mean), rel=1e-15 if type_ != pa.float64() else 1e-9)
    assert found["v"].value == pytest.approx(float(variance), rel=1e-12, abs=0)
    assert found["s"].value == pytest.approx(math.sqrt(variance), rel=1e-12, abs=0)
    assert found["pairs"].value == pytest.approx(math.sqrt(variance), rel=1e-12, abs=0)


def test_deviations_of_all_pairs_of_one_key() -> None:
    rows = 1_000
    left = pa.table({"k": np.zeros(rows, np.int64), "x": 2**62 + np.arange(rows)})
    right = pa.table({"k": np.zeros(rows, np.int64), "y": 1e15 + np.arange(rows)})
    aggregates = {"x": ("variance", "x"), "y": ("variance", "y")}
    found = sooner.estimate(left, right, on="k", aggregates=aggregates).final()
    _, variance = fractions_s(list(range(rows)))
    expected = float(variance * rows * (rows - 1) / (rows**2 - 1))
    assert found["x"].value == found["y"].value == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("type_", [pa.int64(), pa.float64()], ids=str)
def test_early_deviations_are_near_the_end(type_: pa.DataType) -> None:
    """A fifth of numbers that are large and near each other says how far apart they are, and how sure that is."""
    dice, rows = np.random.default_rng(8), 200_000
    left = pa.table(
        {"k": pa.array(dice.integers(0, 500, rows)), "x": pa.array(10**15 + dice.integers(0, 60, rows), type_)}
    )
    aggregates = {"s": ("stddev", "x"), "v": ("variance", "x"), "m": ("avg", "x")}
    query = sooner.estimate(left, pa.table({"k": np.arange(500)}), on="k", aggregates=aggregates, sampling="rows")
    early = [one for one in query if not one.exact and one["s"].low is not None]
    assert early and early[0].share_read is not None and early[0].share_read < 0.5
    for one in early:
        assert one["s"].value == pytest.approx(math.sqrt(300), rel=0.05)
        assert one["v"].value == pytest.approx(300, rel=0.1)
        assert one["s"].relative_error < 0.05 and one["v"].relative_error < 0.1
        if type_ == pa.int64():
            assert one["m"].high - one["m"].low < 3


LARGEST = 2**63 - 1


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_sums_are_exact_as_long_as_they_fit(rows: int) -> None:
    """As in DuckDB: 128 bits, and an error beyond them."""
    lefts = pa.table({"k": np.zeros(rows, np.int64), "x": np.full(rows, LARGEST)})
    rights = pa.table({"k": np.zeros(rows, np.int64), "y": np.full(rows, LARGEST)})

    def final(of: str, function: str = "sum") -> Any:
        return sooner.estimate(lefts, rights, on="k", aggregates={"a": (function, of)}).final()["a"].value

    assert final("x") == rows**2 * LARGEST
    assert final("x * y", "avg") == float(LARGEST**2)
    if rows == 1:
        assert [(final("x * y"),)] == duckdb.sql("SELECT sum(x::HUGEINT * y) FROM lefts, rights").fetchall()
        return
    with pytest.raises(duckdb.OutOfRangeException):
        duckdb.sql("SELECT sum(x::HUGEINT * y) FROM lefts, rights").fetchall()
    with pytest.raises(ResultTooLarge, match=r"a is .*, and 128 bits are the most.*to DOUBLE"):
        final("x * y")
    assert final("CAST(x AS DOUBLE) * y") == pytest.approx(rows**2 * 2.0**126)


def test_sums_of_decimals_have_38_digits() -> None:
    rows = 2_000
    largest = Decimal(10**18 - 1).scaleb(-2)
    left = pa.table({"k": np.zeros(rows, np.int64), "x": pa.array([largest] * rows, pa.decimal128(18, 2))})
    found = sooner.estimate(left, left, on="k", aggregates={"s": ("sum", "x_left")}).final()
    assert found["s"].value == rows**2 * largest
    query = sooner.estimate(left, left, on="k", aggregates={"s": ("sum", "x_left * x_right")})
    with pytest.raises(ResultTooLarge, match=r"s is .*e\+38, and 38 digits are the most"):
        query.final()


def test_large_values_are_shown_whatever_they_were_before() -> None:
    """Sums so far, then estimates, then what is exact: they come as one stream."""
    rows = 4_000
    left = pa.table({"k": np.random.default_rng(3).permutation(rows), "x": np.full(rows, LARGEST)})
    right = pa.table({"k": np.arange(rows)})

    def reader() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(left.schema, left.to_batches(100))

    aggregates = {"n": "count", "s": ("sum", "x")}
    table = pa.table(sooner.estimate(reader(), right, on="k", aggregates=aggregates, sampling="rows"))
    assert table["s"].to_pylist()[-1] == float(rows * LARGEST) and table.schema.field("s").type == pa.float64()
    last = sooner.estimate(left, right, on="k", aggregates=aggregates).final()
    assert last.to_table()["s"].to_pylist() == [Decimal(rows * LARGEST)] and last.to_table()["n"].to_pylist() == [rows]
    assert f"{rows * LARGEST:,}" in str(last)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.date32(), [2**31 - 1, 5]),
        (pa.timestamp("us"), [2**62 + 2**61, 1]),
        (pa.duration("s"), [2**62, 5]),
        (pa.time64("ns"), [1001, 1002]),  # both are a microsecond after midnight, for Python
    ],
)
def test_groups_that_python_has_no_value_for_are_given_by_arrow_alone(type_: pa.DataType, values: list[int]) -> None:
    stored = pa.array(values, pa.int32() if type_.bit_width == 32 else pa.int64()).view(type_)
    left, right = pa.table({"k": [1, 1], "at": stored}), pa.table({"k": [1]})
    estimate = sooner.estimate(left, right, on="k", aggregates={"n": "count"}, by="at").final()
    assert (
        estimate.to_table()["at"]
        .combine_chunks()
        .equals(stored.take(pa.array([1, 0]) if values[0] > values[1] else pa.array([0, 1])))
    )
    with pytest.raises(InvalidJoin, match=r"by= has a column of .* that Python cannot hold"):
        estimate["n"]


def test_days_between_a_left_and_a_right_date_are_summed_pair_by_pair() -> None:
    """Dates subtract, but none of the two is a number by itself that could be summed first."""
    sent = pa.table({"k": [1, 1, 2], "sent": pa.array([3, None, 5], pa.int32()).cast(pa.date32())})
    ordered = pa.table({"k": [1, 2], "ordered": pa.array([1, 1], pa.int32()).cast(pa.date32())})
    aggregates = {"days": ("sum", "sent - ordered"), "mean": ("avg", "sent - ordered + 1")}
    last = sooner.estimate(sent, ordered, on="k", aggregates=aggregates).final()
    assert (last["days"].value, last["mean"].value) == (6, 4.0)


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 3.0, None]


@pytest.mark.parametrize("memory", ["1GB", "64KB"])
@pytest.mark.parametrize("where", ["x > 1", "x <= 3", "NOT x = 0", "x >= y", "x IN (0, 3)", "x <> x OR y = y", "x < y"])
def test_nan_and_infinity_are_as_in_duckdb(where: str, memory: str) -> None:
    rows = len(SPECIAL) ** 2 * 4
    lefts = pa.table({"k": np.arange(rows) % 40, "x": pa.array((SPECIAL * rows)[:rows], pa.float64())})
    rights = pa.table({"k": np.arange(40), "y": pa.array((SPECIAL[::-1] * 40)[:40], pa.float64())})
    aggregates = {"n": "count", "s": ("sum", "x"), "m": ("avg", "x"), "v": ("variance", "x"), "d": ("stddev", "y")}
    query = sooner.estimate(lefts, rights, on="k", aggregates=aggregates, by="y", where=where, memory=memory)
    found = [(key, *(value.value for value in group.values())) for (key,), group in query.final().values.items()]
    expected = duckdb.sql(
        "SELECT y, count(*), sum(x), avg(x), variance(x), stddev(y) "
        f"FROM lefts JOIN rights USING (k) WHERE {where} GROUP BY y ORDER BY y NULLS LAST"
    ).fetchall()
    assert [row[:2] for row in map(repr_of, found)] == [row[:2] for row in map(repr_of, expected)]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine[2:] == pytest.approx(theirs[2:], nan_ok=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("memory", ["1GB", "64KB"])
@pytest.mark.parametrize("hot", [False, True])  # each key has one row of the right, or all have one key
@pytest.mark.parametrize(
    "value",
    [
        "x",
        "x * y",
        "x + y",
        "x - y",
        "CASE WHEN d THEN x END",
        "CASE WHEN d THEN x ELSE 0 END",
        "CASE WHEN c AND d THEN x END",
        "CASE WHEN c AND d THEN x ELSE y END",
        "CASE WHEN c OR d THEN x ELSE NULL END",
        "x * CASE WHEN d THEN 0 ELSE 1 END",
        "w * y",
    ],
)
def test_what_is_null_or_not_chosen_leaves_what_is_not_finite_alone(value: str, hot: bool, memory: str) -> None:
    """Of each group one kind of number of either side meets one of the other, or two do."""
    kinds = [*itertools.combinations(SPECIAL, 1), *itertools.combinations([math.nan, math.inf, -1.5, 0.0, None], 2)]
    numbers = [[kind[at % len(kind)] for at in range(12)] for kind in kinds]
    rows = len(kinds) * 12
    groups, flags = np.arange(rows) // 12, pa.array(([True, True, False, False, None, None] * rows)[:rows])
    x = pa.array([one for some in numbers for one in some], pa.float64())
    lefts = pa.table({"k": np.arange(rows) * (not hot), "g": groups, "x": x, "c": flags, "w": np.arange(rows) % 3})
    y = x.take(pa.array(np.arange(rows) if hot else np.arange(rows) // 12 % 5 * 12 + np.arange(rows) // 2 % 12))
    d = flags.take(pa.array(np.arange(rows) // 3))
    rights = pa.table({"k": np.arange(rows) * (not hot), "h": groups if hot else groups * 0, "y": y, "d": d})
    for functions in (("sum", "avg", "count"), ("variance", "count")):  # of both sides, the latter are found by pairs
        aggregates = {one: (one, value) for one in functions}
        query = sooner.estimate(lefts, rights, on="k", aggregates=aggregates, by=["g", "h"], memory=memory)
        found = [(*key, *(one.value for one in group.values())) for key, group in query.final().values.items()]
        columns = ", ".join(f"{one}({value})" for one in functions)
        expected = duckdb.sql(f"SELECT g, h, {columns} FROM lefts JOIN rights USING (k) GROUP BY ALL ORDER BY g, h")
        for mine, theirs in zip(sorted(found), expected.fetchall(), strict=True):
            assert mine == pytest.approx(theirs, nan_ok=True)


def test_blocks_of_both_inputs_that_come_at_once_need_not_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them does, and which come together is left to threads."""
    take = Inbox.take

    def all_at_once(inbox: Inbox, *arguments: Any) -> Sequence[Waiting] | None:
        with inbox._changed:
            for queue in inbox._queues:
                queue.room_bytes = 2**30
            inbox._changed.notify_all()
            inbox._wait(lambda: all(queue.has_ended for queue in inbox._queues))
        return take(inbox, *arguments)

    monkeypatch.setattr(Inbox, "take", all_at_once)
    rows, dice = 900, np.random.default_rng(5)
    lefts = pa.table({"k": dice.permutation(rows), "x": dice.random(rows)})
    rights = pa.table({"k": dice.permutation(rows), "y": dice.random(rows)})
    found = sooner.estimate(lefts, rights, on="k", aggregates={"s": ("sum", "x * y")}, memory="64KB").final()
    [expected] = duckdb.sql("SELECT sum(x * y) FROM lefts JOIN rights USING (k)").fetchall()[0]
    assert found["s"].value == pytest.approx(expected)


def repr_of(row: Sequence[Any]) -> list[str]:
    """In which NaN is itself, and -0.0 is 0.0."""
    return [repr(one + 0.0 if isinstance(one, float) else one) for one in row]


def test_estimates_go_on_where_sums_are_not_finite() -> None:
    dice, rows = np.random.default_rng(6), 100_000
    x = dice.normal(size=rows)
    x[::100], x[1::100], x[2::100] = np.nan, np.inf, -np.inf
    left = pa.table({"k": dice.integers(0, 200, rows), "x": x, "z": np.where(np.isfinite(x), x, 1e308)})
    aggregates = {name: (name, "x") for name in ("sum", "avg", "variance", "stddev")} | {"large": ("sum", "z")}
    query = sooner.estimate(left, pa.table({"k": np.arange(200)}), on="k", aggregates=aggregates, sampling="rows")
    *_, last = query
    assert all(math.isnan(last[name].value) for name in ("sum", "avg", "variance", "stddev"))
    assert last["large"].value == math.inf and last.relative_error == 0
    assert "sum = nan" in str(last)


def test_many_columns_of_many_values_are_as_many_groups() -> None:
    """More combinations than 64 bits tell apart."""
    rows, columns = 3_000, 6
    dice = np.random.default_rng(2)
    left = pa.table({"k": np.zeros(rows, np.int64), **{f"g{at}": dice.permutation(rows) for at in range(columns)}})
    by = [f"g{at}" for at in range(columns)]
    found = sooner.estimate(left, pa.table({"k": [0]}), on="k", aggregates={"n": "count"}, by=by).final()
    assert set(found.values) == set(zip(*(left[name].to_pylist() for name in by), strict=True))
