"""How long a query will still take, and how far off that was until now.

Until all rows have come there are three things to do, of which only the first goes at the speed of the last while:

- *reading* what has not come. An input that is read last is read ahead while its rows wait for the others to end: those
  are counted as done, since rows that only pass are little work;
- *cleaning up*. A row that must be on disk by then counts as `CLEAN_UP_WEIGHT` of a row that is taken in, at the speed
  of taking in rows alone: disk work in between does not make the clean-up slower;
- *merging* before that. What leaves memory again and again leaves many runs behind, of which so many become one, and
  then so many of these. Nothing tells so before it begins: how often each row is written anew follows from how many
  times the memory goes to disk. What was seen of it by now is in the speed of reading, and is not counted twice.

Rows arrive in pieces, each larger than the last where there is room, and are counted when they are joined; so until the
next piece is due, all goes as it was said at the last, and the last one of all takes its time too. Once in the
clean-up, it goes on as it went until now. What was said before is compared with what is said now: that is the error.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

from sooner.local.running import CROWD, QueryProgress
from sooner.progress import Progress

CLEAN_UP_WEIGHT: Final = 0.45  # 0.35 to 0.5 of rpj, xjoin, hmj and pr_join with memory for a tenth of the rows
MERGE_WEIGHT: Final = 0.8  # 0.5 to 0.8 of xjoin and hmj with memory for a fortieth
FAR_BEHIND: Final = 0.5  # of what has come of all others, by share: such an input waits for its turn
LEAST_READING: Final = 1 / 8  # of the time
MOST_TRUSTED: Final = 0.5  # of the clean-up: after that only its own speed counts
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
        self._arrived = 0
        self._done = 0  # rows that were taken in, or read ahead
        self._began = 0.0  # the last moment at which nothing had come: opening files says nothing of speed
        self._looked = self._on_disk_work = 0.0  # seconds
        self.rate = 0.0  # rows a second

    def look(self, seconds: float, progress: Progress, all_rows: int | None) -> TimeLeft | None:
        """What it seems to be now; None where nobody can know."""
        self._done = max(self._done, sum(progress.arrived_rows) + _read_ahead(progress))
        if not self._done:
            self._began = seconds
        if sum(progress.arrived_rows) > self._arrived:
            self._arrived = sum(progress.arrived_rows)
            self._note(seconds, self._done)
        if progress.phase == "reactive":
            self._on_disk_work += seconds - self._looked
        self._looked = seconds
        due = self._next_piece_due(seconds)
        self.rate = self._rate(due)
        left = 0.0 if progress.phase == "done" else self._left(seconds, due, progress, all_rows)
        if left is None:
            return None
        error = self._error(seconds, left)
        self._said.append((seconds, seconds + left))
        return TimeLeft(left, error)

    def _note(self, seconds: float, rows: int) -> None:
        pieces = self._pieces
        if len(pieces) > 1 and pieces[-1][0] - pieces[-2][0] < SPACING * seconds:
            pieces.pop()
        pieces.append((seconds, rows))
        while len(pieces) > 2 and pieces[1][0] < (1 - RECENT) * seconds:
            pieces.pop(0)

    def _left(self, seconds: float, due: float, progress: Progress, all_rows: int | None) -> float | None:
        if progress.phase == "clean-up":
            return self._of_clean_up(seconds, progress)
        self._clean_up = None
        if not all_rows or self._done < LEAST_SHARE * all_rows or self.rate <= 0:
            return None
        on_disk, in_memory = self._rows_on_disk(progress, all_rows)
        reading = max(all_rows - self._done, 0)
        ran = seconds - self._began
        speed = max(self._done / max(ran - self._on_disk_work, LEAST_READING * ran), self.rate)
        seen = self._on_disk_work * speed / self._done  # of disk work, for each row
        merging = max(_merged_rows(on_disk, in_memory) * MERGE_WEIGHT / all_rows - seen, 0.0) * reading
        left = reading / self.rate + (merging + CLEAN_UP_WEIGHT * on_disk) / speed
        return max(left - (seconds - due), self._in_hand(seconds), 0.0)

    def _rows_on_disk(self, progress: Progress, all_rows: int) -> tuple[float, float]:
        """When all rows have come, and how many are in memory then."""
        held, held_bytes = progress.resident_rows, progress.resident_bytes
        if progress.spilled_rows:
            return max(all_rows - held - progress.forgotten_rows, progress.spilled_rows), held
        if self._memory_bytes is None or not held_bytes:
            return 0.0, held
        fit = self._memory_bytes * held / held_bytes
        return max(all_rows - fit, 0.0), fit

    def _of_clean_up(self, seconds: float, progress: Progress) -> float | None:
        if self._clean_up is None:
            self._clean_up = seconds, progress.covered_fraction
        began, covered = self._clean_up
        done = (progress.covered_fraction - covered) / max(1 - covered, 1e-12)
        expected = self._said[-1][1] - seconds if self._said else None
        if done <= 0 or seconds <= began:
            return None if expected is None else max(expected, 0.0)
        found = (seconds - began) / done * (1 - done)
        trusted = min(done / MOST_TRUSTED, 1.0)
        return found if expected is None else trusted * found + (1 - trusted) * max(expected, 0.0)

    def _next_piece_due(self, seconds: float) -> float:
        """Until when all is known that there is: until the last piece, or later if the next one is late."""
        if not self._pieces:
            return seconds
        last = self._pieces[-1][0]
        took = last - (self._pieces[-2][0] if len(self._pieces) > 1 else self._began)
        return max(last, seconds - NEXT_PIECE * took)

    def _rate(self, due: float) -> float:
        if not self._pieces:
            return 0.0
        last, rows = self._pieces[-1]
        at, before = next(one for one in self._pieces if one[0] >= min((1 - RECENT) * due, last))
        if at == last:
            at, before = self._pieces[-2] if len(self._pieces) > 1 else (self._began, 0)
        return (rows - before) / (due - at) if due > at else 0.0

    def _in_hand(self, seconds: float) -> float:
        """How long the piece that came last will still take."""
        at, rows = self._pieces[-1]
        before = self._pieces[-2][1] if len(self._pieces) > 1 else 0
        return (rows - before) / self.rate - (seconds - at)

    def _error(self, seconds: float, left: float) -> float | None:
        """How far what was said in the last half of the time is from what is said now, over what was left then."""
        end = seconds + left
        before = [(at, said) for at, said in self._said if seconds / 2 <= at < seconds and said > at]
        if not before or not left:
            return None if left else 0.0
        return left * sum(abs(said - end) / (end - at) for at, said in before) / len(before)


def _read_ahead(progress: Progress) -> int:
    """Rows that wait, of an input that is read last: it is far behind all others, which have not ended."""
    if not isinstance(progress, QueryProgress) or progress.all_rows is None or not progress.held_rows:
        return 0
    shares = [
        rows / max(known or 0, 1) for rows, known in zip(progress.arrived_rows, progress.expected_rows, strict=True)
    ]
    last = shares.index(min(shares))
    others = min((share for which, share in enumerate(shares) if which != last), default=0.0)
    return progress.held_rows[last] if shares[last] < FAR_BEHIND * others and others < 1 else 0


def _merged_rows(on_disk: float, in_memory: float) -> float:
    """Each row as often as it is written anew before the clean-up, where that is done whenever runs are a crowd."""
    if not in_memory or on_disk < in_memory:
        return 0.0
    return on_disk * math.floor(math.log(on_disk / in_memory, CROWD))


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
