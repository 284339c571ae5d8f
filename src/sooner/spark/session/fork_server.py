"""A process that has imported what Spark's Python processes need, and forks one when Spark wants one.

Spark starts a Python for each streaming source of a query, one after the other, and one for each kind of its workers.
Each would first import PySpark, NumPy, Arrow and sooner, for half a second. A fork has them already.

- It is the driver's child, and knows of the driver's end by its standard input. Then it takes no more requests, and
  ends with its last child.
- A child reads its request by itself: nobody who asks can keep the server from the next one. It ends when who asked for
  it does: Java kills what it has started, and knows of nothing else.
- A request is refused when a Python of its own would find another environment than the server has: it might import
  other modules, or the same ones in another way. Then Spark gets that Python, which is told why.
- Threads do not survive a fork, and the locks that they hold do. So libraries are imported in a way that starts none,
  and if there is one all the same whose library is not known to prepare for forks, nothing is forked.
- If the server is killed its children live on, and their connections with them.
"""

import contextlib
import gc
import importlib
import marshal
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

from sooner.spark.session.fork_request import BEGIN, FORKED, LENGTH_BYTES, STREAMS

IMPORTED: Final = (
    "pyspark.daemon",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.worker",
    "sooner.spark.dataflow.pacemaker",
    "sooner.spark.sources.parquet_source",
    "sooner.spark.sources.replay_source",
    "sooner.spark.step.step",
)
# What may differ: Spark tells a process by these what it is to do, and shells leave the others.
_SPARKS_OWN: Final = (b"SPARK_", b"PYSPARK_", b"_PYSPARK_", b"PYTHON_", b"SOONER_")
_OF_SHELLS: Final = {b"_", b"SHLVL", b"PWD", b"OLDPWD"}
_THREADS: Final = b"OMP_NUM_THREADS"  # NumPy's; Spark gives the number to workers only
_PLACES: Final = b"PYTHONPATH"
# Arrow's jemalloc starts a thread when it is loaded, also where another allocator is used. No fork of it has one: it
# takes all its locks before a fork, and goes on without the thread after it.
_ALLOCATOR: Final = "JE_ARROW_MALLOC_CONF"
_NO_THREAD: Final = "background_thread:false"
_HARMLESS: Final = "jemalloc_bg_thd"  # the same of another jemalloc, such as one that was preloaded
_DRIVER: Final = 0  # its end of this pipe closes when it ends
_CLOSED: Final = -1

Environment = dict[bytes, bytes]


class ForkServer:
    """Takes requests, and keeps for each child the connection to who asked for it."""

    def __init__(self, listener: socket.socket, unfit: str = "") -> None:
        """Who asks a server that is unfit to fork is told why."""
        self._listener: socket.socket | None = listener
        self._unfit = unfit
        self._children: dict[int, socket.socket] = {}
        self._woken, self._wake = socket.socketpair()  # signals write there

    def serve(self) -> None:
        """Serve until the driver and all children have ended."""
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._listener is not None or self._children:
            for stream in self._ready():
                if stream == _DRIVER:
                    self._listen_no_more()
                elif stream == self._woken.fileno():
                    self._woken.recv(4096)
                    self._bury()
                elif self._listener is not None and stream == self._listener.fileno():
                    self._take(self._listener.accept()[0])
                else:
                    self._end_child(stream)

    def _ready(self) -> list[int]:
        """The streams with news, ordered so that the end of a connection comes before a new one with its number."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        for connection in self._children.values():
            if connection.fileno() != _CLOSED:
                poll.register(connection, 0)  # what comes there is for the child; that it hung up is always told
        if self._listener is not None:
            poll.register(self._listener, select.POLLIN)
            poll.register(_DRIVER, select.POLLIN)
        return [stream for stream, _ in poll.poll()]

    def _listen_no_more(self) -> None:
        assert self._listener is not None
        self._listener.close()
        self._listener = None

    def _take(self, connection: socket.socket) -> None:
        try:
            if self._unfit:
                raise OSError(self._unfit)
            child = os.fork()
        except OSError as error:
            with contextlib.suppress(OSError), connection:
                connection.sendall(f"{error}\n".encode())
            return
        if child == 0:
            try:
                self._let_go()
                meet(connection)
            finally:
                os._exit(1)  # whatever happens, there is one server only
        self._children[child] = connection

    def _let_go(self) -> None:
        """Close all that is the server's, in a child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        assert self._listener is not None
        for own in (self._listener, self._woken, self._wake, *self._children.values()):
            own.close()

    def _bury(self) -> None:
        """Say of each child that has ended how it did."""
        while self._children:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            with contextlib.suppress(OSError), self._children.pop(child) as connection:
                code = os.waitstatus_to_exitcode(status)
                connection.sendall(code.to_bytes(LENGTH_BYTES, signed=True))

    def _end_child(self, stream: int) -> None:
        """Who asked for it has gone. It stays among the children until it is buried."""
        for child, connection in self._children.items():
            if connection.fileno() == stream:
                connection.close()
                os.kill(child, signal.SIGTERM)


# A child


def meet(connection: socket.socket) -> None:
    """The request that comes there. The connection stays open as long as the child lives."""
    length, streams, _, _ = socket.recv_fds(connection, LENGTH_BYTES, len(STREAMS))
    with connection.makefile("rb") as request:
        arguments, folder, environment = marshal.loads(request.read(int.from_bytes(length)))
        if others := differences(environment):
            connection.sendall(f"they would find other values of {', '.join(others)} than the server has\n".encode())
            return
        connection.sendall(FORKED)
        if request.read(1) == BEGIN:
            run(arguments, folder, environment, streams)


def differences(environment: Environment) -> list[str]:
    """The settings by which a Python that starts in this environment would not be as the server is."""
    ours = dict(os.environb)
    theirs, mine = _settings(environment), _settings(ours)
    names = [name for name in sorted({*theirs, *mine}) if theirs.get(name) != mine.get(name)]
    if _places(environment) != _places(ours):
        names.append(_PLACES)
    return [os.fsdecode(name) for name in names]


def _settings(environment: Environment) -> Environment:
    """All but what says nothing of how a Python starts, and what is compared by itself."""
    complete = {_THREADS: b"1", **environment}
    ignored = {*_OF_SHELLS, _PLACES}
    return {name: value for name, value in complete.items() if name not in ignored and not name.startswith(_SPARKS_OWN)}


def _places(environment: Environment) -> list[str]:
    """Where modules are looked for first. Spark adds its jars, and its home whether or not PySpark is there."""
    places = os.fsdecode(environment.get(_PLACES, b"")).split(os.pathsep)
    return [place for place in places if place and not place.endswith(".jar") and Path(place).exists()]


def run(arguments: list[str], folder: str, environment: Environment, streams: list[int]) -> NoReturn:
    """Run a module as if a Python had been started with these: `-m`, the module, and its arguments."""
    code: object = 1
    try:
        for stream, own in zip(streams, STREAMS, strict=True):
            os.dup2(stream, own)
            os.close(stream)
        os.environb.clear()
        os.environb.update(environment)
        os.chdir(folder)
        _, module, *sys.argv[1:] = arguments
        sys.path[0] = folder
        sys.modules.pop(module, None)  # it runs under another name
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = 0 if end.code is None else end.code
    except BaseException:
        traceback.print_exc()
    finally:
        for spoken in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                spoken.flush()
        os._exit(code & 0xFF if isinstance(code, int) else 1)


# The server


@contextlib.contextmanager
def starting_no_threads() -> Iterator[None]:
    """Keep libraries that are imported here from starting threads; afterwards the environment is as it was."""
    before = os.environ.get(_ALLOCATOR)
    os.environ[_ALLOCATOR] = ",".join(filter(None, (before, _NO_THREAD)))
    try:
        yield
    finally:
        del os.environ[_ALLOCATOR]
        if before is not None:
            os.environ[_ALLOCATOR] = before


def harmful_threads() -> list[str]:
    """The names of those that are there although this process has been forked: OpenBLAS ends its own before that."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    of_python = {thread.native_id: thread.name for thread in threading.enumerate()}
    numbers = [int(task.name) for task in Path("/proc/self/task").iterdir() if int(task.name) != os.getpid()]
    names = [of_python.get(number) or Path(f"/proc/self/task/{number}/comm").read_text().strip() for number in numbers]
    return sorted(name for name in names if name != _HARMLESS)


def main(listener: socket.socket, path: Path) -> None:
    """Serve; who asks while modules are still imported waits."""
    try:
        with starting_no_threads():
            for module in IMPORTED:
                importlib.import_module(module)
        threads = harmful_threads()
        gc.freeze()  # what is here already stays shared
        unfit = f"what is imported there has started threads ({', '.join(threads)})" if threads else ""
        ForkServer(listener, unfit).serve()
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            path.unlink()
            path.parent.rmdir()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]))
