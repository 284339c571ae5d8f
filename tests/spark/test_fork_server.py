"""Spark's Python processes are forked; whatever happens to the server, Spark gets what it wants and nothing stays.

Most tests do here what Java does: they start the launcher, read the port that PySpark's daemon says, and close its
standard input to end it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sooner.spark as ss
from sooner.spark.session import fork_request, worker_python
from sooner.spark.session.worker_python import PYTHON, environment_of_java
from spark_joins import SOON_SECONDS, ended

ENDED = 1  # PySpark's daemon ends like this however it ends
DAEMON = ("-m", "pyspark.daemon", "pyspark.worker")
# As PySpark and Java change the environment of workers; it is the same for all of them.
OF_WORKERS = {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "YES", "SPARK_HOME": "/nowhere"}
DRIVER = """
import os, signal, sys
from sooner.spark.session.worker_python import PYTHON, environment_of_java
with environment_of_java(on_this_machine=True):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests in the background ignores it
    print(os.environ[PYTHON], os.environ["SOONER_FORK_SERVER"], flush=True)
signal.pause()
"""
Environment = dict[str, str]
Launched = subprocess.Popen[bytes]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    """As Java finds it, with a server of its own."""
    monkeypatch.setattr(worker_python, "_servers", [])
    monkeypatch.setenv(PYTHON, sys.executable)
    with environment_of_java(on_this_machine=True):
        found = {**os.environ, **OF_WORKERS}
    yield found
    worker_python.end_fork_server()


@contextlib.contextmanager
def daemon(environment: Environment) -> Iterator[Launched]:
    launched = subprocess.Popen(
        [environment[PYTHON], *DAEMON], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert launched.stdin is not None
    assert launched.stdout is not None
    with launched:
        assert int.from_bytes(launched.stdout.read(4)) > 0, "it says no port"
        yield launched
        launched.stdin.close()
        launched.wait(SOON_SECONDS)


def server_at(path: str) -> psutil.Process:
    """Its children are called as it is, but none leads a session."""
    called_so = (process for process in psutil.process_iter(["cmdline"]) if path in (process.info["cmdline"] or []))
    [found] = filter(leads_session, called_so)
    return found


def leads_session(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid
    except ProcessLookupError:
        return False


def forked(environment: Environment) -> list[int]:
    return [child.pid for child in server_at(environment[fork_request.SOCKET]).children()]


def soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


# Requests


def test_a_daemon_is_forked_and_ends_when_java_says_so(environment: Environment) -> None:
    with daemon(environment) as launched:
        [child] = forked(environment)
        assert os.getpgid(child) == child  # a daemon leads its workers
    assert launched.returncode == ENDED
    assert not psutil.pid_exists(child)


def test_a_launcher_that_is_killed_takes_its_child_with_it(environment: Environment) -> None:
    with daemon(environment) as launched:
        [child] = forked(environment)
        launched.kill()
        assert soon(lambda: not psutil.pid_exists(child))


def test_a_child_that_is_killed_ends_its_launcher_in_the_same_way(environment: Environment) -> None:
    with daemon(environment) as launched:
        [child] = forked(environment)
        os.kill(child, signal.SIGKILL)
    assert launched.returncode == -signal.SIGKILL


def test_what_the_server_does_not_know_is_left_to_python(environment: Environment) -> None:
    program = "import sys; sys.exit(sys.argv[1:] == ['a b', ''] and 7)"
    assert subprocess.run([environment[PYTHON], "-c", program, "a b", ""], env=environment).returncode == 7
    assert subprocess.run([environment[PYTHON], "-m", "sooner.no_such_module"], env=environment).returncode == 1


# Without the server


def test_without_a_server_there_is_a_daemon_all_the_same(environment: Environment) -> None:
    worker_python.end_fork_server()
    with daemon(environment) as launched:
        assert psutil.Process(launched.pid).cmdline()[1:] == list(DAEMON)
    assert launched.returncode == ENDED


def test_a_server_that_was_killed_is_done_without(environment: Environment) -> None:
    with daemon(environment):
        server_at(environment[fork_request.SOCKET]).kill()
        with daemon(environment) as launched:
            assert psutil.Process(launched.pid).cmdline()[1:] == list(DAEMON)
    assert Path(environment[fork_request.SOCKET]).exists()
    worker_python.end_fork_server()
    assert not Path(environment[fork_request.SOCKET]).parent.exists()


@pytest.mark.parametrize(
    "other", [{"PYTHONHASHSEED": "1"}, {"OMP_NUM_THREADS": "2"}, {"TZ": "Asia/Tokyo"}, {"PYTHONPATH": "/"}]
)
def test_a_process_that_is_to_find_another_environment_is_not_forked(
    environment: Environment, other: Environment
) -> None:
    with daemon(environment | other) as launched:
        assert psutil.Process(launched.pid).cmdline()[1:] == list(DAEMON)
        assert not forked(environment)


@pytest.mark.parametrize(
    "other", [{"PYTHONPATH": "/nowhere.zip:/bin/x.jar"}, {"SPARK_X": "1"}, {"OMP_NUM_THREADS": "1"}]
)
def test_what_spark_says_to_its_processes_changes_nothing(environment: Environment, other: Environment) -> None:
    with daemon(environment | other):
        assert forked(environment)


def test_a_python_that_the_user_has_chosen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, "/usr/bin/python3")
    with environment_of_java(on_this_machine=True):
        assert os.environ[PYTHON] == "/usr/bin/python3"
        assert fork_request.SOCKET not in os.environ


def test_other_machines_have_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    with environment_of_java(on_this_machine=False):
        assert os.environ[PYTHON] == sys.executable
        assert fork_request.SOCKET not in os.environ


# Nothing is left behind


@contextlib.contextmanager
def driving(environment: Environment) -> Iterator[tuple[Launched, Environment]]:
    """A driver in a process group of its own, and what its Java would find."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert driver.stdout is not None
    with driver:
        try:
            python, path = driver.stdout.readline().decode().split()
            yield driver, {**environment, **OF_WORKERS, PYTHON: python, fork_request.SOCKET: path}
        finally:
            driver.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_with_its_driver_and_not_before(number: signal.Signals) -> None:
    with driving({**os.environ, PYTHON: sys.executable}) as (driver, environment):
        server = server_at(environment[fork_request.SOCKET])
        with daemon(environment):
            assert server.children()
            os.killpg(driver.pid, number)  # as a terminal does
            driver.wait(SOON_SECONDS)
            assert server.children(), "what Java uses stays until Java ends it"
        assert soon(lambda: not server.is_running())
    assert not Path(environment[fork_request.SOCKET]).parent.exists()


def test_only_the_user_reaches_the_server(environment: Environment) -> None:
    assert Path(environment[fork_request.SOCKET]).parent.stat().st_mode & 0o777 == 0o700


# In Spark


def join_to_its_end(spark: SparkSession, folder: Path) -> set[int]:
    """The processes of its sources that were forked: these lead no group, as daemons do."""
    pq.write_table(pa.table({"k": np.arange(100)}), folder / "rows.parquet")
    left, right = (ss.sources.parquet(spark, str(folder / "rows.parquet"), rows_per_batch=50) for _ in range(2))
    joined = ss.join(left, right, on="k", state=folder / "state")
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = ss.start(writer, str(folder / "out"))
    server = server_at(str(worker_python._servers[0].socket))
    seen: set[int] = set()
    while query.isActive:
        with contextlib.suppress(ProcessLookupError):
            seen |= {child.pid for child in server.children() if os.getpgid(child.pid) != child.pid}
        time.sleep(0.02)
    ended(query)
    assert spark.read.parquet(str(folder / "out")).count() == 100
    return seen


def test_the_sources_of_a_query_are_forked_and_end_with_it(spark: SparkSession, tmp_path: Path) -> None:
    sources = join_to_its_end(spark, tmp_path)
    assert len(sources) == 3, "left, right and the pacemaker"
    assert soon(lambda: not any(map(psutil.pid_exists, sources)))


def test_a_query_starts_without_the_server_too(spark: SparkSession, tmp_path: Path) -> None:
    [server] = worker_python._servers
    away = server.socket.with_name("away")
    server.socket.rename(away)
    try:
        assert not join_to_its_end(spark, tmp_path)
    finally:
        away.rename(server.socket)


def test_workers_draw_random_numbers_of_their_own_and_have_hashes_in_common(spark: SparkSession) -> None:
    """NumPy would give the same to all, had the server made the generator that they share."""

    def draw(_: int) -> tuple[int, float, int]:
        time.sleep(0.5)  # so that one worker does not do it all
        return os.getpid(), np.random.random(), hash("sooner")

    found = spark.sparkContext.range(4, numSlices=4).map(draw).collect()
    workers, drawn, hashes = map(set, zip(*found, strict=True))
    assert len(workers) > 1
    assert len(drawn) == 4
    assert len(hashes) == 1
