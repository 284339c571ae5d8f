"""`algorithm="auto"` on Spark: chosen once, by what sources know; from then on a state keeps what it was made with."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import sooner.spark as ss
from queries import refused
from sooner.errors import InvalidJoin
from sooner.sources import Fixed
from spark_joins import JoinCase, skewed, stream_of

LEFT, RIGHT = skewed(3000, 1500, 1, "a"), skewed(2500, 1500, 2, "b")  # 150 KB with all that belongs to a row
PLENTY = "64MB"


@pytest.fixture
def case(spark: SparkSession, tmp_path: Path) -> JoinCase:
    return JoinCase(spark, tmp_path, LEFT, RIGHT, batches=6, ways=("packed", "packed"))


def choice(joined: DataFrame) -> str:
    """The line of `explain` that says it, after that which says what is joined by it."""
    _, first, line, *_ = ss.explain(joined).splitlines()
    name = line.removeprefix("  algorithm: ").partition(",")[0]
    assert first.startswith(f"  joined by {name}, how=")
    return line.strip()


def test_files_are_compared_with_the_memory_and_streams_may_take_their_time(case: JoinCase) -> None:
    assert choice(case.joined()).startswith("algorithm: hmj, since the inputs, about 150.4 KB, are here as a whole")
    assert choice(case.joined(memory=PLENTY)).startswith("algorithm: rpj, since the inputs, about 150.4 KB, fit")
    left, right = case.streams()
    others = [
        stream_of(case.spark, case.folder / "right"),
        right.where("b > 3"),
        ss.sources.replay(case.spark, str(case.folder / "right"), Fixed(0.001)),
    ]
    for other in others:
        joined = ss.join(left, other, on="k", memory="128KB", partitions=2, state=case.state)
        assert choice(joined).startswith("algorithm: rpj, since how much comes and when is not known")
    assert "algorithm:" not in ss.explain(case.joined(algorithm="xjoin"))


def test_a_state_keeps_its_algorithm_whatever_is_known_when_it_goes_on(case: JoinCase) -> None:
    case.run_until_batch(2)
    assert case.progress[-1].algorithm == "hmj"
    assert choice(case.joined(memory=PLENTY)) == "algorithm: hmj, since the state was made with it"
    with refused(InvalidJoin, "another algorithm: hmj there, rpj here", str(case.state)):
        case.joined(algorithm="rpj")
    query = case.run(memory=PLENTY)
    assert query.progress is not None
    assert query.progress.algorithm == "hmj"
    assert case.written() == case.expected()
