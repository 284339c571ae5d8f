"""Curves in bounded memory: a row of numbers for each moment, thinned again and again as time goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_ROWS: Final = 1_000

Row = tuple[float | None, ...]  # the first is the seconds


@dataclass
class Known:
    """What somebody has of a series: so many rows, of those after so many thinnings."""

    rows: int = 0
    thinned: int = -1


class Series:
    """Rows that are closer together than `gap` seconds replace each other: the newest is always there."""

    def __init__(self, most_rows: int = MOST_ROWS, gap: float = 0.0) -> None:
        self.rows: list[Row] = []
        self._most_rows = most_rows
        self._gap = gap
        self._thinned = 0

    def add(self, seconds: float, values: Sequence[float | None]) -> None:
        row: Row = (round(seconds, 6), *values)
        if len(self.rows) > 1 and seconds - float(self.rows[-2][0] or 0) < self._gap:
            self.rows[-1] = row
            return
        self.rows.append(row)
        if len(self.rows) > self._most_rows:
            self.rows = [*self.rows[:-1:2], self.rows[-1]]
            self._gap = 2 * (float(self.rows[-1][0] or 0) - float(self.rows[0][0] or 0)) / self._most_rows
            self._thinned += 1

    def news(self, known: Known) -> dict[str, Any]:
        """The rows that somebody lacks, and from which on; the last that they have may have been replaced."""
        first = max(known.rows - 1, 0) if known.thinned == self._thinned else 0
        known.rows, known.thinned = len(self.rows), self._thinned
        return {"from": first, "rows": self.rows[first:]}
