"""The Python of Spark's workers in a session that we start: the one that runs this program, and soon ready.

Only that one is known to have pyarrow and sooner. What the user has set instead stays, and then all is as Spark has it.
What of it cannot be had, Spark's processes are told by their environment: steps say it with their progress.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from sooner.fallbacks import report
from sooner.spark.session import fork_request
from sooner.spark.session.scripts import place_of, write_script
from sooner.threads import start_thread

PYTHON: Final = "PYSPARK_PYTHON"
HOME: Final = "SPARK_HOME"
DEATH_SECONDS: Final = 60.0  # what the fork server gets to end by itself, when Java has
# For the few kinds of processes that the fork server knows a child of it, for all others the real Python.
_LAUNCHER: Final = """#!/bin/sh
if [ "$1" = -m ] && [ -n "${socket}" ]; then
  case "$2" in
    pyspark.daemon | pyspark.sql.streaming.python_streaming_source_runner)
      exec "{python}" -I -S "{request}" "{python}" "$@" ;;
  esac
fi
exec "{python}" "$@"
"""


def let_workers_be_this_python() -> None:
    """Unless the user has set another."""
    os.environ.setdefault(PYTHON, sys.executable)


@contextmanager
def environment_of_java(on_this_machine: bool) -> Iterator[None]:
    """Set what Java and its session read at their start. Other programs that are started later must not see it."""
    let_workers_be_this_python()
    ours = _ours(on_this_machine) if os.environ[PYTHON] == sys.executable else {}
    before = {name: os.environ.pop(name, None) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _ours(on_this_machine: bool) -> dict[str, str]:
    """Variables for the environment of Java; among them, in words, what cannot be had."""
    missed: list[str] = []
    ours = _compiled_pyspark(missed) | (_forking(missed) if on_this_machine else {})
    return ours | ({fork_request.TOLD: "\n".join(missed)} if missed else {})


# PySpark as it is installed


def _compiled_pyspark(missed: list[str]) -> dict[str, str]:
    """Let workers take the PySpark that is installed for their Python.

    Spark's home has PySpark in a zip as well, and workers look there first. It has no compiled files: each process
    that Spark starts then compiles all of it anew, and takes three times as long until it can begin.
    """
    if HOME in os.environ:
        return {}
    try:
        return {HOME: str(_home_without_zip(Path(pyspark.__file__).parent))}
    except OSError as error:
        missed.append(f"Spark's Python processes each compile PySpark anew and start more slowly: {error}")
        return {}


def _home_without_zip(spark: Path) -> Path:
    """Spark's own home, but for the directory `python`."""
    home = place_of("spark")
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        unfinished = home / f".{name}.{os.getpid()}"
        unfinished.symlink_to(spark / name)
        unfinished.replace(home / name)
    return home


# The fork server


class _Server:
    """A process of this program, which ends when its standard input does: with the program at the latest."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sooner-python-"))  # mode 0700; the server removes it
        self.socket: Final = self._folder / "socket"
        try:
            with socket.socket(socket.AF_UNIX) as listener:  # here already, so that nobody comes too early
                fork_request.reach(str(self.socket), listener.bind)
                listener.listen()
                self._process = self._start(listener.fileno())
        except OSError:
            shutil.rmtree(self._folder)
            raise
        self._told_to_end = False
        self._watcher = start_thread(self._watch, "sooner-fork-server")

    def _start(self, listener: int) -> "subprocess.Popen[bytes]":
        # As Spark's workers find it, so that the server is like them: texts have equal hashes in all of them, and
        # NumPy starts no threads.
        like_workers = {
            "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
            "PYTHONUNBUFFERED": "YES",
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "sooner.spark.session.fork_server", str(listener), str(self.socket)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **like_workers},
            pass_fds=[listener],
            start_new_session=True,  # Ctrl-C is for the program
        )

    def _watch(self) -> None:
        """Remove the server's folder when it has ended, so that whoever wants a child sees that there is no server."""
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        if not self._told_to_end:
            report([fork_request.NOT_FORKED.format(fork_request.ENDED)])

    def end(self) -> None:
        self._told_to_end = True
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._watcher.join(DEATH_SECONDS)
        if self._watcher.is_alive():
            self._process.kill()
            self._watcher.join()


_servers: Final[list[_Server]] = []  # one, as long as there is a Java


def _forking(missed: list[str]) -> dict[str, str]:
    """Let workers be forked from a process that has imported what they need."""
    try:
        return _forked_by_a_server()
    except OSError as error:
        missed.append(fork_request.NOT_FORKED.format(error))
        return {}


def _forked_by_a_server() -> dict[str, str]:
    request = Path(fork_request.__file__)
    if sys.platform != "linux":
        raise OSError("only on Linux can they be")
    if not request.is_file():
        raise OSError("sooner is not installed but in a zip")
    text = _LAUNCHER.format(socket=fork_request.SOCKET, python=sys.executable, request=request)
    launcher = write_script("python", text)
    if not _servers:
        _servers.append(_Server())
    return {PYTHON: str(launcher), fork_request.SOCKET: str(_servers[0].socket)}


def end_fork_server() -> None:
    """When Java has ended, and with it all that was forked."""
    while _servers:
        _servers.pop().end()
