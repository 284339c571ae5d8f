"""`python -m sooner` is the command `sooner`, and this is where both begin.

Ctrl-C has a meaning before the command is loaded and after it is done: there is nothing to tidy up then, so the process
just ends. In the middle of an import an exception would come out as a traceback, or not at all.
"""

import os
import signal
import sys
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130  # as shells have it; nothing is imported for it


def main() -> int:
    signal.signal(signal.SIGINT, _leave)
    from sooner.ui.command_line import main as run

    return run(at_work=_let_commands_be_interrupted, done=_let_nothing_be_interrupted)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the contract
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"sooner: interrupted\n")
    os._exit(INTERRUPTED)


def _let_commands_be_interrupted() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _let_nothing_be_interrupted() -> None:
    """The work is done, and what it came to is out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
