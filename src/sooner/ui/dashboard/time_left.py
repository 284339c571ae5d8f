"""How long a query will still take, and how far off that was until now.

Until all rows have come the rest is what is left to read, at the speed of the last while, and the clean-up after it.
How long that takes is not known before: a row that must be on disk by then counts as `CLEAN_UP_WEIGHT` of a row that is
read. Rows arrive in pieces, each larger than the last where there is room, and are counted when they are joined; so
until the next piece is due, all goes as it was said at the last. Once in the clean-up, it goes on as it went until now.
What was said before is compared with what is said now: that is the error.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from sooner.progress import Progress

CLEAN_UP_WEIGHT: Final = 0.5  # 0.4 to 0.6 of rpj, xjoin, hmj and pr_join with memory for a tenth of the rows
LEAST_SHARE: Final = 0.02  # of the rows; before that nothing is said
RECENT: Final = 0.5  # the speed is that of this last share of the time
NEXT_PIECE: Final = 2  # is due when so many times as long has passed as for the last: it may be twice as large
SPACING: Final = 1 / 64  # of the time, between what is kept of pieces
KEPT: Final = 64


@dataclass(frozen=True)
class TimeLeft:
    seconds: float
    error_seconds: float | None  # how far off it may be, by what was said before; None as long as nothing was

    def __str__(self) -> str:
        error = "" if self.error_seconds is None else f" (± {duration(self.error_seconds)})"
        return f"about {duration(self.seconds)} left{error}"


class Clock:
    """Is told how far a query is, again and again."""

    def __init__(self, memory_bytes: int | None = None) -> None:
        self._memory_bytes = memory_bytes
        self._pieces: list[tuple[float, int]] = []  # when rows came, and how many there were by then
        self._said: deque[tuple[float, float]] = deque(maxlen=KEPT)  # when, and which end
        self._clean_up: tuple[float, float] | None = None  # when it began, and what was covered then
        self.rate = 0.0  # rows a second

    def look(self, seconds: float, progress: Progress, all_rows: int | None) -> TimeLeft | None:
        """What it seems to be now; None where nobody can know."""
        arrived = sum(progress.arrived_rows)
        if arrived > (self._pieces[-1][1] if self._pieces else 0):
            self._note(seconds, arrived)
        due = self._next_piece_due(seconds)
        self.rate = self._rate(due)
        left = 0.0 if progress.phase == "done" else self._left(seconds, due, progress, all_rows)
        if left is None:
            return None
        error = self._error(seconds, left)
        self._said.append((seconds, seconds + left))
        return TimeLeft(left, error)

    def _note(self, seconds: float, arrived: int) -> None:
        pieces = self._pieces
        if len(pieces) > 1 and pieces[-1][0] - pieces[-2][0] < SPACING * seconds:
            pieces.pop()
        pieces.append((seconds, arrived))
        while len(pieces) > 2 and pieces[1][0] < (1 - RECENT) * seconds:
            pieces.pop(0)

    def _left(self, seconds: float, due: float, progress: Progress, all_rows: int | None) -> float | None:
        if progress.phase == "clean-up":
            return self._of_clean_up(seconds, progress)
        self._clean_up = None
        arrived = sum(progress.arrived_rows)
        if not all_rows or arrived < LEAST_SHARE * all_rows or self.rate <= 0:
            return None
        rows = max(all_rows - arrived, 0) + CLEAN_UP_WEIGHT * self._rows_on_disk(progress, all_rows)
        return max(rows / self.rate - (seconds - due), 0.0)

    def _rows_on_disk(self, progress: Progress, all_rows: int) -> float:
        """When all rows have come."""
        held, held_bytes = progress.resident_rows, progress.resident_bytes
        if progress.spilled_rows:
            return max(all_rows - held - progress.forgotten_rows, progress.spilled_rows)
        if self._memory_bytes is None or not held_bytes:
            return 0.0
        return max(all_rows - self._memory_bytes * held / held_bytes, 0.0)

    def _of_clean_up(self, seconds: float, progress: Progress) -> float | None:
        if self._clean_up is None:
            self._clean_up = seconds, progress.covered_fraction
        began, covered = self._clean_up
        done = (progress.covered_fraction - covered) / max(1 - covered, 1e-12)
        expected = self._said[-1][1] - seconds if self._said else None
        if done <= 0 or seconds <= began:
            return None if expected is None else max(expected, 0.0)
        found = (seconds - began) / done * (1 - done)
        return found if expected is None else done * found + (1 - done) * max(expected, 0.0)

    def _next_piece_due(self, seconds: float) -> float:
        """Until when all is known that there is: until the last piece, or later if the next one is late."""
        if not self._pieces:
            return seconds
        last = self._pieces[-1][0]
        took = last - (self._pieces[-2][0] if len(self._pieces) > 1 else 0.0)
        return max(last, seconds - NEXT_PIECE * took)

    def _rate(self, due: float) -> float:
        if not self._pieces:
            return 0.0
        last, rows = self._pieces[-1]
        at, before = next(one for one in self._pieces if one[0] >= min((1 - RECENT) * due, last))
        if at == last:
            at, before = self._pieces[-2] if len(self._pieces) > 1 else (0.0, 0)
        return (rows - before) / (due - at) if due > at else 0.0

    def _error(self, seconds: float, left: float) -> float | None:
        """How far what was said in the last half of the time is from what is said now, over what was left then."""
        end = seconds + left
        before = [(at, said) for at, said in self._said if seconds / 2 <= at < seconds and said > at]
        if not before or not left:
            return None if left else 0.0
        return left * sum(abs(said - end) / (end - at) for at, said in before) / len(before)


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
