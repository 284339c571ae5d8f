"""Sessions in which nothing of ours could run are refused before a query starts, with the cure."""

import shutil
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

import sooner
import sooner.spark as ss
from queries import refused
from sooner.spark import sources
from sooner.spark.dataflow.pacemaker import Pulses
from sooner.spark.session import prerequisites
from sooner.spark.session.connect import UnfitSession
from sooner.spark.session.prerequisites import require_fit_workers
from sooner.spark.sources.loading import register_source

HERE = ["PYSPARK_PYTHON", "spark.pyspark.python", sys.executable, "before the session starts"]


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().toDF("time", "k")


@pytest.fixture
def python_of(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the workers of the session be another Python: PySpark looks at it anew for each query."""

    def let(python: Path) -> None:
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))

    return let


def script(path: Path, *before: Path, python: str | Path = sys.executable) -> Path:
    """A Python that finds modules in these places before all others."""
    places = ":".join(map(str, before))
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{places}:$PYTHONPATH" exec "{python}" "$@"\n')
    path.chmod(0o755)
    return path


def test_a_python_of_the_workers_that_lacks_something_is_refused_with_the_cure(
    spark: SparkSession, rows: DataFrame, python_of: Any, tmp_path: Path
) -> None:
    """As where a virtual environment is not activated: Spark takes the `python3` on the path, and gives it PySpark."""
    venv.create(tmp_path / "bare")
    pyspark_as_zips = (Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip")
    python_of(script(tmp_path / "python3", *pyspark_as_zips, python=tmp_path / "bare" / "bin" / "python"))
    with refused(
        UnfitSession, "Spark's workers run", "bare", "lacks something that joins need (No module named", *HERE
    ):
        ss.join(rows, rows, on="k", state=tmp_path / "state")
    with refused(UnfitSession, "Spark's workers run", "bare", *HERE):
        sources.register(spark)
    assert not (tmp_path / "state").exists()


def test_workers_with_another_version_of_python_are_refused(
    spark: SparkSession, rows: DataFrame, python_of: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python_of(script(tmp_path / "python", tmp_path))
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.10")  # what PySpark tells the workers of this program
    there = f"it is Python {sys.version_info[0]}.{sys.version_info[1]}"
    with refused(UnfitSession, str(tmp_path / "python"), there, "this program runs 3.10", *HERE):
        ss.join(rows, rows, on="k", state=tmp_path / "state")


def test_workers_with_another_sooner_are_refused(rows: DataFrame, python_of: Any, tmp_path: Path) -> None:
    ours = Path(sooner.__file__).parent
    shutil.copytree(ours, tmp_path / "sooner", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "sooner" / "budget.py").open("a") as file:
        file.write("\n# of another version\n")
    python_of(script(tmp_path / "python", tmp_path))
    with refused(UnfitSession, f"whose sooner, in {tmp_path / 'sooner'}, is another", str(ours), *HERE):
        ss.join(rows, rows, on="k", state=tmp_path / "state")


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"])
def test_a_python_that_does_not_start_is_refused(spark: SparkSession, python_of: Any, python: str) -> None:
    python_of(Path(python))
    with refused(UnfitSession, python, *HERE):
        require_fit_workers(spark)


def test_workers_are_asked_once_for_a_session(
    spark: SparkSession, rows: DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(prerequisites, "_FIT", set())
    jobs = [len(jobs_of(spark)) for _ in stages_of_a_program(spark, rows, tmp_path)]
    assert jobs[1] == jobs[0] + 1
    assert jobs[2] == jobs[3] == jobs[1]


def stages_of_a_program(spark: SparkSession, rows: DataFrame, folder: Path) -> Iterator[None]:
    yield
    ss.join(rows, rows, on="k", state=folder / "state")
    yield
    ss.join(rows, rows, on="k", state=folder / "another-state")
    yield
    sources.register(spark)
    yield


def jobs_of(spark: SparkSession) -> list[int]:
    return spark.sparkContext.statusTracker().getJobIdsForGroup(None)


# Sources are registered once


def registered(spark: SparkSession, name: str) -> int:
    """Which Java object has this name: Spark warns when another takes its place."""
    java: Any = spark._jsparkSession
    source = java.sessionState().dataSourceManager().lookupDataSource(name)
    return int(spark._jvm.System.identityHashCode(source))  # type: ignore[union-attr]


def test_a_second_join_replaces_no_source(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    names = ["sooner.pulses", "sooner.parquet", "sooner.replay", "sooner.postgres"]
    found = []
    for number in range(2):
        sources.register(spark)
        ss.join(rows, rows, on="k", state=tmp_path / f"state-{number}")
        found.append([registered(spark, name) for name in names])
    assert found[0] == found[1]


def test_a_source_of_that_name_that_is_not_ours_is_replaced(spark: SparkSession) -> None:
    class Other(DataSource):
        @classmethod
        def name(cls) -> str:
            return Pulses.name()

    register_source(spark, Pulses)
    spark.dataSource.register(Other)
    other = registered(spark, Pulses.name())
    register_source(spark, Pulses)
    assert registered(spark, Pulses.name()) != other


# The session that is there


def test_workers_of_a_local_session_do_not_compile_pyspark_anew(spark: SparkSession) -> None:
    [place] = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("pyspark").__file__).collect()
    assert place == pyspark.__file__


def test_a_local_session_is_the_one_that_is_there(spark: SparkSession) -> None:
    master = spark.sparkContext.master
    assert ss.local_session().sparkContext is spark.sparkContext
    assert ss.local_session(master).sparkContext is spark.sparkContext
    with refused(UnfitSession, "'local[7]'", repr(master), "leave master out"):
        ss.local_session("local[7]")
