"""The results of a query as one thread reads them; a second thread in the middle of a reading is told so."""

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from sooner.errors import SoonerError
from sooner.threads import Staying

R = TypeVar("R")


class OneReader(Generic[R]):
    """An iterator that is in one pair of hands at a time. Threads may take turns."""

    def __init__(self, results: Iterator[R]) -> None:
        self._results = results
        self._in_hands = threading.Lock()

    def __iter__(self) -> "OneReader[R]":
        return self

    def __next__(self) -> R:
        if not self._in_hands.acquire(blocking=False):
            raise SoonerError(
                "Another thread is reading this query; read it in one thread, which may hand its batches to others."
            )
        try:
            with Staying():  # a daemon of the user's may be inside Arrow, too
                return next(self._results)
        finally:
            self._in_hands.release()
