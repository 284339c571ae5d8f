"""Warnings of what the user should know, at the line of the user's that brought them about."""

import sys
import warnings
from types import FrameType
from typing import Final

_OURS: Final = __name__.partition(".")[0]


def warn_user(message: str) -> None:
    """Warn at the first line below that is not of this package, however deep we are."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
