"""Markdown of text from files: tables whose cells stay cells, and links to headings as GitHub names them."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from sooner.plain_text import plain_text

_MORE_THAN_TEXT: Final = re.compile(r"\||<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[])")


def cell(value: object) -> str:
    """The value in one line, which begins no other cell, no tag and no link."""
    return _MORE_THAN_TEXT.sub(r"\\\g<0>", plain_text(value))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, whose cells are Markdown already, and an empty one."""
    return [_row(headings), "|" + "---|" * len(headings), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def link_to(heading: str) -> str:
    """A link to a heading of the same page: GitHub takes its letters and digits, in lower case, and hyphens."""
    anchor = re.sub(r"[^\w\- ]", "", plain_text(heading).lower()).replace(" ", "-")
    return f"[{cell(heading)}](#{anchor})"
