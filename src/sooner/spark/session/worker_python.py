"""The Python of Spark's workers in a session that we start: the one that runs this program, and soon ready.

Only that one is known to have pyarrow and sooner. What the user has set instead stays, and then all is as Spark has it.
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

from sooner.spark.session import fork_request
from sooner.spark.session.scripts import place_of, write_script

PYTHON: Final = "PYSPARK_PYTHON"
HOME: Final = "SPARK_HOME"
DEATH_SECONDS: Final = 10.0  # what the fork server gets to end by itself, when Java has
# For the few kinds of processes that the fork server knows a child of it, for all others the real Python.
_LAUNCHER: Final = """#!/bin/sh
if [ "$1" = -m ] && [ -S "${socket}" ]; then
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
    """While Java and its session start. Both keep what they read; programs that this one starts are to know nothing."""
    let_workers_be_this_python()
    ours: dict[str, str] = {}
    if os.environ[PYTHON] == sys.executable:
        ours = {**_compiled_pyspark(), **(_forking() if on_this_machine else {})}
    before = {name: os.environ.pop(name, None) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


# PySpark as it is installed


def _compiled_pyspark() -> dict[str, str]:
    """Let workers take the PySpark that is installed for their Python.

    Spark's home has PySpark in a zip as well, and workers look there first. It has no compiled files: each process
    that Spark starts then compiles all of it anew, and takes three times as long until it can begin.
    """
    if HOME in os.environ or (home := _home_without_zip(Path(pyspark.__file__).parent)) is None:
        return {}
    return {HOME: str(home)}


def _home_without_zip(spark: Path) -> Path | None:
    """Spark's own home, but for the directory `python`; None where nothing can be written."""
    home = place_of("spark")
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name in ("bin", "jars"):
            unfinished = home / f".{name}.{os.getpid()}"
            unfinished.symlink_to(spark / name)
            unfinished.replace(home / name)
    except OSError:
        return None
    return home


# The fork server


class _Server:
    """A process of this program, which ends when its standard input does: with the program at the latest."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sooner-python-"))  # mode 0700; the server removes it
        self.socket: Final = self._folder / "socket"
        try:
            with socket.socket(socket.AF_UNIX) as listener:  # here already, so that nobody comes too early
                listener.bind(str(self.socket))
                listener.listen()
                self._process = self._start(listener.fileno())
        except OSError:
            shutil.rmtree(self._folder)
            raise

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

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


_servers: Final[list[_Server]] = []  # one, as long as there is a Java


def _forking() -> dict[str, str]:
    """Let workers be forked from a process that has imported what they need."""
    request = Path(fork_request.__file__)
    if sys.platform != "linux" or not request.is_file():  # in a zip it is none
        return {}
    text = _LAUNCHER.format(socket=fork_request.SOCKET, python=sys.executable, request=request)
    try:
        launcher = write_script("python", text)
        if not _servers:
            _servers.append(_Server())
    except OSError:
        return {}
    return {PYTHON: str(launcher), fork_request.SOCKET: str(_servers[0].socket)}


def end_fork_server() -> None:
    """When Java has ended, and with it all that was forked."""
    while _servers:
        _servers.pop().end()
