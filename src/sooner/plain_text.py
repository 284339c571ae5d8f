"""What comes from data, names and paths as text that only is text, wherever it is shown.

Characters that a terminal or a page would obey, or that nobody would see, are shown by their escapes: controls, ends of
lines, those that turn the direction of writing, bytes that are no text. Only the joiners of letters stay.
"""

import unicodedata
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # some scripts, and pictures, are written with them


def plain_text(value: object) -> str:
    r"""One line, without anything to obey.

    >>> plain_text("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    text = str(value)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    seen = character.isprintable() or character in _JOINERS
    return character if seen else character.encode("unicode_escape").decode("ascii")


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: letters of some scripts are as wide as two, marks have no width."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
