"""Spark's Python processes are forked; whatever happens to the server, Spark gets what it wants and nothing stays.

Tests do here what Java does: they start the launcher, read the port that PySpark's daemon says, and close its
standard input to end it.
"""

import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import sooner.fallbacks
from patience import HANG_SECONDS, until
from sooner.spark.session import fork_request, worker_python
from sooner.spark.session.fork_request import ENDED as SERVER_ENDED
from sooner.spark.session.fork_request import NOT_FORKED, TOLD
from sooner.spark.session.worker_python import PYTHON, environment_of_java

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
# A module that any Python imports when it starts, and that starts a thread of this name behind Python's back.
STARTS_THREAD = """
import _thread, ctypes, threading
named = _thread.allocate_lock()
named.acquire()
def wait():
    ctypes.CDLL(None).prctl(15, b"{name}", 0, 0, 0)
    named.release()
    threading.Event().wait()
_thread.start_new_thread(wait, ())
named.acquire()
"""
Environment = dict[str, str]
Launched = subprocess.Popen[bytes]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Environment]:
    """As Java finds it, with a server of its own, in a place whose name is longer than that of a socket may be."""
    long_name = tmp_path / ("temporary " * 12)
    long_name.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long_name))
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
        launched.wait(HANG_SECONDS)


def told(launched: Launched) -> list[str]:
    """What was said to a Python that was not forked."""
    process = psutil.Process(launched.pid)
    assert process.cmdline()[1:] == list(DAEMON)
    return process.environ()[TOLD].splitlines()


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


def is_gone(process: int) -> bool:
    """Or waits for whoever inherited it to take note of its end."""
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
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
        until(lambda: not psutil.pid_exists(child))


def test_a_child_that_is_killed_ends_its_launcher_in_the_same_way(environment: Environment) -> None:
    with daemon(environment) as launched:
        [child] = forked(environment)
        os.kill(child, signal.SIGKILL)
    assert launched.returncode == -signal.SIGKILL


def test_what_the_server_does_not_know_is_left_to_python(environment: Environment) -> None:
    program = "import sys; sys.exit(sys.argv[1:] == ['a b', ''] and 7)"
    assert subprocess.run([environment[PYTHON], "-c", program, "a b", ""], env=environment).returncode == 7
    assert subprocess.run([environment[PYTHON], "-m", "sooner.no_such_module"], env=environment).returncode == 1


def test_a_child_begins_when_it_is_told_to_and_not_beside_another_python(environment: Environment) -> None:
    """Who has asked may have lost its patience before it gets an answer."""
    output, written = os.pipe()
    with socket.socket(socket.AF_UNIX) as asking:
        fork_request.reach(environment[fork_request.SOCKET], asking.connect)
        variables = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        request = marshal.dumps((list(DAEMON), "/", variables))
        socket.send_fds(asking, [len(request).to_bytes(4)], [0, written, 2])
        asking.sendall(request)
        assert asking.recv(100) == fork_request.FORKED
        [child] = forked(environment)
    until(lambda: not psutil.pid_exists(child))
    os.close(written)
    with os.fdopen(output, "rb") as said:
        assert said.read() == b""


def test_who_asks_and_says_no_more_keeps_nobody_waiting(environment: Environment) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        fork_request.reach(environment[fork_request.SOCKET], silent.connect)
        with daemon(environment):
            assert len(forked(environment)) == 2


# Threads


def test_the_thread_of_an_allocator_is_not_started(environment: Environment) -> None:
    with daemon(environment):
        assert server_at(environment[fork_request.SOCKET]).num_threads() == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "setting", [{"JE_ARROW_MALLOC_CONF": "dirty_decay_ms:500,background_thread:true"}, {"OPENBLAS_NUM_THREADS": "2"}]
)
def test_whoever_asks_libraries_for_threads_has_forks_all_the_same(setting: Environment) -> None:
    with driving({**os.environ, PYTHON: sys.executable, **setting}) as (_, environment), daemon(environment):
        assert forked(environment)


def test_nothing_is_forked_beside_a_thread_that_is_not_known_to_be_harmless(tmp_path: Path) -> None:
    with imported_by_every_python(tmp_path, STARTS_THREAD.format(name="tracer")) as environment:
        with daemon(environment) as launched:
            [why] = told(launched)
        assert why == NOT_FORKED.format("what is imported there has started threads (tracer)")
        assert not forked(environment)


def test_a_thread_of_another_jemalloc_is_harmless(tmp_path: Path) -> None:
    thread = STARTS_THREAD.format(name="jemalloc_bg_thd")
    with imported_by_every_python(tmp_path, thread) as environment, daemon(environment):
        assert server_at(environment[fork_request.SOCKET]).num_threads() == 2
        assert forked(environment)


@contextlib.contextmanager
def imported_by_every_python(folder: Path, program: str) -> Iterator[Environment]:
    """What Java would find, where this runs first in every Python."""
    (folder / "sitecustomize.py").write_text(program)
    with driving({**os.environ, PYTHON: sys.executable, "PYTHONPATH": str(folder)}) as (_, environment):
        yield environment


# Without the server


def test_without_a_server_there_is_a_daemon_all_the_same(environment: Environment) -> None:
    worker_python.end_fork_server()
    with daemon(environment) as launched:
        assert told(launched) == [NOT_FORKED.format(SERVER_ENDED)]
    assert launched.returncode == ENDED


def test_a_server_that_is_killed_takes_nothing_with_it_and_leaves_nothing(
    environment: Environment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sooner.fallbacks, "_REPORTED", set())
    folder = Path(environment[fork_request.SOCKET]).parent
    with daemon(environment) as before:
        [child] = forked(environment)
        server_at(environment[fork_request.SOCKET]).kill()
        until(lambda: not folder.exists())
        with daemon(environment) as launched:
            assert told(launched) == [NOT_FORKED.format(SERVER_ENDED)]
        assert before.poll() is None, "Java would close the streams of the child"
        assert not is_gone(child)
    assert before.returncode == ENDED
    until(lambda: is_gone(child))
    until(lambda: caplog.messages == [NOT_FORKED.format(SERVER_ENDED)])


def is_connected(process: int) -> bool:
    """Whether it has a socket that is, perhaps not yet accepted."""
    links: list[str] = []
    for stream in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has been closed since
            links.append(str(stream.readlink()))
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return any(f"socket:[{number}]" in links and state == "03" for *_, state, number in (row[:7] for row in rows))


def test_a_server_that_is_killed_before_it_has_answered_is_done_without(environment: Environment) -> None:
    server = server_at(environment[fork_request.SOCKET])
    server.suspend()
    launched = subprocess.Popen(
        [environment[PYTHON], *DAEMON], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert launched.stdin is not None
    assert launched.stdout is not None
    with launched:
        until(lambda: is_connected(launched.pid), "nobody asks")
        server.kill()
        assert int.from_bytes(launched.stdout.read(4)) > 0, "it says no port"
        assert told(launched) == [NOT_FORKED.format(SERVER_ENDED)]
        launched.stdin.close()


def test_a_server_that_says_nothing_is_done_without(environment: Environment, tmp_path: Path) -> None:
    """With less patience than there is."""
    request = tmp_path / "fork_request.py"
    original = Path(fork_request.__file__).read_text()
    request.write_text(original.replace(f"{fork_request.PATIENCE_SECONDS}", "0.1"))
    server = server_at(environment[fork_request.SOCKET])
    server.suspend()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(request), sys.executable, *DAEMON],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as launched:
        assert launched.stdin is not None
        assert launched.stdout is not None
        assert int.from_bytes(launched.stdout.read(4)) > 0, "it says no port"
        assert told(launched) == [NOT_FORKED.format("the fork server said nothing for 0 seconds")]
        server.resume()
        launched.stdin.close()


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "other", [{"PYTHONHASHSEED": "1"}, {"OMP_NUM_THREADS": "2"}, {"TZ": "Asia/Tokyo"}, {"PYTHONPATH": "/"}]
)
def test_a_process_that_is_to_find_another_environment_is_not_forked(
    environment: Environment, other: Environment
) -> None:
    with daemon(environment | other) as launched:
        [name] = other
        why = f"they would find other values of {name} than the server has"
        assert told(launched) == [NOT_FORKED.format(why)]
        until(lambda: not forked(environment))


@pytest.mark.one_in(3)
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


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_with_its_driver_and_not_before(number: signal.Signals) -> None:
    with driving({**os.environ, PYTHON: sys.executable}) as (driver, environment):
        server = server_at(environment[fork_request.SOCKET])
        with daemon(environment):
            assert server.children()
            os.killpg(driver.pid, number)  # as a terminal does
            driver.wait(HANG_SECONDS)
            assert server.children(), "what Java uses stays until Java ends it"
        until(lambda: not server.is_running())
    assert not Path(environment[fork_request.SOCKET]).parent.exists()


def test_only_the_user_reaches_the_server(environment: Environment) -> None:
    assert Path(environment[fork_request.SOCKET]).parent.stat().st_mode & 0o777 == 0o700
