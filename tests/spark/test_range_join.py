"""Range joins on real Spark give what Spark's batch join gives, for every type, with memory for a part of the rows."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from test_join_against_spark import WAYS, require_answers_of_spark

import sooner.spark as ss
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from spark_joins import JoinCase, Way
from spark_ranges import RANGES, ROWS, SECOND

# Copies of the left and of the right, groups or none, rows that match nothing; all else is in the long set.
Case = tuple[str, str, str, int]
FIRST: list[Case] = [("int and long", "inner", "rpj", 2), ("last integers", "anti", "hmj", 3)]
LATER: list[Case] = [("doubles", "left", "xjoin", 2), ("dates and local times", "full", "rpj_md", 2)]


def case_of(
    spark: SparkSession, folder: Path, kind: str, how: str, algorithm: str, partitions: int, ways: tuple[Way, Way]
) -> JoinCase:
    ranged = RANGES[kind]
    memory = "64MB" if algorithm == "symmetric_hash" else partitions * 2**16
    arguments = {"on": "v", "within": ranged.within, "by": "g" if ranged.groups else None, "how": how}
    arguments |= {"algorithm": algorithm, "partitions": partitions, "memory": memory}
    folder.mkdir(exist_ok=True)
    left, right = (ranged.table(side) for side in (0, 1))
    return JoinCase(spark, folder, left, right, 2, arguments=arguments, ways=ways, near=ranged.condition)


@pytest.mark.parametrize("some", [FIRST, pytest.param(LATER, marks=pytest.mark.long)], ids=["first", "later"])
def test_some_joins_by_ranges(spark: SparkSession, tmp_path: Path, some: list[Case]) -> None:
    cases = {
        "-".join(map(str, one)): case_of(spark, tmp_path / f"{number}", *one, WAYS[number % 3])
        for number, one in enumerate(some)
    }
    require_answers_of_spark(spark, tmp_path, cases)
    for name, case in cases.items():
        last = case.progress[-1].total
        assert last.arrived_rows == (case.whole_rows(0), case.whole_rows(1)), name
        assert (last.copied_rows > 0) == (case.kind.name != "full" and case.arguments["partitions"] > 1), name
        assert last.copied_rows < 0.3 * ROWS, "of a quarter of the rows at most, there are two"
        if case.arguments["partitions"] < 7 and case.kind.pairs:
            assert case.most_spilled_rows > 100, f"the memory of {name} was not small enough to tell anything"


@pytest.mark.long
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("kind", RANGES)
def test_every_type_with_every_join(spark: SparkSession, tmp_path: Path, kind: str, how: str) -> None:
    number = len(KINDS) * list(RANGES).index(kind) + list(KINDS).index(how)
    algorithm, partitions = list(ALGORITHMS)[number % len(ALGORITHMS)], (1, 2, 7)[number % 3]
    case = case_of(spark, tmp_path, kind, how, algorithm, partitions, WAYS[number // 3 % 3])
    case.run()
    assert case.written() == case.expected()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"within": 5}, "bins of 64; a row of the left goes to the partitions of up to 2 of them"),
        ({"on": "t", "within": SECOND, "how": "semi"}, "bins of 0:00:08.388608; a row of the right goes"),
        ({"within": 2**62}, "all rows go to one partition, since all values are in one bin; give by= to spread them"),
        ({"within": (None, 5), "by": "g"}, "rows are placed by their keys alone, since all values are in one bin"),
        ({"within": 5, "how": "full"}, "give by=, or how='inner' or 'left', to spread them"),
    ],
)
def test_a_range_is_explained(spark: SparkSession, tmp_path: Path, arguments: dict[str, Any], told: str) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("value as v", "value % 9 as g", "timestamp as t")
    explained = ss.explain(ss.join(rows, rows, **{"on": "v", "state": tmp_path / "state"} | arguments))
    (of_range,) = (line for line in explained.splitlines() if line.startswith("  range: "))
    assert told in of_range
