"""Figures that come again and again: in a terminal alive as long as they change, else the last of them."""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import pyarrow as pa

from sooner.local.estimate import Estimates
from sooner.local.groups import LiveGroups
from sooner.plain_text import plain_text
from sooner.ui.dashboard_option import shown
from sooner.ui.estimate_view import Shown
from sooner.ui.exit_codes import INTERRUPTED
from sooner.ui.interrupts import Interrupts
from sooner.ui.output import TABLE, is_for_standard_output, text_output, write_all
from sooner.ui.progress_line import progress_line
from sooner.ui.tables import print_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

BAR_WIDTH: Final = 24
MOST_LINES: Final = 30  # of a living table: it must fit into a terminal
F = TypeVar("F")


@dataclass
class View(Generic[F]):
    """What becomes of figures: how they are shown, and the table that they are."""

    shown: Callable[[F], Shown]
    table: Callable[[F], pa.Table]
    last: F | None = None

    @property
    def now(self) -> Shown | None:
        return None if self.last is None else self.shown(self.last)


def show_figures(running: Estimates | LiveGroups, view: View[Any], options: argparse.Namespace, format_: str) -> int:
    """Take figures until they end, or somebody has seen enough; gives the exit code."""
    lives = format_ == TABLE and is_for_standard_output(options) and _can_live()
    with Interrupts(running.stop) as interrupts, running, shown(running, options):
        with _live(view) if lives else _still(view, options):
            for view.last in running:
                pass
        if view.last is not None and not lives:
            _write(view, options, format_)
    if interrupts.noted:
        print("sooner: interrupted", file=sys.stderr)
    return INTERRUPTED if interrupts.noted else 0


def _write(view: View[Any], options: argparse.Namespace, format_: str) -> None:
    if format_ != TABLE:
        table = view.table(view.last)
        write_all(table.slice(0, options.limit).to_batches(), table.schema, options, format_)
        return
    last = view.shown(view.last)
    with text_output(options):
        print_table(last.titles, last.rows[: options.limit])
        print(last.summary)


def _can_live() -> bool:
    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


@contextmanager
def _live(view: View[Any]) -> Iterator[Any]:
    from rich.live import Live

    with Live(get_renderable=lambda: frame_of(view.now), refresh_per_second=8) as live:
        yield live


@contextmanager
def _still(view: View[Any], options: argparse.Namespace) -> Iterator[None]:
    def said() -> str:
        return "waiting for the first rows" if (now := view.now) is None else now.summary

    with progress_line(options, said):
        yield


def frame_of(shown: Shown | None) -> "RenderableType":
    """As rich draws it."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    if shown is None:
        return Text("waiting for the first rows", style="dim")
    table = Table(box=None, padding=(0, 2))
    for title in (*shown.titles, *(["relative error"] if shown.errors else [])):
        table.add_column(_as_text(title))
    for at, row in enumerate(shown.rows[:MOST_LINES]):
        errors = shown.errors[at : at + 1]
        bars = [ProgressBar(total=1.0, completed=one, width=BAR_WIDTH, complete_style="cyan") for one in errors]
        table.add_row(*map(_as_text, row), *bars)
    rest = len(shown.rows) - MOST_LINES
    more = [Text(f"and {rest:,} more", style="dim")] if rest > 0 else []
    return Group(table, *more, Text(shown.summary, style="green" if shown.exact else "dim"))


def _as_text(value: str) -> "Text":
    """The text in one line, cut where there is no room, and never read as markup."""
    from rich.text import Text

    return Text(plain_text(value), no_wrap=True, overflow="ellipsis")
