"""A thread that takes what an iterator gives, and holds it until somebody asks: all that waits, at once."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Condition
from typing import Any

from sooner.threads import start_thread


class PumpFailed(Exception):  # noqa: N818
    """The iterator failed before there was enough of it to know what it gives."""


class Pump:
    """Iterate for lists of what has come; each waits for one item at least."""

    def __init__(self, items: Iterator[Any] | AsyncIterator[Any], name: str, room: int) -> None:
        """It begins at once, and holds so many items at most."""
        self._waiting: list[Any] = []
        self._room = room
        self._changed = Condition()
        self._ended = False
        self._stopped = False
        self._error: BaseException | None = None
        self._cancel: Callable[[], object] | None = None  # what wakes an async iterator
        start_thread(lambda: self._run(items), name)

    def make_room(self, room: int) -> None:
        with self._changed:
            self._room = room
            self._changed.notify_all()

    def first(self, n: int) -> list[Any]:
        """The first n items as soon as they are there, or all if there are fewer; they stay."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._waiting) >= n)
            if self._error is not None and len(self._waiting) < n:
                raise PumpFailed(f"it failed after {len(self._waiting)} items: {self._error}") from self._error
            return self._waiting[:n]

    def stop(self) -> None:
        """Take no more. An iterator that waits in the middle of something is left there."""
        with self._changed:
            self._stopped = self._ended = True
            self._changed.notify_all()
            if self._cancel is not None:
                self._cancel()

    def __iter__(self) -> Iterator[list[Any]]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._waiting)
                items, self._waiting = self._waiting, []
                self._changed.notify_all()
            if self._stopped:
                return
            if items:
                yield items
            elif self._error is not None:
                raise self._error
            else:
                return

    def _run(self, items: Iterator[Any] | AsyncIterator[Any]) -> None:
        try:
            if isinstance(items, AsyncIterator):
                self._take_in_a_loop(items)
            else:
                self._take(items)
        except BaseException as error:  # whatever it is, who asks is to raise it
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _take(self, items: Iterator[Any]) -> None:
        try:
            for item in items:
                if not self._put(item):
                    return
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def _take_in_a_loop(self, items: AsyncIterator[Any]) -> None:
        import asyncio  # here, because it takes a while to load

        async def take_as_they_come() -> None:
            task = asyncio.current_task()
            assert task is not None
            with self._changed:
                self._cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel)
            try:
                async for item in items:
                    if not self._put(item):
                        return
            finally:
                with self._changed:
                    self._cancel = None

        with suppress(asyncio.CancelledError):  # nobody needs it any more
            asyncio.run(take_as_they_come())

    def _put(self, item: Any) -> bool:
        """Whether more is wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or len(self._waiting) < self._room)
            self._waiting.append(item)
            self._changed.notify_all()
            return not self._stopped
