"""A live terminal view of a running query: results, coverage, memory against the budget, phase, spilled."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sooner.budget import format_bytes
from sooner.plain_text import plain_text
from sooner.progress import Progress

_PHASES = {
    "arriving": "arriving: new rows meet what is in memory",
    "reactive": "reactive: the sources are silent, spilled rows are joined",
    "clean-up": "clean-up: everything has arrived, the rest is joined",
    "done": "done: every pair of rows has been looked at once",
}


def live_view(title: str, progress: Progress, seconds: float, budget_bytes: int) -> RenderableType:
    """One frame of the view."""
    left, right = progress.arrived_rows
    rows = Table.grid(padding=(0, 2), expand=True)
    rows.add_column(style="dim", width=9)
    rows.add_column(ratio=1)
    rows.add_row("phase", _PHASES[progress.phase])
    rows.add_row("arrived", f"{left:,} and {right:,} rows in {seconds:.1f} s")
    rows.add_row("results", Text(f"{progress.results:,}", style="bold green"))
    rows.add_row("covered", _bar(progress.covered_fraction, 1, f"{progress.covered_fraction:.1%} of all pairs so far"))
    held = f"{format_bytes(progress.resident_bytes)} of {format_bytes(budget_bytes)}"
    rows.add_row("memory", _bar(progress.resident_bytes, budget_bytes, held))
    rows.add_row("on disk", f"{progress.spilled_rows:,} rows, {format_bytes(progress.spilled_bytes)}")
    return Panel(Group(rows), title=Text(plain_text(title)), title_align="left", border_style="cyan", padding=(1, 2))


def _bar(completed: float, total: float, label: str) -> RenderableType:
    row = Table.grid(padding=(0, 2))
    row.add_row(ProgressBar(total=max(total, 1e-9), completed=completed, width=36), label)
    return row
