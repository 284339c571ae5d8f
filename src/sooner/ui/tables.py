"""Tables for a terminal, in plain text: no library is needed for them."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from sooner.plain_text import columns_of, plain_text

GAP: Final = 3
LEAST_WIDTH: Final = 8  # a column is folded no further


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Folded to the width of a terminal; a file or a pipe gets whole lines."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print("\n".join(lines_of_table(titles, rows, width)))


def lines_of_table(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Each row in a line, or in several where the widest columns must be folded."""
    cells = [[plain_text(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        _narrow(widths, width)
    return [line for row in cells for line in _lines_of_row(row, widths)]


def _narrow(widths: list[int], width: int) -> None:
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > LEAST_WIDTH:
        widths[widths.index(max(widths))] -= 1


def _lines_of_row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    folded = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = zip_longest(*folded, fillvalue="")
    return [(" " * GAP).join(map(_padded, parts, widths)).rstrip() for parts in lines]


def _padded(part: str, width: int) -> str:
    return part + " " * (width - columns_of(part))


def _folded(cell: str, width: int) -> list[str]:
    if columns_of(cell) <= width:
        return [cell]
    return textwrap.wrap(cell, width if cell.isascii() else max(width // 2, 1))
