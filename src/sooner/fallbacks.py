"""Fallbacks: slower ways that are taken because something is in the way of the usual one.

Each is a sentence: what is slower, and why. Whoever takes one says so with its progress (`Progress.fallbacks`), and the
program that watches reports it here.
"""

import logging
from collections.abc import Iterable
from typing import Final

LOG: Final = logging.getLogger("sooner")
_REPORTED: Final[set[str]] = set()


def report(fallbacks: Iterable[str]) -> None:
    """Warn of each in the log, once in this process."""
    for fallback in fallbacks:
        if fallback not in _REPORTED:
            _REPORTED.add(fallback)
            LOG.warning("%s", fallback)
