"""Ctrl-C at moments that suit the work: noted when it comes, raised when somebody asks.

In the middle of a question to Spark, an exception would leave the connection to Java with an answer that nobody reads.
A query in process is told to stop, and ends with what it has found.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from sooner.threads import start_thread


class Interrupts:
    """A context in the main thread. With `stop`, who cannot wait for that may press Ctrl-C again."""

    def __init__(self, stop: Callable[[], None] | None = None) -> None:
        self.noted = False
        self._stop = stop
        self._before: Any = None
        self._stopping: threading.Thread | None = None

    def __enter__(self) -> "Interrupts":
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stopping is not None:
            self._stopping.join()  # files of the query are gone then
        signal.signal(signal.SIGINT, self._before)

    def raise_noted(self) -> None:
        """KeyboardInterrupt, if there was one."""
        if self.noted:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the contract
        if self._stop is not None:
            if self.noted:
                raise KeyboardInterrupt
            # By another thread: this one may hold a lock that is needed for it.
            self._stopping = start_thread(self._stop, "sooner-interrupt")
        self.noted = True
