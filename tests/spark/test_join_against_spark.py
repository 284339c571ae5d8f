"""Every algorithm on real Spark gives what Spark's batch join gives, with memory for a small part of the rows."""

from collections import defaultdict
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import sooner.spark as ss
from joins import DISTINCT, OTHER_JOINS
from sooner.how import KINDS
from sooner.named_algorithms import ALGORITHMS
from sooner.spark.shuffle.shared_columns import quoted
from spark_joins import JoinCase, Rows, Way, ended, rows_of
from spark_keys import KEYS

# Each kind of key once, each algorithm that is not a variant of another (those are in the long set) at least once, and
# one, two and seven partitions at least twice; all of them give pairs.
GIVING_PAIRS = [how for how, kind in KINDS.items() if kind.pairs]
SOME = [
    (
        DISTINCT[number % len(DISTINCT)],
        (1, 2, 1, 2, 1, 2, 7)[number % 7],
        kind,
        GIVING_PAIRS[number % len(GIVING_PAIRS)],
    )
    for number, kind in enumerate(KEYS)
]
NO_PAIRS = [("rpj", 2, "texts", "semi"), ("xjoin", 1, "composite", "anti")]
# Two of them in `make test`, one with pairs and one without: in process all algorithms meet the same oracle with all
# kinds of keys.
FEW = [SOME[9], NO_PAIRS[1]]
OTHERS = [one for one in [*SOME, *NO_PAIRS] if one not in FEW]
GROUPS = [FEW, *(pytest.param(OTHERS[first::4], marks=pytest.mark.long) for first in range(4))]
WAYS: list[tuple[Way, Way]] = [("packed", "packed"), ("Spark's source", "packed"), ("Spark's source", "Spark's source")]


def case_of(
    spark: SparkSession, folder: Path, algorithm: str, partitions: int, kind: str, how: str, ways: tuple[Way, Way]
) -> JoinCase:
    left, right, arguments = KEYS[kind]()
    if how in ("semi", "anti"):  # little is kept of rows that are not wide
        arguments.pop("suffixes", None)
        left = left.append_column("ballast", pa.array(["x" * 150] * len(left)))
    memory = "64MB" if algorithm == "symmetric_hash" else partitions * 2**16
    arguments |= {"algorithm": algorithm, "partitions": partitions, "memory": memory, "how": how}
    folder.mkdir(exist_ok=True)
    return JoinCase(spark, folder, left, right, batches=2, arguments=arguments, ways=ways)


def as_text(rows: DataFrame, name: str) -> DataFrame:
    """Rows of all schemas in one: the name of the case and all values as text."""
    values = [F.col(quoted(field.name)) for field in rows.schema]
    texts = [
        F.hex(value) if field.dataType.typeName() == "binary" else value.cast("string")
        for value, field in zip(values, rows.schema, strict=True)
    ]
    return rows.select(F.lit(name).alias("name"), F.to_json(F.array(*texts)).alias("row"))


def run_together(folder: Path, cases: dict[str, JoinCase]) -> None:
    """All in one query: that takes little more time than one."""
    union = reduce(DataFrame.union, [as_text(case.joined(), name) for name, case in cases.items()])
    writer = union.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    queries: list[ss.Query] = []

    def listen(_: ss.JoinProgress) -> None:
        for query in queries:
            for case in cases.values():
                if (progress := query.progress_of(str(case.state))) is not None:
                    case.listen(progress)

    queries.append(ss.start(writer, str(folder / "output"), listener=listen))
    ended(queries[0])
    assert queries[0].is_complete


def by_case(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = defaultdict(Rows)
    for (name, row), count in rows.items():
        found[name][(row,)] = count
    return found


def require_answers_of_spark(spark: SparkSession, folder: Path, cases: dict[str, JoinCase]) -> None:
    run_together(folder, cases)
    expected = reduce(DataFrame.union, [as_text(case.spark_join(), name) for name, case in cases.items()])
    written_by_case, expected_by_case = (
        by_case(rows_of(rows)) for rows in (spark.read.parquet(str(folder / "output")), expected)
    )
    assert expected_by_case.keys() == {repr(name) for name in cases}
    for name, rows in expected_by_case.items():
        assert written_by_case[name] == rows, name


@pytest.mark.parametrize("group", GROUPS)
def test_some_of_every_algorithm_kind_of_key_and_number_of_partitions(
    spark: SparkSession, tmp_path: Path, group: list[tuple[str, int, str, str]]
) -> None:
    cases = {
        "-".join(map(str, one)): case_of(spark, tmp_path / f"{number}", *one, WAYS[number % 3])
        for number, one in enumerate(group)
    }
    require_answers_of_spark(spark, tmp_path, cases)
    for name, case in cases.items():
        if case.arguments["partitions"] < 7 and case.arguments["algorithm"] != "symmetric_hash":
            assert case.most_spilled_rows > 200, f"the memory of {name} was not small enough to tell anything"


@pytest.mark.long
@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_with_every_kind_of_key(
    spark: SparkSession, tmp_path: Path, algorithm: str, partitions: int, kind: str, ways: tuple[Way, Way]
) -> None:
    case = case_of(spark, tmp_path, algorithm, partitions, kind, "inner", ways)
    case.run()
    assert case.written() == case.expected()


@pytest.mark.long
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("how", OTHER_JOINS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_with_every_join(
    spark: SparkSession, tmp_path: Path, algorithm: str, how: str, kind: str
) -> None:
    ways = WAYS[(list(KEYS).index(kind) + OTHER_JOINS.index(how)) % len(WAYS)]
    case = case_of(spark, tmp_path, algorithm, 2, kind, how, ways)
    case.run()
    assert case.written() == case.expected()
