"""Every slower way that a join on Spark takes is told: in its progress, by `explain`, and once in the log."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from pyspark.sql import SparkSession

import serverless_driver
import sooner.fallbacks
import sooner.spark as ss
from join_steps import Arriving, Lane, nothing, plan_of, summary_of
from patience import HANG_SECONDS, until
from sooner.runs.custody import shared_memory_directory
from sooner.spark.session import fork_request, worker_python
from sooner.spark.session.fork_request import ENDED, NOT_FORKED, SOCKET, TOLD
from sooner.spark.session.worker_python import PYTHON, environment_of_java
from spark_joins import JoinCase, skewed, start_driver

LEFT, RIGHT = skewed(400, 200, 1, "a"), skewed(350, 200, 2, "b")
NO_SERVER = NOT_FORKED.format(ENDED)


def lane_in(folder: Path) -> Lane:
    return Lane(plan_of(LEFT.schema, RIGHT.schema, folder, memory_bytes=2**20))


def told(lane: Lane) -> list[str]:
    """By the newest version."""
    fallbacks: list[str] = summary_of(lane.plan, lane.version - 1)["progress"]["fallbacks"]
    return fallbacks


# Where a step runs


def test_a_step_has_nothing_to_tell_where_all_is_as_it_should_be(tmp_path: Path) -> None:
    lane = lane_in(tmp_path)
    lane.step(Arriving(LEFT, RIGHT))
    lane.step(nothing(lane.plan))
    assert told(lane) == []


def test_a_step_tells_what_its_process_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOLD, f"one thing\nanother\n{NO_SERVER}")
    monkeypatch.setenv(SOCKET, str(tmp_path / "gone"))
    lane = lane_in(tmp_path)
    lane.step(Arriving(LEFT, RIGHT))
    assert told(lane) == ["one thing", "another", NO_SERVER]


def test_a_step_tells_that_there_is_no_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory_directory, "SHARED_MEMORY", tmp_path / "not there")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lane = Lane(replace(lane_in(tmp_path).plan, shared_memory=None))
    lane.step(Arriving(LEFT, RIGHT))
    assert told(lane) == [
        f"Rows in memory are copied to {tmp_path}, which may be a disk: {tmp_path / 'not there'} cannot be used"
    ]


def test_a_step_tells_that_nothing_can_be_kept(tmp_path: Path) -> None:
    lane = lane_in(tmp_path)
    (tmp_path / "shared-memory").touch()
    lane.step(Arriving(LEFT, RIGHT))
    assert told(lane) == [
        f"Rows in memory are read from the state in each step: nothing can be kept in {tmp_path / 'shared-memory'}"
    ]


def test_a_step_tells_that_shared_memory_is_full_and_not_that_it_is_on_another_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = lane_in(tmp_path)
    lane.step(Arriving(LEFT, RIGHT))
    for copy in (tmp_path / "shared-memory").rglob("*.copy"):
        copy.unlink()
    lane.step(nothing(lane.plan))
    assert told(lane) == []
    for copy in (tmp_path / "shared-memory").rglob("*.copy"):
        copy.unlink()
    monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=0, f_frsize=4096))
    lane.step(nothing(lane.plan))
    assert told(lane) == [
        f"Some of the rows in memory are read from the state in each step: {tmp_path / 'shared-memory'} is full"
    ]


# When a session starts


def test_a_session_that_can_write_nothing_tells_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "share").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv(PYTHON, sys.executable)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(worker_python, "_servers", [])
    with environment_of_java(on_this_machine=True):
        home, server = os.environ[TOLD].splitlines()
        assert os.environ[PYTHON] == sys.executable
    assert home.startswith("Spark's Python processes each compile PySpark anew and start more slowly: ")
    assert server.startswith(NOT_FORKED.format(""))
    assert "share" in home
    assert TOLD not in os.environ


@pytest.mark.parametrize("why", ["only on Linux can they be", "sooner is not installed but in a zip"])
def test_a_session_without_a_fork_server_tells_its_processes_why(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    if "Linux" in why:
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setattr(fork_request, "__file__", "/packages.zip/fork_request.py")
    with environment_of_java(on_this_machine=True):
        assert os.environ[TOLD] == NOT_FORKED.format(why)
        assert SOCKET not in os.environ


# In Spark


def test_a_query_tells_all_of_them_and_the_log_each_once(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that Spark computes, copies that cannot be kept, and a fork server that has gone."""
    monkeypatch.setattr(sooner.fallbacks, "_REPORTED", set())
    (tmp_path / "no folder").touch()
    [server] = worker_python._servers
    away = server.socket.with_name("away")
    server.socket.rename(away)
    case = JoinCase(
        spark, tmp_path, LEFT, RIGHT, batches=2, arguments={"shared_memory": tmp_path / "no folder"},
        ways=("not packed", "Spark's source"),
    )  # fmt: skip
    try:
        query = case.run()
        explained = ss.explain(case.joined()).splitlines()
    finally:
        away.rename(server.socket)
    computed = "as Spark's rows: its column 'k' is computed by Spark"
    nowhere = f"Rows in memory are read from the state in each step: nothing can be kept in {tmp_path / 'no folder'}"
    expected = (f"The left comes {computed}", NO_SERVER, nowhere)
    assert query.progress is not None
    assert query.progress.total.fallbacks == expected
    assert str(query.progress).endswith("; ".join(["", *expected]))
    observed = [progress["observedMetrics"] for progress in query.spark_query.recentProgress]
    assert "; ".join(expected) in {metrics[f"sooner:{case.state}"].fallbacks for metrics in observed if metrics}
    assert f"  left: {computed}" in explained
    assert explained[-2:] == [f"  fallback: {NO_SERVER}", f"  fallback: {nowhere}"]
    assert sorted(caplog.messages) == sorted(expected)


def processes_of(server: str) -> list[psutil.Process]:
    """The server and all that it has forked are called alike."""
    return [process for process in psutil.process_iter(["cmdline"]) if server in (process.info["cmdline"] or [])]


@pytest.mark.long  # without Spark: test_fork_server.py; with Spark, and a server that is away: the test above
def test_a_query_goes_on_when_the_fork_server_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    driver, _ = start_driver(tmp_path, serverless_driver)
    said, _ = driver.communicate(timeout=HANG_SECONDS)
    assert driver.returncode == 0, (tmp_path / "errors").read_text()[-2000:]
    seen = json.loads(said)
    assert seen["told"] == [[], [NO_SERVER]]
    assert f"  fallback: {NO_SERVER}" in seen["explained"].splitlines()
    assert seen["log"] == [NO_SERVER]
    until(lambda: not processes_of(seen["socket"]), "what was forked goes on")
    assert not Path(seen["socket"]).parent.exists()
    case = serverless_driver.case_in(spark, tmp_path)
    assert case.written() == case.expected()
