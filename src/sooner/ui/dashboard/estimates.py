"""Intervals that shrink: the first few figures of an estimate over time, in bounded memory."""

import math
from typing import Any, Final

from sooner.estimation.estimate import Estimate, in_words
from sooner.plain_text import plain_text
from sooner.ui.dashboard.series import Known, Series

MOST_FIGURES: Final = 6
MOST_MOMENTS: Final = 200


class Intervals:
    def __init__(self) -> None:
        self._curves: dict[str, Series] = {}
        self._newest: Estimate | None = None

    def add(self, estimate: Estimate) -> None:
        """One that is no older than the last."""
        if estimate is self._newest:
            return
        self._newest = estimate
        for key, group in estimate.values.items():
            for name, value in group.items():
                label = plain_text(name) + (f" of {', '.join(map(plain_text, key))}" if key else "")
                if label not in self._curves and len(self._curves) < MOST_FIGURES:
                    self._curves[label] = Series(MOST_MOMENTS)
                if label in self._curves and value.value is not None:
                    self._curves[label].add(estimate.seconds, tuple(map(_number, value)))

    def to_plain(self) -> dict[str, Any] | None:
        """None if there is no estimate."""
        if self._newest is None:
            return None
        error = self._newest.relative_error
        figures = [
            [*map(plain_text, key), plain_text(name), in_words(value)]
            for key, group in list(self._newest.values.items())[:MOST_FIGURES]
            for name, value in group.items()
        ]
        return {
            "error": _number(error),
            "share_read": self._newest.share_read,
            "exact": self._newest.exact,
            "figures": figures,
            "curves": [{"name": name, "rows": one.news(Known())["rows"]} for name, one in self._curves.items()],
        }


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
