"""A bar that tells how far a long piece of work is, of which it is known about how long it takes."""

import time
from typing import Final

from sooner.ui.dashboard.time_left import duration

WIDTH: Final = 30
NEARLY_ALL: Final = 0.99  # as long as it is not over


class Told:
    """What the work tells of itself now and then; in between the clock says how far it should be."""

    def __init__(self, expected_seconds: float) -> None:
        self._began = time.monotonic()
        self._expected = max(expected_seconds, 1.0)
        self._share = 0.0
        self._at = 0.0  # seconds, when that was told
        self._last = ""

    def tell(self, share: float, what: str) -> None:
        """Which share of the work is done, and what was done last."""
        self._share, self._at, self._last = share, self._seconds, what

    def in_words(self) -> str:
        seconds = self._seconds
        # Once something is done, its pace is known better than what was expected.
        whole = self._at / self._share if self._share else self._expected
        share = max(self._share, min(seconds / whole, NEARLY_ALL))
        return line(share, max(whole - seconds, 0.0), self._last)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began


def line(share: float, seconds_left: float, last: str) -> str:
    done = f": {last} is done" if last else ""
    return f"{drawn(share)}, about {duration(seconds_left)} left{done}"


def drawn(share: float) -> str:
    """The bar itself."""
    filled = round(share * WIDTH)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}"
