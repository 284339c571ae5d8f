"""A line on standard error about work that takes longer than two seconds: on a terminal, or when it is asked for.

On a terminal it is one line that changes. In a file or pipe each is a line of its own, every ten seconds.
"""

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from sooner.plain_text import plain_text
from sooner.threads import start_thread

PATIENCE_SECONDS: Final = 2.0  # for which nobody needs to be told
TERMINAL_SECONDS: Final = 0.5  # between two lines
FILE_SECONDS: Final = 10.0


def add_progress_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="do not say how far it is")
    group.add_argument("--progress", action="store_true", help="say how far it is, also where there is no terminal")


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """`ask` is called from another thread, and says how far the work is."""

    def __init__(self, ask: Callable[[], str], *, is_shown: bool) -> None:
        self._ask = ask
        self._is_shown = is_shown
        self._is_terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._over = threading.Event()
        self._writing = threading.Lock()

    def __enter__(self) -> "ProgressLine":
        if self._is_shown:
            start_thread(self._tell, "sooner-progress")
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Leave the line to somebody else, for good."""
        self._over.set()
        with self._writing:
            self._wipe()

    def wiped(self, say: Callable[[], None]) -> None:
        """Let somebody else print meanwhile."""
        with self._writing:
            self._wipe()
            say()

    def _wipe(self) -> None:
        if self._is_shown and self._is_terminal:
            rewrite("")

    def _tell(self) -> None:
        seconds = PATIENCE_SECONDS
        while not self._over.wait(seconds):
            said = f"{_duration(time.monotonic() - self._began)}, {plain_text(self._ask())}"
            with self._writing:
                if self._over.is_set():
                    return
                if self._is_terminal:
                    rewrite(said)
                else:
                    print(f"sooner: {said}", file=sys.stderr, flush=True)
            seconds = TERMINAL_SECONDS if self._is_terminal else FILE_SECONDS


def progress_line(options: argparse.Namespace, ask: Callable[[], str], *, hidden: bool = False) -> ProgressLine:
    """The line that these options ask for; `hidden` if something else appears in its place."""
    is_shown = options.progress or (sys.stderr.isatty() and not options.quiet)
    return ProgressLine(ask, is_shown=is_shown and not hidden)


def rewrite(said: str) -> None:
    """Show this in the last line of the terminal, as much of it as fits, instead of what stands there."""
    width = shutil.get_terminal_size().columns - 1
    cut = said if len(said) <= width else said[: max(width - 1, 0)] + "…"
    sys.stderr.write(f"\r\x1b[2K{cut}")
    sys.stderr.flush()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02d}"
