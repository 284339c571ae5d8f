"""What Spark starts instead of a Python of its own: it asks the fork server for one, and lives as long as that.

    python -I -S fork_request.py PYTHON ARGUMENTS...

Java reads, writes and kills this process. So the child gets its streams, its end ends the child, and its exit code is
the child's. Whatever goes wrong before there is a child, it becomes the Python that Spark wanted, and tells it why.
The child begins when it is told to: so there is never one beside that Python, which would share its streams.

It knows nothing of `sooner`, nor of any package: to import one takes longer than all that it does.
"""

import marshal
import os
import socket
import sys
from collections.abc import Callable
from typing import BinaryIO, Final

SOCKET: Final = "SOONER_FORK_SERVER"  # the environment variable that says where the server listens
TOLD: Final = "SOONER_FALLBACKS"  # and the one that tells a process what was in the way of a faster start, a line each
NOT_FORKED: Final = "Spark's Python processes are not forked and start more slowly: {}"
ENDED: Final = "the fork server has ended"
FORKED: Final = b"forked\n"  # the answer; any other line is why not
BEGIN: Final = b"\n"
STREAMS: Final = (0, 1, 2)
LENGTH_BYTES: Final = 4
PATIENCE_SECONDS: Final = 120.0  # with a server that lives and says nothing; what it imports, a Python would as well


def ask(server: socket.socket, arguments: list[str]) -> BinaryIO:
    """Have a child, with this process' directory, environment and streams; what the server will say of it."""
    folder = os.getcwd()  # noqa: PTH109 - see above
    request = marshal.dumps((arguments, folder, dict(os.environb)))
    server.settimeout(PATIENCE_SECONDS)
    reach(os.environ[SOCKET], server.connect)
    socket.send_fds(server, [len(request).to_bytes(LENGTH_BYTES)], STREAMS)
    server.sendall(request)
    answers = server.makefile("rb")
    answer = answers.readline()
    if answer != FORKED:
        raise ValueError(answer.decode().strip() if answer.endswith(b"\n") else ENDED)
    server.settimeout(None)
    server.sendall(BEGIN)
    return answers


def reach(path: str, bind_or_connect: Callable[[str], None]) -> None:
    """A socket at a path of any length: its own name may have a hundred characters, and temporary places have more."""
    folder, name = os.path.split(path)
    opened = os.open(folder, os.O_PATH)
    try:
        bind_or_connect(f"/proc/self/fd/{opened}/{name}")
    finally:
        os.close(opened)


def end_as_the_child(answers: BinaryIO) -> None:
    """Wait until it has ended. The server says how; if that has gone before, the child alone holds the connection."""
    code = int.from_bytes(answers.read(LENGTH_BYTES) or b"\1", signed=True)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def tell(error: Exception) -> None:
    """The Python that this becomes: why it is none that was forked."""
    match error:
        case TimeoutError():
            why = f"the fork server said nothing for {PATIENCE_SECONDS:.0f} seconds"
        case ConnectionError() | FileNotFoundError():
            why = ENDED
        case _:
            why = str(error)
    known = os.environ.get(TOLD)
    os.environ[TOLD] = "\n".join(filter(None, (known, NOT_FORKED.format(why))))


def fallbacks_of_this_process() -> list[str]:
    """What it was told when it started, and whether others like it will start as it did."""
    told = os.environ.get(TOLD, "").splitlines()
    server = os.environ.get(SOCKET)
    if server is not None and not os.path.exists(server):  # noqa: PTH110 - see above
        told.append(NOT_FORKED.format(ENDED))
    return list(dict.fromkeys(told))


def main(python: str, *arguments: str) -> None:
    """Ask for a forked child, or become the Python that Spark wanted."""
    with socket.socket(socket.AF_UNIX) as server:
        try:
            answers = ask(server, list(arguments))
        except Exception as error:  # none of it is worth a failure: there is another way
            tell(error)
        else:
            end_as_the_child(answers)
    os.execv(python, [python, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
