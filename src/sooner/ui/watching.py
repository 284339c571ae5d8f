"""Watching a query on Spark: a live view of its progress, or lines where there is no terminal, and its milestones."""

import queue
import time
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from sooner.spark import JoinProgress, Query
from sooner.ui.interrupts import Interrupts
from sooner.ui.live_view import live_view
from sooner.ui.milestones import Milestones

QUESTION_SECONDS: Final = 0.1


class Watch:
    """Give `note` to the query as its listener, then watch `until_done`."""

    def __init__(self, console: Console, title: str, budget_bytes: int) -> None:
        self.milestones = Milestones()
        self.peak_bytes = 0
        self.spilled_bytes = 0
        self._console = console
        self._title = title
        self._budget_bytes = budget_bytes
        self._noted: queue.SimpleQueue[tuple[float, JoinProgress]] = queue.SimpleQueue()
        self._started: float | None = None
        self._last: JoinProgress | None = None

    @property
    def started(self) -> float:
        """When the sources were asked for rows for the first time."""
        assert self._started is not None, "it is known after the first batch"
        return self._started

    def note(self, progress: JoinProgress) -> None:
        """A batch is over; called from a thread of the query."""
        self._noted.put((time.time(), progress))

    def until_done(self, query: Query, interrupts: Interrupts) -> None:
        """Show what happens until the query ends; raises what made it fail."""
        with self._view():
            while not query.awaitTermination(QUESTION_SECONDS):
                self._take_up(query)
                interrupts.raise_noted()
            self._take_up(query)

    def _take_up(self, query: Query) -> None:
        while not self._noted.empty():
            when, progress = self._noted.get()
            if self._started is None:
                self._started = _first_question(query.spark_query.recentProgress[0])
            seconds = when - self._started
            self.milestones.add(seconds, progress.total.results)
            self.peak_bytes = max(self.peak_bytes, progress.total.resident_bytes)
            self.spilled_bytes = max(self.spilled_bytes, progress.total.spilled_bytes)
            self._last = progress
            if not self._console.is_terminal:
                self._console.print(Text(f"{seconds:5.1f} s  {progress.total}"), soft_wrap=True)

    def _view(self) -> AbstractContextManager[object]:
        if not self._console.is_terminal:
            return nullcontext()
        return Live(get_renderable=self._frame, console=self._console, refresh_per_second=8)

    def _frame(self) -> RenderableType:
        """The current frame, asked for by a thread of the view."""
        if self._last is None or self._started is None:
            return Text("waiting for the first rows", style="dim")
        progress = self._last.total
        seconds = self.milestones.seconds[-1] if progress.phase == "done" else time.time() - self._started
        return live_view(self._title, progress, seconds, self._budget_bytes)


def _first_question(progress: Any) -> float:
    """When Spark asked the sources for rows for the first time: their clocks run from then on."""
    assert progress["batchId"] == 0
    return datetime.fromisoformat(progress["timestamp"]).timestamp()
