"""Rows that our readers pack: the same rows, in the same places, as those that go through Spark's own operators."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from sooner.errors import InvalidJoin
from sooner.kernels.keys import plan_keys
from sooner.spark.interop.spark_types import arrow_schema
from sooner.spark.shuffle.conditions import holds
from sooner.spark.shuffle.grid import Grid
from sooner.spark.shuffle.packing import OPTION, Packing, unpacked
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.row_kinds import place_of
from sooner.spark.shuffle.shares import GridPlacement, Shares
from sooner.spark.sources.pushed_down import Reading, reading_of

MOMENT = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "byte": ("tinyint", [-128, 0, 127]),
    "int": ("int", [-(2**31), 7, 2**31 - 1]),
    "long": ("bigint", [-(2**63), 7, 2**63 - 1]),
    "float": ("float", [0.1, -0.0, math.nan, math.inf]),
    "double": ("double", [0.1, -0.0, math.nan, -math.inf, 5e-324]),
    "decimal": ("decimal(38,18)", [Decimal("0.1"), Decimal("-12345678901234567890.123456789012345678"), Decimal(0)]),
    "small decimal": ("decimal(9,2)", [Decimal("0.10"), Decimal("-1234567.89"), Decimal("9999999.99")]),
    "text": ("string", ["", "a", "ü" * 7, "x" * 31, "x" * 32, "y" * 1000]),
    "bytes": ("binary", [b"", b"\0", b"\xff" * 65]),
    "flag": ("boolean", [True, False]),
    "day": ("date", [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    "moment": ("timestamp", [MOMENT, datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]),
    "local": ("timestamp_ntz", [MOMENT.replace(tzinfo=None), datetime(1, 1, 1)]),
}


def frame_of(spark: SparkSession, name: str) -> DataFrame:
    type_, values = COLUMNS[name]
    return spark.createDataFrame([(number, value) for number, value in enumerate([*values, None])], f"n int, k {type_}")


def in_arrow(rows: DataFrame) -> pa.RecordBatch:
    """Types as a reader of ours has them."""
    table = rows.toArrow().cast(arrow_schema(rows.schema))
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)


def found_together(queries: Sequence[DataFrame]) -> list[list[Row]]:
    """The rows of each, in one job of Spark's instead of one for each."""
    numbered = [rows.withColumn("query", F.lit(number)) for number, rows in enumerate(queries)]
    found: list[list[Row]] = [[] for _ in queries]
    for row in reduce(DataFrame.unionAll, numbered).collect():
        found[row.query].append(row)
    return found


def require_same_places(spark: SparkSession, *partitions: int) -> None:
    pairs = [(name, name) for name in COLUMNS]
    pairs += [("int", "long"), ("long", "double"), ("int", "decimal"), ("small decimal", "decimal"), ("local", "day")]
    frames = {name: frame_of(spark, name).where("k is not null") for name in COLUMNS}
    batches = {name: in_arrow(rows) for name, rows in frames.items()}
    by_reader, by_spark = {}, []
    for name, other in pairs:
        keys = plan_keys(batches[name].schema, batches[other].schema, ["k"], ["k"])
        for number in partitions:
            placement = Placement(keys.left, keys.types, number)
            assert placement.is_a_readers
            [found] = placement.places(batches[name])
            wanted, [place] = placement.of_rows(frames[name])
            by_reader[f"{name} and {other} in {number} partitions"] = found.tolist()
            by_spark.append(wanted.select(place.alias("place")))
    assert by_reader == {
        told: [row.place for row in rows] for told, rows in zip(by_reader, found_together(by_spark), strict=True)
    }


def test_a_reader_places_rows_where_spark_does(spark: SparkSession) -> None:
    require_same_places(spark, 2, 200)


@pytest.mark.long
def test_a_reader_places_rows_where_spark_does_for_long(spark: SparkSession) -> None:
    require_same_places(spark, 1, 7)


def test_rows_are_packed_and_unpacked_without_those_that_match_nothing() -> None:
    schema = pa.schema([("k", pa.string()), ("row", pa.int64()), ("again", pa.int64())])
    source = pa.schema([("key", pa.string()), ("n", pa.int64()), ("seen", pa.bool_())])
    placement = Placement(("k",), (pa.string(),), 3)
    packing = Packing(source, ("key", "n", "n"), schema, placement, ["=", "seen", "true"])
    packing = Packing.chosen({OPTION: packing.to_text()}) or pytest.fail("it was given")
    keys = [None if n % 11 == 0 else f"k{n % 40}" for n in range(500)]
    rows = pa.record_batch(
        [pa.array(keys), pa.array(range(500)), pa.array([n % 3 > 0 for n in range(500)])], schema=source
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for batch in packing.packed(rows.slice(begin, 90) for begin in range(0, 500, 90)):
        for where, pack in zip(batch.column("place").to_pylist(), batch.column("pack"), strict=True):
            [content] = unpacked(pa.chunked_array([pa.array([pack])]), schema)
            found.setdefault(where, []).extend(content.to_pylist())
    wanted = [{"k": key, "row": n, "again": n} for n, key in enumerate(keys) if key is not None and n % 3 > 0]
    assert sorted((row for part in found.values() for row in part), key=lambda row: row["row"]) == wanted
    assert {where: {row["k"] for row in part} for where, part in found.items()} == {
        where: {row["k"] for row in wanted if placement.places(_one(row["k"]))[0] == where} for where in found
    }
    assert list(packing.packed(iter([]))) == []


def test_a_row_that_reaches_over_a_cell_is_packed_once_for_each_of_its_places() -> None:
    schema = pa.schema([("v", pa.int64())])
    placement = Placement((), (), 3, Grid("v", pa.int64(), width=8, reach=(-2, 2)))
    rows = pa.record_batch([pa.array(range(200))], schema=schema)
    found: Counter[tuple[int, int]] = Counter()
    for batch in Packing(schema, ("v",), schema, placement).packed(iter([rows])):
        for kind, pack in zip(batch.column("place").to_pylist(), batch.column("pack"), strict=True):
            [content] = unpacked(pa.chunked_array([pa.array([pack])]), schema)
            found.update((place_of(kind << 8), value) for value in content.column("v").to_pylist())
    places = zip(*placement.places(rows), strict=True)
    assert found == Counter((int(place), value) for value, both in enumerate(places) for place in {*both})
    assert found.total() > 200


def test_a_reader_finds_the_cells_of_a_grid_that_spark_does(spark: SparkSession) -> None:
    """And packs a row once for each of them; a row without one of its keys goes nowhere."""
    rows = spark.range(300).selectExpr("cast(id % 40 as int) k", "if(id % 7 = 0, null, concat('t', id % 11)) t", "id n")
    types = ((pa.int64(),), (pa.string(),), (pa.string(),))
    placement = GridPlacement((("k",), None, ("t",)), types, Shares((2, 3, 5)))
    wanted, cells = placement.of_rows(rows)
    there = [tuple(row) for row in wanted.select("n", *cells).collect()]
    assert {len({*of_row}) for _, *of_row in there} == {3}
    schema = arrow_schema(rows.schema)
    packing = Packing.chosen({OPTION: Packing(schema, ("k", "t", "n"), schema, placement).to_text()})
    assert packing is not None
    assert packing.placement == placement
    found: Counter[tuple[int, int]] = Counter()
    for batch in packing.packed(iter([in_arrow(rows)])):
        for kind, pack in zip(batch.column("place").to_pylist(), batch.column("pack"), strict=True):
            [content] = unpacked(pa.chunked_array([pa.array([pack])]), schema)
            found.update((n, place_of(kind << 8)) for n in content.column("n").to_pylist())
    assert found == Counter((n, cell) for n, *of_row in there for cell in of_row)


def _one(key: str) -> pa.RecordBatch:
    return pa.record_batch({"k": [key]})


# What a source can do itself


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kinds of columns, each value with each of the others now and then, and nulls."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(3)
    names = [name.replace(" ", "_") for name in COLUMNS]
    draws = [rng.integers(0, len(values) + 1, 300) for _, values in COLUMNS.values()]
    rows = [
        tuple([*values, None][draw[number]] for (_, values), draw in zip(COLUMNS.values(), draws, strict=True))
        for number in range(300)
    ]
    types = ", ".join(f"{name} {type_}" for name, (type_, _) in zip(names, COLUMNS.values(), strict=True))
    frame = spark.createDataFrame(rows, types).withColumn("n", F.monotonically_increasing_id())
    pq.write_table(frame.toArrow(), folder / "rows.parquet", row_group_size=100)
    return folder


@pytest.fixture(scope="module")
def in_spark(spark: SparkSession, files: Path) -> pa.RecordBatch:
    """The rows of the files, as Spark reads them."""
    return in_arrow(spark.read.parquet(str(files / "rows.parquet")))


CONDITIONS = [
    "byte > 0 and int < 8",
    "not (long = 7)",
    "float > 0.05f",
    "double >= 0.1D or double is null",
    "double < 0.1D",
    "double <= 0",
    "not double > 0",
    "double != 0.1D",
    "not (float <= 0.1f)",
    "double in (0.1D, 0D) or double > double('Infinity')",
    "float >= float('Infinity')",
    "double between 0.05D and double('Infinity')",
    "text > 'a' and text != ''",
    "text in ('a', 'ü', 'üüüüüüü')",
    "not text in ('a', '')",
    "flag",
    "not flag",
    "day > date'1969-12-30'",
    "day = '9999-12-31'",
    "moment < timestamp'2020-01-01'",
    "local <= timestamp_ntz'2024-02-29 23:59:59.999999'",
    "decimal < 0.5BD",
    "small_decimal >= 0.1",
    "5 < int and 8 > int",
    "int is null or text is not null",
]


@pytest.fixture(scope="module")
def source(spark: SparkSession, files: Path) -> DataFrame:
    return ss.sources.parquet(spark, str(files / "rows.parquet"))


@pytest.fixture(scope="module")
def wanted(spark: SparkSession, files: Path, source: DataFrame) -> dict[str, list[int]]:
    """The numbers of the rows for which Spark finds that a condition holds."""
    rows = spark.read.schema(source.schema).parquet(str(files / "rows.parquet"))
    found = found_together([rows.where(condition).select("n") for condition in CONDITIONS])
    return {condition: sorted(row.n for row in some) for condition, some in zip(CONDITIONS, found, strict=True)}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_means_what_it_means_to_spark(
    source: DataFrame, wanted: dict[str, list[int]], in_spark: pa.RecordBatch, condition: str
) -> None:
    reading = reading_of(source.where(condition))
    assert isinstance(reading, Reading), reading
    assert reading.condition is not None
    found = in_spark.filter(holds(reading.condition, in_spark)).column("n").to_pylist()
    assert sorted(found) == wanted[condition]
    assert 0 < len(found) < 300


def test_choices_and_names_go_into_the_source(source: DataFrame) -> None:
    chosen = source.select(F.col("long").alias("k"), "text", F.col("text").alias("again")).where("k > 3").drop("text")
    reading = reading_of(chosen)
    assert isinstance(reading, Reading)
    assert reading.columns == ("long", "text")
    assert reading.read_columns.names == ["long", "text"]
    assert "where" in str(reading)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: rows.withColumn("more", F.col("int") + 1), "its column 'more' is computed by Spark"),
        (lambda rows: rows.where("text like '%b%'"), "Spark filters its rows by"),
        (lambda rows: rows.where("int + 1 > 2"), "Spark filters its rows by"),
        (lambda rows: rows.where("int > long"), "Spark filters its rows by"),
        (lambda rows: rows.where("double = double('NaN')"), "Spark filters its rows by"),
        (lambda rows: rows.unionAll(rows), "a step of Spark's plan (Union)"),
        (lambda rows: rows.withWatermark("moment", "1 hour"), "a step of Spark's plan (EventTimeWatermark)"),
    ],
)
def test_all_else_is_sparks(source: DataFrame, change: Callable[[DataFrame], DataFrame], why: str) -> None:
    assert why in str(reading_of(change(source)))


def test_a_join_says_which_path_its_inputs_take(spark: SparkSession, files: Path, tmp_path: Path) -> None:
    rows = ss.sources.parquet(spark, str(files / "rows.parquet"))
    others = ss.sources.parquet(spark, str(files / "rows.parquet"), rows_per_batch=50).select("long", "int")
    told = ss.explain(ss.join(rows.select("long", "text"), others, on="long", state=tmp_path / "state", partitions=2))
    first, joined, algorithm, *paths = told.splitlines()
    assert first == f"join in 2 partitions, state {tmp_path / 'state'}"
    assert joined == "  joined by rpj, how='inner', where left long = right long"
    assert algorithm.startswith("  algorithm: rpj, since the inputs, about ")
    assert paths == [
        "  hot keys: a key with a large share of the rows is spread over all partitions, once it is found",
        "  left: packed by sooner.parquet: long, text",
        "  right: packed by sooner.parquet: long, int",
    ]
    twice = ss.explain(
        ss.join(rows.select("long", "text"), rows.select("long", "int"), on="long", state=tmp_path / "s")
    )
    assert twice.count("as Spark's rows: its source feeds another input too") == 2
    rate = spark.readStream.format("rate").load().select(F.col("value").alias("long"))
    assert "right: as Spark's rows: its rows come from Spark's own source" in ss.explain(
        ss.join(rows, rate, on="long", state=tmp_path / "s")
    )
    with pytest.raises(InvalidJoin, match="There is no join"):
        ss.explain(rows)


def test_rows_without_a_key_have_their_places_whoever_reads_them_and_beside_which_others() -> None:
    rows = pa.record_batch({"k": pa.array([None] * 60, pa.int64()), "n": list(range(60)), "list": [[1]] * 60})
    placement = Placement(("k",), (pa.int64(),), 4, keeps_keyless=True)
    [whole] = placement.places(rows)
    parts = [placement.places(part)[0] for part in (rows.slice(0, 17), rows.slice(17))]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert {*whole.tolist()} == {0, 1, 2, 3}
