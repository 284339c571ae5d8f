"""A line that tells how far a query in process is, on a terminal or in a notebook, until it ends."""

import sys
import threading
import weakref
from html import escape
from typing import Any, Final

from sooner.local.running import QueryProgress, Running
from sooner.threads import start_thread
from sooner.ui.dashboard.time_left import Clock, TimeLeft
from sooner.ui.progress_bar import drawn
from sooner.ui.progress_line import rewrite

LOOK_SECONDS: Final = 0.2


class QueryBar:
    """Begins to show it when it is made. Where nobody watches, as in a file, it shows nothing."""

    def __init__(self, query: Running[Any]) -> None:
        self._query = weakref.ref(query)
        self._clock = Clock(query.traced.memory_bytes)
        self._closed = threading.Event()
        self._cell = _cell_of_notebook()
        self._is_terminal = sys.stderr.isatty()
        query.at_end(self.close)
        self._thread = start_thread(self._watch, "sooner-bar")

    def close(self) -> None:
        """Show what is true now, and no more."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch(self) -> None:
        is_last = False
        while not is_last and (query := self._query()) is not None:
            is_last = self._closed.is_set()
            self._show(query.progress)
            del query
            self._closed.wait(LOOK_SECONDS)
        self._write("")

    def _show(self, progress: QueryProgress) -> None:
        left = self._clock.look(progress.seconds, progress, progress.all_rows)
        share, text = share_of(progress, left), in_words(progress, left, self._clock.rate)
        if self._cell is not None:
            self._cell.update({"text/html": html_of(share, text), "text/plain": text}, raw=True)
        self._write(text if share is None else f"{drawn(share)}, {text}")

    def _write(self, text: str) -> None:
        if self._is_terminal:
            rewrite(text)


def share_of(progress: QueryProgress, left: TimeLeft | None) -> float | None:
    """Of all the time it takes, or of all rows; None where neither is known."""
    if progress.phase == "done":
        return 1.0
    if left is not None and progress.seconds + left.seconds:
        return progress.seconds / (progress.seconds + left.seconds)
    return progress.read_fraction


def in_words(progress: QueryProgress, left: TimeLeft | None, rate: float) -> str:
    arrived, all_rows = sum(progress.arrived_rows), progress.all_rows
    rows = f"{arrived:,} rows" if all_rows is None else f"{arrived:,} of {all_rows:,} rows"
    parts = [progress.phase, rows, f"{progress.covered_fraction:.0%} of their pairs", f"{progress.results:,} results"]
    if progress.phase != "done":
        parts += [f"{rate:,.0f} rows/s"] if rate else []
        parts += [str(left)] if left is not None else []
    return ", ".join(parts)


def html_of(share: float | None, text: str) -> str:
    """For a notebook: needs neither scripts nor styles."""
    value = "" if share is None else f' value="{share:.4f}"'
    return f'<div><progress max="1"{value}></progress> <span>{escape(text)}</span></div>'


def _cell_of_notebook() -> Any:
    """Where a notebook shows it; None outside of one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display({"text/html": html_of(None, "")}, raw=True, display_id=True)
