"""Do the work of several partitions at once.

Partitions share nothing, and NumPy and Arrow let other threads run while they work on arrays. Results come as they are
ready: a parallel run gives the same results and the same state as a serial one, in another order.
"""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Generic, TypeVar

A = TypeVar("A")
T = TypeVar("T")

AHEAD: Final = 2  # results that each thread may have ready before anyone asked: they can be large


def together(works: Sequence[Iterator[T]], workers: int) -> Iterator[T]:
    """All results of all works."""
    if workers < 2 or len(works) < 2:
        for work in works:
            yield from work
    else:
        yield from _Crew(works, workers)


def map_together(work: Callable[[A], T], items: Sequence[A], workers: int) -> list[T]:
    """What `work` makes of each item, in their order."""
    if workers < 2 or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers, "sooner-join") as pool:
        return list(pool.map(work, items))


def in_order(work: Callable[[A], T], items: Sequence[A], workers: int) -> Iterator[T]:
    """What `work` makes of each item, in their order, and never far ahead of who takes it."""
    if workers < 2 or len(items) < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers, "sooner-join") as pool:
        ahead: deque[Future[T]] = deque()
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


class _Crew(Generic[T]):
    """Threads that share the works. They are daemons: a consumer who walks away must not keep a program from ending."""

    def __init__(self, works: Sequence[Iterator[T]], workers: int) -> None:
        self._works = iter(works)
        self._going_on = len(works)
        self._workers = workers
        self._ready: queue.Queue[T | _End] = queue.Queue(AHEAD * workers)
        self._abandoned = threading.Event()
        self._choosing = threading.Lock()

    def __iter__(self) -> Iterator[T]:
        threads = [threading.Thread(target=self._work, name="sooner-join", daemon=True) for _ in range(self._workers)]
        for thread in threads:
            thread.start()
        try:
            yield from self._take_all()
        finally:
            self._abandoned.set()
            for thread in threads:
                thread.join()

    def _take_all(self) -> Iterator[T]:
        while self._going_on:
            entry = self._ready.get()
            if not isinstance(entry, _End):
                yield entry
            elif entry.error is not None:
                raise entry.error
            else:
                self._going_on -= 1

    def _work(self) -> None:
        while not self._abandoned.is_set():
            with self._choosing:
                work = next(self._works, None)
            if work is None:
                return
            self._do(work)

    def _do(self, work: Iterator[T]) -> None:
        try:
            for result in work:
                self._put(result)
                if self._abandoned.is_set():
                    return
        except BaseException as error:
            self._put(_End(error))
        else:
            self._put(_End(None))

    def _put(self, entry: "T | _End") -> None:
        while not self._abandoned.is_set():
            with contextlib.suppress(queue.Full):
                self._ready.put(entry, timeout=0.1)
                return


class _End:
    """A work is over, well or not."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
