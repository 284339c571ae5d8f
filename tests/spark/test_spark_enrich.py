"""`sooner.spark.enrich`: Spark's own rows, once each, whatever the master is; kills are elsewhere."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from enrich_driver import MASTER_ROWS, STREAM_ROWS, EnrichCase
from queries import refused
from sooner.errors import InvalidJoin
from sooner.spark import JoinProgress
from spark_joins import ended

HOWS = ("inner", "left", "semi", "anti")
ALGORITHMS = ("probe", "ssbj", "meshjoin")
FORMS = ("path", "batch", "stream", "Arrow")


def master_in(form: str, case: EnrichCase) -> object:
    match form:
        case "batch":
            return case.batch("master")
        case "stream":
            return case.slow_master(3)
        case "Arrow":
            return pq.read_table(case.path("master"))
    return case.path("master")


# In turn each algorithm with each kind, and each master with each algorithm; no killed driver has the first masters.
CASES = [
    [(how, ALGORITHMS[(turn + at) % len(ALGORITHMS)], FORMS[(turn + at) % len(FORMS)]) for at, how in enumerate(HOWS)]
    for turn in range(len(ALGORITHMS))
]
FIRST, *LATER = [cases[first::2] for cases in CASES for first in (1, 0)]


@pytest.mark.parametrize("cases", [FIRST, *(pytest.param(cases, marks=pytest.mark.long) for cases in LATER)], ids=str)
def test_each_row_gets_sparks_own_answer(
    cases: list[tuple[str, str, str]], spark: SparkSession, tmp_path: Path
) -> None:
    """Several queries at a time."""
    started = []
    for how, algorithm, form in cases:
        case = EnrichCase(spark, tmp_path / how, 2, {"how": how, "algorithm": algorithm})
        started.append((case, how, case.start(master_in(form, case))))
    for case, how, query in started:
        ended(query)
        assert query.is_complete
        assert case.written() == case.expected(how), how
        assert query.progress is not None
        assert query.progress.total.phase == "done"
        assert max(progress.total.spilled_rows for progress in case.progress) > 0


@pytest.mark.parametrize(("memory", "told"), [("128KB", "too much for about 120.0 KB"), ("64MB", "fits about 60.0 MB")])
def test_it_is_explained_before_it_begins(memory: str, told: str, spark: SparkSession, tmp_path: Path) -> None:
    """Of Parquet files it is known how many rows they have, and of a batch of rows which was written to some."""
    case = EnrichCase(spark, tmp_path, arguments={"how": "left"})
    for form in ("path", "batch"):
        looked_up = ss.enrich(
            case.stream(), master_in(form, case), on="k", how="left", memory=memory, partitions=2,
            state=tmp_path / f"state of {form}",
        )  # fmt: skip
        _, first, master, *others = ss.explain(looked_up).splitlines()
        assert first == "  enriched by probe, how='left'"
        assert master.startswith("  master: 10,000 rows of about 60 bytes")
        assert told in master
        if memory == "128KB":
            assert others[0].startswith("  look-up: ")
            assert others[1] == "  wait: a row is answered in the batch in which it comes"


# Stopped, and started again


@pytest.mark.long  # one that is killed amid its master goes on in test_killed_driver.py
def test_rows_that_come_before_the_master_wait_and_a_query_that_is_stopped_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It is stopped while the master comes, and again while the stream does."""
    case = EnrichCase(spark, tmp_path, stream_batches=10, arguments={"how": "left"})

    def is_amid_the_master(progress: JoinProgress) -> bool:
        return 0 < progress.total.arrived_rows[1] < MASTER_ROWS

    case.run_until(is_amid_the_master, case.slow_master(5))
    total = case.progress[-1].total
    assert total.arrived_rows[0] == total.results == 0, "they lie in the state"
    assert case.held_rows() > 0
    case.run_until(lambda progress: progress.total.results > 0, case.slow_master(5))
    assert case.written() < case.expected("left")
    query = case.run(case.slow_master(5))
    assert case.written() == case.expected("left")
    assert query.progress is not None
    assert query.progress.total.arrived_rows == (STREAM_ROWS, MASTER_ROWS)
    assert case.held_rows() == 0


@pytest.fixture(scope="module")
def used(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> EnrichCase:
    """A query that was stopped."""
    case = EnrichCase(spark, tmp_path_factory.mktemp("used"), arguments={"how": "left"})
    case.run_until(lambda progress: progress.batch >= 0, case.batch("master"))
    return case


@pytest.mark.parametrize(
    ("changes", "mentions"),
    [
        ({"how": "inner"}, ["another kind of join", "left there, inner here"]),
        ({"algorithm": "ssbj"}, ["another algorithm", "probe there, ssbj here"]),
        ({"partitions": 4, "memory": "1MB"}, ["2 partitions, too few for that", "it is of an enrichment"]),
        ({"columns": "b"}, ["other columns in the master", "note"]),
        ({"on": None, "stream_on": "a", "master_on": "b"}, ["other keys", "['a'], ['b']] here"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["path", "batch"])
def test_a_state_of_another_shape_is_refused(
    form: str, changes: dict[str, Any], mentions: list[str], used: EnrichCase
) -> None:
    with refused(InvalidJoin, str(used.folder / "state"), *mentions):
        used.enriched(master_in(form, used), **changes)


@pytest.mark.long
def test_a_master_that_disappears_midway_is_named_and_goes_on_when_it_is_there_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows of the stream that came before wait in the state, and none is lost."""
    case = EnrichCase(spark, tmp_path, stream_batches=6, arguments={"how": "left"})
    case.run_until(lambda progress: 0 < progress.total.arrived_rows[1] < MASTER_ROWS, case.slow_master(8))
    looked_up = case.slow_master(8)
    away = case.path("master").rename(tmp_path / "elsewhere")
    with pytest.raises(Exception, match=r"master\.parquet"):
        case.start(looked_up).awaitTermination()
    assert case.held_rows() > 0
    away.rename(case.path("master"))
    case.run(case.slow_master(8))
    assert case.written() == case.expected("left")
