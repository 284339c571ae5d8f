"""How many rows are due by now.

The clock starts with the first question in a run, at the row that the run starts from: a query that resumes goes on at
that row as if no time had passed. Times are drawn piece by piece, so an input of any length needs little memory.
"""

from collections.abc import Callable

import numpy as np

from sooner.sources.arrival_patterns import ArrivalPattern, ArrivalSchedule, Seconds

# Arrival times drawn at once: half a megabyte.
PIECE_ROWS = 65_536


class DueRows:
    """Counts the rows of a schedule that are due, by a clock that is asked for and never waited on."""

    def __init__(
        self, rows: int, arrivals: ArrivalPattern, seed: int, speed: float, clock: Callable[[], float]
    ) -> None:
        self._rows = rows
        self._schedule = ArrivalSchedule(arrivals, seed)
        self._speed = speed
        self._clock = clock
        self._zero_seconds: float | None = None
        self._piece: Seconds = np.empty(0, dtype=np.float64)
        self._piece_begin = 0

    def by_now(self, reached: int) -> int:
        """The number of rows due by now, never below `reached`, the number that has been read before."""
        if self._zero_seconds is None:
            self._zero_seconds = self._clock() - self._due_seconds(reached)
        elapsed = self._clock() - self._zero_seconds
        # Where rows come without gaps, only their number ends the search.
        while self._drawn < self._rows and not (self._piece.size and self._piece[-1] > elapsed):
            self._draw()
        due = self._piece_begin + int(np.searchsorted(self._piece, elapsed, side="right"))
        return min(max(due, reached), self._rows)

    def _due_seconds(self, row: int) -> float:
        while self._drawn <= row:
            self._draw()
        return float(self._piece[row - self._piece_begin])

    @property
    def _drawn(self) -> int:
        return self._piece_begin + self._piece.size

    def _draw(self) -> None:
        self._piece_begin += self._piece.size
        self._piece = self._schedule.next(PIECE_ROWS) / self._speed
