"""Figures that come again and again, in a terminal: alive as long as they change, or the last of them in plain text."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sooner.local.estimate import Estimates
from sooner.local.figures import Figures
from sooner.local.groups import LiveGroups
from sooner.plain_text import plain_text
from sooner.ui.estimate_view import MOST_LINES, as_text, number
from sooner.ui.tables import print_table

if TYPE_CHECKING:
    from rich.console import RenderableType

INTERRUPTED: Final = 130  # as shells have it
F = TypeVar("F")


class View(Protocol[F]):
    """What is shown of the last figures."""

    last: F | None

    def frame(self) -> "RenderableType":
        """As rich draws it."""

    def print(self) -> None:
        """In plain text, if there is anything."""


class FiguresView:
    """A table of the figures of groups."""

    def __init__(self) -> None:
        self.last: Figures | None = None

    def frame(self) -> "RenderableType":
        """As rich draws it."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        if self.last is None:
            return Text("waiting for the first rows", style="dim")
        table = Table(box=None, padding=(0, 2))
        for title in self.last.table.column_names:
            table.add_column(as_text(title))
        for row in cells_of(self.last.table.slice(0, MOST_LINES)):
            table.add_row(*map(as_text, row))
        rest = self.last.table.num_rows - MOST_LINES
        more = [Text(f"and {rest:,} more", style="dim")] if rest > 0 else []
        return Group(table, *more, Text(self.last.summary, style="green" if self.last.exact else "dim"))

    def print(self) -> None:
        """In plain text, if there is anything."""
        if self.last is not None:
            print_table(self.last.table.column_names, cells_of(self.last.table))
            print(self.last.summary)


def cells_of(table: Any) -> list[tuple[str, ...]]:
    """The rows of an Arrow table as texts."""
    columns = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else "null" if value is None else plain_text(value)


def watch(running: Estimates | LiveGroups, view: View[Any]) -> int:
    """Show figures until they end, or somebody has seen enough; gives the exit code."""
    lives = sys.stdout.isatty() and importlib.util.find_spec("rich") is not None
    exit_code = 0
    with running, _live(view) if lives else _still(view):
        try:
            for view.last in running:
                pass
        except KeyboardInterrupt:
            exit_code = INTERRUPTED
    return exit_code


@contextmanager
def _live(view: View[Any]) -> Iterator[Any]:
    from rich.live import Live

    with Live(get_renderable=view.frame, refresh_per_second=8) as live:
        yield live


@contextmanager
def _still(view: View[Any]) -> Iterator[None]:
    yield
    view.print()
