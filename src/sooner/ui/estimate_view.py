"""Figures as tables of texts: of estimates an aggregate a line, or columns as a query in SQL names them."""

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

from sooner.estimation.estimate import Estimate
from sooner.estimation.reckoning import Value
from sooner.local.figures import Figures
from sooner.plain_text import plain_text
from sooner.ui.cells import cell_of, cells_of, number


class Shown(NamedTuple):
    """Figures as people see them."""

    titles: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    summary: str
    exact: bool
    errors: Sequence[float] = ()  # of each row, from 0 to 1, where they are drawn


def shown_estimate(found: Estimate) -> Shown:
    """An aggregate of a group a line."""
    values = [(key, name, value) for key, group in found.values.items() for name, value in group.items()]
    rows = [(*map(str, key), name, number(value.value), _half(value)) for key, name, value in values]
    titles = [*(one.name for one in found.by), "aggregate", "value", "±"]
    return Shown(titles, rows, _summary(found), found.exact, [bar_width(value) for *_, value in values])


def shown_as_in_sql(found: Estimate, columns: Sequence[str]) -> Shown:
    """A group a line, with the columns of the select list."""
    by = [one.name for one in found.by]
    rows = []
    for key, group in found.values.items():
        cells = dict(zip(by, map(cell_of, key), strict=True)) | {name: _with_half(one) for name, one in group.items()}
        rows.append(tuple(cells[name] for name in columns))
    return Shown(columns, rows, _summary(found), found.exact)


def shown_figures(found: Figures) -> Shown:
    return Shown(found.table.column_names, cells_of(found.table), found.summary, found.exact)


def bar_width(value: Value) -> float:
    """The root of the relative error, which goes down steadily as rows come: full at 100%, a tenth at 1%."""
    error = value.relative_error
    if error is None:
        return 0.0 if value.value is None else 1.0
    return min(math.sqrt(error), 1.0)


def _summary(found: Estimate) -> str:
    """How far an estimate is, in a line."""
    read = f"{found.rows:,} rows" if found.share_read is None else f"{found.share_read:.1%} of the rows"
    return f"{'exact' if found.exact else 'estimated'}: {read} read in {found.seconds:.2f} s"


def _half(value: Value) -> str:
    if value.low is None or value.high is None:
        return "" if value.value is None else "not known yet"
    return "" if value.is_known else number((float(value.high) - float(value.low)) / 2)


def _with_half(value: Value) -> str:
    of = value.value  # the least of dates or of texts is no number
    said = number(of) if isinstance(of, int | float | Decimal) else cell_of(of)
    return " ± ".join(filter(None, [said, _half(value)]))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """On standard error, without the line of code that they came from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"sooner: {plain_text(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
