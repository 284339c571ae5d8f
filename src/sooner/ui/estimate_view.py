"""Estimates in a terminal: a table that lives as long as they get better, or the last of them in plain text."""

import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from sooner.estimation.estimate import Estimate
from sooner.estimation.reckoning import Value
from sooner.plain_text import plain_text
from sooner.ui.tables import print_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

BAR_WIDTH: Final = 24
MOST_LINES: Final = 30  # of a living table: it must fit into a terminal
_READABLE: Final = (1e3, 1e15)  # sizes of numbers with two decimals; others have six digits


class Line(NamedTuple):
    """An aggregate of a group; the width is that of its bar, from 0 to 1."""

    group: tuple[str, ...]
    aggregate: str
    value: str
    half: str
    width: float


def lines_of(found: Estimate) -> list[Line]:
    return [
        Line(tuple(map(str, key)), name, number(value.value), _half(value), bar_width(value))
        for key, group in found.values.items()
        for name, value in group.items()
    ]


def bar_width(value: Value) -> float:
    """The root of the relative error, which goes down steadily as rows come: full at 100%, a tenth at 1%."""
    error = value.relative_error
    if error is None:
        return 0.0 if value.value is None else 1.0
    return min(math.sqrt(error), 1.0)


class EstimateView:
    """A living table of the last estimate."""

    def __init__(self) -> None:
        self.last: Estimate | None = None

    def frame(self) -> "RenderableType":
        """As rich draws it."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        if self.last is None:
            return Text("waiting for the first rows", style="dim")
        table = Table(box=None, padding=(0, 2))
        for title in (*titles(self.last), "relative error"):
            table.add_column(as_text(title))
        lines = lines_of(self.last)
        for line in lines[:MOST_LINES]:
            bar = ProgressBar(total=1.0, completed=line.width, width=BAR_WIDTH, complete_style="cyan")
            group = (*line.group, line.aggregate)
            table.add_row(*map(as_text, group), Text(line.value, style="bold"), line.half, bar)
        more = [Text(f"and {len(lines) - MOST_LINES:,} more", style="dim")] if len(lines) > MOST_LINES else []
        return Group(table, *more, Text(summary(self.last), style="green" if self.last.exact else "dim"))

    def print(self) -> None:
        """In plain text, if there is anything."""
        if self.last is not None:
            lines = lines_of(self.last)
            print_table(titles(self.last), [(*line.group, line.aggregate, line.value, line.half) for line in lines])
            print(summary(self.last))


def as_text(value: str) -> "Text":
    """The text in one line, cut where there is no room, and never read as markup."""
    from rich.text import Text

    return Text(plain_text(value), no_wrap=True, overflow="ellipsis")


def titles(found: Estimate) -> list[str]:
    return [*(one.name for one in found.by), "aggregate", "value", "±"]


def summary(found: Estimate) -> str:
    """How far an estimate is, in a line."""
    read = f"{found.rows:,} rows" if found.share_read is None else f"{found.share_read:.1%} of the rows"
    return f"{'exact' if found.exact else 'estimated'}: {read} read in {found.seconds:.2f} s"


def number(value: int | float | Decimal | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    return f"{value:,.2f}" if _READABLE[0] <= abs(value) < _READABLE[1] else f"{value:.6g}"


def _half(value: Value) -> str:
    if value.low is None or value.high is None:
        return "" if value.value is None else "not known yet"
    return "" if value.is_known else number((float(value.high) - float(value.low)) / 2)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """On standard error, without the line of code that they came from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"sooner: {plain_text(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
