"""What Spark starts instead of a Python of its own: it asks the fork server for one, and lives as long as that.

    python -I -S fork_request.py PYTHON ARGUMENTS...

Java reads, writes and kills this process. So the child gets its streams, its end ends the child, and its exit code is
the child's. Whatever goes wrong before there is a child, it becomes the Python that Spark wanted.

It knows nothing of `sooner`, nor of any package: to import one takes longer than all that it does.
"""

import marshal
import os
import socket
import sys
from typing import Final

SOCKET: Final = "SOONER_FORK_SERVER"  # the environment variable that says where the server listens
FORKED: Final = b"f"
STREAMS: Final = (0, 1, 2)
LENGTH_BYTES: Final = 4
PATIENCE_SECONDS: Final = 10.0  # until there is a child


def ask(server: socket.socket, arguments: list[str]) -> bool:
    """Whether there is a child now, with this process' directory, environment and streams."""
    folder = os.getcwd()  # noqa: PTH109 - see above
    request = marshal.dumps((arguments, folder, dict(os.environb)))
    server.settimeout(PATIENCE_SECONDS)
    server.connect(os.environ[SOCKET])
    socket.send_fds(server, [len(request).to_bytes(LENGTH_BYTES)], STREAMS)
    server.sendall(request)
    return server.recv(1) == FORKED


def end_as_the_child(server: socket.socket) -> None:
    """Wait until it has ended; the server says how."""
    server.settimeout(None)
    code = int.from_bytes(server.recv(LENGTH_BYTES) or b"\1", signed=True)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def main(python: str, *arguments: str) -> None:
    """As the module says."""
    with socket.socket(socket.AF_UNIX) as server:
        try:
            has_child = ask(server, list(arguments))
        except Exception:  # none of it is worth an error: there is another way
            has_child = False
        if has_child:
            end_as_the_child(server)
    os.execv(python, [python, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
