"""A driver that is killed at any moment has lost nothing: the next one goes on from the checkpoint."""

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import enrich_driver
import estimate_driver
import multijoin_driver
import queries_driver
import rescaled_driver
import small_operators_driver
import spark_driver
from killing import batches_begun, kill_in_a_batch, kill_when
from sooner.how import KINDS
from sooner.spark.states.contents import UsedState
from spark_joins import Way, ended

BATCHES = queries_driver.BATCHES
OURS: list[Way] = ["packed", "not packed"]  # of one source, and so with one checkpoint


# One driver with several queries: each has done a batch and begun another when it is killed


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    folders = [folder / name for name in queries_driver.QUERIES]

    def are_on_their_way() -> bool:
        return all(batches_begun(one) > 1 for one in folders)

    kill_when(are_on_their_way, 0.5, folder, random.Random(1), queries_driver)
    return folder


def test_a_driver_that_is_killed(spark: SparkSession, killed: Path) -> None:
    """In a full join: pairs, and rows of both sides that match nothing. Others, and more kills, are in the long set."""
    require_right_answer(spark, killed / queries_driver.JOIN, "not packed", "full")


def require_right_answer(spark: SparkSession, folder: Path, way: Way, how: str) -> None:
    """Of the query that goes on there, and takes its rows in this way."""
    case = spark_driver.case_in(spark, folder, BATCHES, way, how)
    case.run(then=spark_driver.noting_workers(str(folder)))
    assert case.written() == case.expected()


def test_an_enrichment_goes_on_after_a_kill_amid_the_master(spark: SparkSession, killed: Path) -> None:
    enrich_driver.require_right_answers(spark, killed, [queries_driver.ENRICHMENT])


def test_a_join_of_many_inputs_goes_on_after_a_kill(spark: SparkSession, killed: Path) -> None:
    multijoin_driver.require_right_answers(spark, killed / queries_driver.MANY)


def test_an_estimate_ends_exactly_after_a_kill_and_none_is_lost_or_given_twice(
    spark: SparkSession, killed: Path
) -> None:
    require_exact_end(spark, killed / queries_driver.ESTIMATE)


def require_exact_end(spark: SparkSession, folder: Path) -> None:
    """Of the estimate that goes on there; some of it has been written."""
    case = estimate_driver.EstimateCase(spark, folder)
    before = case.written()
    query = case.start(case.estimates())
    ended(query)
    case.require_exact(query.estimate)
    after = case.written()
    assert before
    assert set(before) == {row for row in after if row.batch <= max(one.batch for one in before)}
    last = max(row.batch for row in after)
    groups = {(row.g, row.h) for row in after}
    assert Counter((row.batch, row.g, row.h) for row in after) == Counter(
        (batch, *group) for batch in range(last + 1) for group in groups
    )
    assert {row.batch for row in after if row.exact} == {last}


# Several kills of each, and all that is no part of the one driver


@pytest.mark.long
@pytest.mark.parametrize("how", ["inner", "full"])
def test_2_partitions_become_8_and_3_tasks_under_load_and_kills(spark: SparkSession, tmp_path: Path, how: str) -> None:
    """The refusal to divide amid a batch that may be done is one of the things that can happen."""
    dice = random.Random(how)
    for partitions in (2, 2, 8, 8, 8, 3, 3):
        kill_in_a_batch(tmp_path, dice, rescaled_driver, "local[2]", partitions, how)
    case = rescaled_driver.case_in(spark, tmp_path, how)
    rescaled_driver.run(case, 3)
    used = UsedState.at(str(case.state))
    assert (used.partitions, used.tasks) == (8, 3)
    assert case.written() == case.expected()


@pytest.mark.long
def test_small_operators_go_on_after_a_kill_by_the_contract_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A union of three inputs, and a join with a third input for which the others wait in the state."""
    names = small_operators_driver.OPERATORS
    for name in names:
        (tmp_path / name).mkdir()

    def are_on_their_way() -> bool:
        return all(batches_begun(tmp_path / name) > 1 for name in names)

    kill_when(are_on_their_way, 0.5, tmp_path, random.Random(1), small_operators_driver)
    for name, query in small_operators_driver.start(spark, tmp_path, names).items():
        ended(query)
        assert query.is_complete
        found = Counter(map(tuple, spark.read.parquet(str(tmp_path / name / "output")).collect()))
        assert found == small_operators_driver.expected(name), name


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 124))  # three kills each, each join twice, once by a range, once by PR-Join
def test_a_driver_that_is_killed_again_and_again_for_long(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Each driver takes rows in its own way."""
    dice = random.Random(seed)
    how = list(KINDS)[seed % len(KINDS)] + (" pr_join" if seed >= 118 else " near" if seed >= 112 else "")
    *ways, last = random.Random(seed).choices(OURS if seed % 2 else ["Spark's source"], k=4)
    for way in ways:
        kill_in_a_batch(tmp_path, dice, spark_driver, "local[2,4]", BATCHES, way, how)
    require_right_answer(spark, tmp_path, last, how)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 208))
def test_an_estimate_ends_exactly_after_many_kills(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Two at least: the second driver has finished what the first one began, so there is an estimate by then."""
    dice = random.Random(seed)
    for _ in range(4):
        kill_in_a_batch(tmp_path, dice, estimate_driver)
    require_exact_end(spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(400, 406))
@pytest.mark.parametrize("algorithm", ["miner", "agf"])
def test_a_join_of_many_inputs_goes_on_after_many_kills(
    spark: SparkSession, tmp_path: Path, algorithm: str, seed: int
) -> None:
    dice, folder = random.Random(seed), tmp_path / algorithm
    folder.mkdir()
    for _ in range(3):
        kill_in_a_batch(folder, dice, multijoin_driver)
    multijoin_driver.require_right_answers(spark, folder)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 306))
def test_enrichments_go_on_after_many_kills(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    dice, folders = random.Random(seed), [tmp_path / name for name in enrich_driver.KILLED]
    for _ in range(3):
        before = sum(map(batches_begun, folders))
        kill_when(lambda was=before: sum(map(batches_begun, folders)) > was + 1, 2.0, tmp_path, dice, enrich_driver)  # type: ignore[misc]
    enrich_driver.require_right_answers(spark, tmp_path)
