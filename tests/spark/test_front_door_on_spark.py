"""What PySpark users hand in: conditions on columns, DataFrames at rest, and no state."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from killing import batches_begun
from patience import HANG_SECONDS, until
from queries import refused
from sooner.errors import InvalidJoin, SourceFailed
from sooner.spark.joins.column_conditions import in_equalities, in_names
from spark_joins import JoinCase, ended, rows_of, skewed

LEFT, RIGHT = skewed(600, 250, 1, "a"), skewed(500, 250, 2, "b")


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    rate = spark.readStream.format("rate").load()
    left = rate.selectExpr("value as k", "cast(value as int) as small", "cast(value as string) as text", "value as a")
    return left, rate.selectExpr("value as k", "value as id", "cast(value as string) as other", "value as b")


Both = tuple[DataFrame, DataFrame]
Condition = Callable[[DataFrame, DataFrame], Any]

MEANT: dict[str, tuple[Condition, tuple[list[str], list[str]]]] = {
    "one": (lambda left, right: left.a == right.b, (["a"], ["b"])),
    "of one name": (lambda left, right: left.k == right.k, (["k"], ["k"])),
    "the right first": (lambda left, right: right.id == left.k, (["k"], ["id"])),
    "several": (
        lambda left, right: (left.a == right.b) & (left["text"] == right["other"]),
        (["a", "text"], ["b", "other"]),
    ),
    "a list": (lambda left, right: [left.a == right.b, left.k == right.id], (["a", "k"], ["b", "id"])),
    "by names": (lambda left, right: F.col("a") == F.col("b"), (["a"], ["b"])),  # noqa: ARG005
    "two widths": (lambda left, right: left.small == right.id, (["small"], ["id"])),
}


@pytest.mark.parametrize("case", MEANT)
def test_a_condition_is_the_names_of_its_columns(sides: Both, case: str) -> None:
    condition, names = MEANT[case]
    assert in_names(*sides, condition(*sides), None, None) == (None, *names)


def test_both_sides_may_be_made_of_one_frame(sides: Both) -> None:
    left = sides[0].alias("l")
    right = sides[0].alias("r")
    assert in_names(left, right, F.col("l.k") == F.col("r.a"), None, None) == (None, ["k"], ["a"])


@pytest.mark.parametrize(
    ("condition", "mentions"),
    [
        (lambda left, right: left.k > right.k, ["within="]),
        (lambda left, right: (left.k == right.k) & (left.a < 5), ["&", "within="]),
        (lambda left, right: left.k + 1 == right.k, ["compute others before the join"]),
        (lambda left, right: left.k == 5, ["is no column of the left that equals one of the right"]),  # noqa: ARG005
        (lambda left, right: left.k.cast("int") == right.id, ["compute others before the join"]),
        (lambda left, right: left.k.eqNullSafe(right.k), ["is no column of the left that equals"]),
        (lambda left, right: (left.k == right.k) | (left.a == right.b), ["is no column of the left"]),
        (lambda left, right: ["k", left.a == right.b], ["names and conditions"]),
    ],
)
def test_a_condition_that_is_no_equality_of_columns_is_refused(
    sides: Both, tmp_path: Path, condition: Condition, mentions: list[str]
) -> None:
    with refused(InvalidJoin, *mentions):
        ss.join(*sides, on=condition(*sides), state=tmp_path / "state")


def test_many_inputs_take_conditions_and_names(sides: Both) -> None:
    """Of any two inputs, also of the same rows under two names; in a list names may stand beside them."""
    left, right = sides
    third = left.selectExpr("a as number", "text as word")
    inputs = {"l": left, "r": right, "third": third}
    condition = (left.k == right.k) & (third.number == right.b)
    assert in_equalities(inputs, condition) == [("l.k", "r.k"), ("third.number", "r.b")]
    assert in_equalities(inputs, ["l.k = r.k", F.col("number") == F.col("b")]) == ["l.k = r.k", ("third.number", "r.b")]
    assert in_equalities(inputs, "l.k = r.k") == "l.k = r.k"
    with refused(InvalidJoin, "two at least"):
        ss.multijoin({"l": left}, on=left.k == left.a)
    again = {"one": left.alias("one"), "two": left.alias("two"), "r": right}
    assert in_equalities(again, F.col("one.k") == F.col("two.a")) == [("one.k", "two.a")]
    for wrong in (left.k == left.a, left.k > right.k, left.k == 5):
        with refused(InvalidJoin, "no column of one input that equals one of another", "l.a == r.b", "within="):
            in_equalities(inputs, wrong)


def test_a_join_of_many_and_a_look_up_by_conditions_are_those_by_names(sides: Both, tmp_path: Path) -> None:
    left, right = sides
    third = right.sparkSession.range(5).selectExpr("id as number", "'x' as word")
    inputs = {"l": left, "r": right, "third": third}

    def told(on: Any) -> tuple[str, list[str]]:
        joined = ss.multijoin(inputs, on, partitions=2, state=tmp_path / "many")
        return ss.explain(joined), joined.columns

    by_names = told("l.k = r.k AND r.b = third.number")
    assert told([left.k == right.k, right.b == third.number]) == by_names
    looked_up = ss.enrich(left, third, left.a == third.number, state=tmp_path / "master")
    by_names = ss.enrich(left, third, stream_on="a", master_on="number", state=tmp_path / "of-names")
    assert looked_up.columns == by_names.columns
    with refused(InvalidJoin, "the master is a str", "give their names"):
        ss.enrich(left, "master.parquet", left.a == right.b, state=tmp_path / "path")
    with refused(InvalidJoin, "stream_on=/master_on=", "give one of the two"):
        ss.enrich(left, third, left.a == third.number, stream_on="a", state=tmp_path / "both")
    with refused(InvalidJoin, "no column of the stream that equals one of the master", "stream.a == master.b"):
        ss.enrich(left, third, left.a > third.number, state=tmp_path / "larger")


def test_a_state_that_is_missing_is_asked_for_everywhere(sides: Both) -> None:
    left, right = sides
    with refused(InvalidJoin, "state=None", "outlives the program", 'state="/data/join-state"'):
        ss.join(left, right, "k")
    with refused(InvalidJoin, "state=None"):
        ss.estimate(left, right, "k", aggregates={"n": "count(*)"}, sampling="rows")
    with refused(InvalidJoin, "state=None"):
        ss.multijoin({"a": left, "b": right}, on="k")
    with refused(InvalidJoin, "state=None"):
        ss.enrich(left, right, "k")


def at_rest(spark: SparkSession, table: pa.Table) -> DataFrame:
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return spark.createDataFrame(list(zip(*columns.values(), strict=True)), list(columns))


@dataclass
class WithOneAtRest(JoinCase):
    """The right is a DataFrame that has all its rows, of a program that may make another one after a crash."""

    def streams(self) -> Both:
        left, _ = super().streams()
        return left, at_rest(self.spark, self.right)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_a_frame_at_rest_is_an_input_that_ends(spark: SparkSession, tmp_path: Path, how: str) -> None:
    case = WithOneAtRest(spark, tmp_path, LEFT, RIGHT, 2, {"how": how}, ways=("packed", "packed"))
    case.run()
    assert case.written() == case.expected()


def test_a_condition_joins_a_frame_at_rest_and_a_state_has_the_rows_that_it_began_with(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = WithOneAtRest(spark, tmp_path, LEFT, RIGHT, 4, ways=("packed", "packed"))
    left, right = case.streams()

    def start(right: DataFrame) -> ss.Query:
        joined = ss.join(left, right, left.k == right.k, partitions=2, state=case.state)
        assert joined.columns == ["k", "a", "b"]
        writer = joined.writeStream.option("checkpointLocation", str(case.checkpoint))
        return ss.start(writer, str(case.output), listener=case.progress.append)

    first = start(right)
    until(lambda: bool(case.progress), "no batch comes")
    first.stop()
    assert not first.is_complete
    ended(again := start(right.limit(3)))
    assert again.is_complete
    assert case.written() == case.expected()


@pytest.mark.long
def test_a_query_whose_first_batch_was_cut_off_needs_another_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """The rows at rest were written anew, and the log has those of before; with another checkpoint none is missing."""
    case = WithOneAtRest(spark, tmp_path, LEFT, RIGHT, 2, ways=("packed", "packed"))
    cut_off = case.start(never_ending)
    until(lambda: batches_begun(tmp_path) > 0, "no batch begins")
    cut_off.stop()
    assert cut_off.progress is None
    with refused(SourceFailed, str(tmp_path / "state" / "input-2"), "has changed", "start over with a new checkpoint"):
        case.run()
    shutil.rmtree(case.checkpoint)
    case.run()
    assert case.written() == case.expected()


def never_ending(joined: DataFrame) -> DataFrame:
    def wait(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(HANG_SECONDS)
        yield from rows

    return joined.mapInArrow(wait, joined.schema)


def test_another_frame_at_rest_may_take_the_place_of_one_until_the_query_has_begun(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = WithOneAtRest(spark, tmp_path, LEFT, RIGHT, 2, ways=("packed", "packed"))
    left, right = case.streams()
    ss.join(left, right.limit(3), "k", state=case.state)
    case.run()
    assert case.written() == case.expected()


def test_a_frame_at_rest_keeps_its_types_or_is_refused(spark: SparkSession, sides: Both, tmp_path: Path) -> None:
    """Times with a zone and without one, nested ones too, no rows at all; and a type that no Parquet file has."""
    columns = (
        "1L as k", "timestamp'2026-01-01 12:00:00' as at", "timestamp_ntz'2026-01-01 12:00:00' as local",
        "array(timestamp'2026-01-01 12:00:00') as times", "1.5BD as price", "named_struct('x', 'y') as inside",
        "date'2026-01-01' as day",
    )  # fmt: skip
    frame = spark.range(1).selectExpr(*columns)
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    joined = ss.join(sides[0].select("k"), frame, "k", state=tmp_path / "state")
    if not spark.version.startswith("4.0"):  # 4.0 forgets which elements of arrays are never null
        assert [field.dataType for field in joined.schema] == [field.dataType for field in frame.schema]
    assert joined.schema.simpleString() == frame.schema.simpleString()
    assert rows_of(spark.read.parquet(str(tmp_path / "state" / "input-2"))) == rows_of(frame)
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before
    empty = ss.join(sides[0].select("k"), frame.limit(0), "k", state=tmp_path / "of-none")
    assert empty.columns == joined.columns
    gap = spark.range(1).selectExpr("id as k", "interval '3' day as gap")
    with refused(InvalidJoin, "column 'gap' of the right", "interval day", "cast it before the join"):
        ss.join(sides[0].select("k"), gap, "k", state=tmp_path / "of-intervals")


def test_a_master_keeps_its_times_too(spark: SparkSession, sides: Both, tmp_path: Path) -> None:
    master = spark.range(1).selectExpr("id as k", "timestamp'2026-01-01 12:00:00' as at")
    looked_up = ss.enrich(sides[0].select("k"), master, "k", state=tmp_path / "state")
    assert looked_up.schema["at"].dataType == master.schema["at"].dataType


def test_a_refused_join_writes_nothing_of_a_frame_at_rest(sides: Both, spark: SparkSession, tmp_path: Path) -> None:
    with refused(InvalidJoin, "'nothing'"):
        ss.join(sides[0], spark.range(5).toDF("k"), on="nothing", state=tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_an_estimate_and_a_join_of_many_take_frames_at_rest(spark: SparkSession, tmp_path: Path) -> None:
    case = WithOneAtRest(spark, tmp_path, LEFT, RIGHT, 2, ways=("packed", "packed"))
    left, right = case.streams()
    asked = ss.estimate(
        left, right, "k", aggregates={"n": "count(*)", "s": "sum(b)"}, sampling="rows", partitions=2,
        state=tmp_path / "estimate",
    )  # fmt: skip
    query = ss.start(asked.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "log")))
    ended(query)
    estimate = query.estimate
    assert estimate is not None
    assert estimate.exact
    values = [int(b) for _, _, b in case.expected().elements()]
    assert (estimate["n"].value, estimate["s"].value) == (len(values), sum(values))
    many = ss.multijoin({"l": left, "r": right, "again": right}, on="k", partitions=2, state=tmp_path / "many")
    writer = many.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "log-of-many"))
    ended(ss.start(writer, str(tmp_path / "joined")))
    twice = case.spark_join().join(at_rest(spark, RIGHT), "k")
    assert rows_of(spark.read.parquet(str(tmp_path / "joined"))) == rows_of(twice)
