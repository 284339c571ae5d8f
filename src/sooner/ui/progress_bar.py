"""A bar that tells how far a long piece of work is; only on a terminal."""

import sys
import time
from types import TracebackType
from typing import Final

from sooner.plain_text import plain_text
from sooner.ui.dashboard.time_left import duration

WIDTH: Final = 30


class ProgressBar:
    """On standard error, so that what is printed meanwhile can go to a file."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_shown = sys.stderr.isatty()

    def __enter__(self) -> "ProgressBar":
        self.tell(0.0, "starting")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()

    def tell(self, share: float, what: str) -> None:
        """Which share of the work is done, and what was done last."""
        self.write(line(share, time.monotonic() - self._began, what))

    def write(self, text: str) -> None:
        """Show this line in the place of the last."""
        if self._is_shown:
            sys.stderr.write(f"\r\x1b[2K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Leave the line to somebody else."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def line(share: float, seconds: float, what: str) -> str:
    left = f"about {duration(seconds / share * (1 - share))} left" if share else "no time known yet"
    return f"{drawn(share)}, {left}: {plain_text(what)}"


def drawn(share: float) -> str:
    """The bar itself."""
    filled = round(share * WIDTH)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}"
