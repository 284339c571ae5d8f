"""How long stream rows have waited for their answers, from the call that took them in to the one that answered them.

Who waits is answered in the order of arrival, or nearly: the rows of a pass are counted as if they were.
"""

from typing import Any, Final

from sooner.progress import WAIT_STEPS, step_of_wait
from sooner.runs.store import counted, counts_of_each

MOST_GROUPS: Final = 1024  # of rows that came at different times; if there are more, neighbours are counted as one


class Waits:
    def __init__(self) -> None:
        self._groups: list[tuple[float, int]] = []  # when rows came that wait, and how many
        self._rows = [0] * WAIT_STEPS  # that were answered, by how long they waited
        self._now = 0.0

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(self._rows) if any(self._rows) else ()

    def look(self, taken: int, at_once: int, waiting: int, now: float) -> None:
        """So many rows were taken in, of which memory answered some at once, and so many wait by now, all in all."""
        self._now = max(self._now, now)
        self._rows[0] += at_once
        if taken > at_once:
            self._groups.append((self._now, taken - at_once))
        answered = sum(rows for _, rows in self._groups) - waiting
        while answered > 0:
            came, rows = self._groups.pop(0)
            some = min(rows, answered)
            self._rows[step_of_wait(self._now - came)] += some
            answered -= some
            if some < rows:
                self._groups.insert(0, (came, rows - some))
        if len(self._groups) > MOST_GROUPS:
            firsts, seconds = self._groups[::2], [*self._groups[1::2], (0.0, 0)]
            self._groups = [(came, rows + more) for (came, rows), (_, more) in zip(firsts, seconds, strict=False)]

    def to_plain(self) -> dict[str, Any]:
        return {"groups": self._groups, "rows": self._rows, "now": self._now}

    def load_plain(self, data: dict[str, Any]) -> None:
        self._groups = [(float(came), counted(rows)) for came, rows in data["groups"]]
        self._rows = counts_of_each(data["rows"], WAIT_STEPS)
        self._now = float(data["now"])
