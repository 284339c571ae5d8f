"""Ctrl-C at moments that suit Spark: noted when it comes, raised when somebody asks.

In the middle of a question to Spark, an exception would leave the connection to Java with an answer that nobody reads.
"""

import signal
from types import FrameType
from typing import Any


class Interrupts:
    """A context in the main thread."""

    def __init__(self) -> None:
        self._noted = False
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def raise_noted(self) -> None:
        """KeyboardInterrupt, if there was one."""
        if self._noted:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the contract
        self._noted = True
