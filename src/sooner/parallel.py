"""Do the work of several partitions at once.

Partitions share nothing, and NumPy and Arrow let other threads run while they work on arrays. Results come as they are
ready: a parallel run gives the same results and the same state as a serial one, in another order.
"""

import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from sooner.budget import Account
from sooner.finalizing import Finalizer
from sooner.threads import start_thread

A = TypeVar("A")
T = TypeVar("T")

AHEAD: Final = 2  # results that each thread may have ready before anyone asked,
AHEAD_BYTES: Final = 8 * 2**20  # as long as all of them have no more than these

_Jobs: TypeAlias = "queue.SimpleQueue[Callable[[], None] | None]"


class Crew:
    """Threads that a join keeps: to start them for each piece of work takes as long as the work.

    They start with the first work for two, and end with `dismiss` or when nobody has the crew any more. A
    consumer who walks away does not keep a program from ending.
    """

    def __init__(self, workers: int, account: Account | None = None) -> None:
        self.workers = workers
        self.account = account  # in which results that wait are counted
        self._jobs: _Jobs = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._process = os.getpid()
        Finalizer(self, _end_threads, self._jobs, workers)

    def dismiss(self) -> None:
        """Let the threads end; another work would start new ones."""
        _end_threads(self._jobs, len(self._threads))
        while self._threads and not sys.is_finalizing():
            self._threads.pop().join()

    def in_order(self, work: Callable[[A], T], items: Sequence[A]) -> Iterator[T]:
        """What `work` makes of each item, in their order, and never far ahead of who takes it."""
        if self.workers < 2 or len(items) < 2:
            yield from map(work, items)
            return
        ahead: deque[Future[T]] = deque()
        try:
            for item in items:
                ahead.append(self.start(partial(work, item)))
                if len(ahead) > self.workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            self.wait_for(ahead)

    def together(self, works: Iterable[Iterator[T]]) -> Iterator[T]:
        """All results of all works. The next work is asked for when a thread is free, by one thread at a time."""
        if self.workers < 2 or (isinstance(works, Sequence) and len(works) < 2):
            for work in works:
                yield from work
        else:
            yield from _Shift(works, self)

    def start(self, job: Callable[[], T]) -> "Future[T]":
        while len(self._threads) < self.workers:
            self._threads.append(start_thread(partial(_work, self._jobs), "sooner-join"))
        future: Future[T] = Future()
        self._jobs.put(partial(_fulfil, future, job))
        return future

    def wait_for(self, jobs: Sequence["Future[T]"]) -> None:
        # A forked child has the jobs, but not the threads; nor has a program that is ending.
        if os.getpid() == self._process and not sys.is_finalizing():
            wait(jobs)


def _work(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # it may hold rows, and the next one may be long in coming


def _fulfil(future: "Future[Any]", job: Callable[[], Any]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)


def _end_threads(jobs: _Jobs, workers: int) -> None:
    for _ in range(workers):
        jobs.put(None)


ALONE: Final = Crew(1)


class _Shift(Generic[T]):
    """A crew shares these works."""

    def __init__(self, works: Iterable[Iterator[T]], crew: Crew) -> None:
        self._works = iter(works)
        self._crew = crew
        self._ready: _Ready[T | _End] = _Ready(AHEAD * crew.workers, crew.account)
        self._choosing = threading.Lock()

    def __iter__(self) -> Iterator[T]:
        at_work = [self._crew.start(self._work) for _ in range(self._crew.workers)]
        try:
            yield from self._take_all(len(at_work))
        finally:
            self._ready.abandon()
            self._crew.wait_for(at_work)

    def _take_all(self, at_work: int) -> Iterator[T]:
        while at_work:
            entry = self._ready.take()
            if not isinstance(entry, _End):
                yield entry
            elif entry.error is not None:
                raise entry.error
            else:
                at_work -= 1
            del entry  # it may be large, and the next one long in coming

    def _work(self) -> None:
        """Of one thread, until there is no work for it."""
        try:
            while not self._ready.abandoned:
                with self._choosing:
                    work = next(self._works, None)
                if work is None:
                    break
                self._do(work)
        except BaseException as error:
            self._ready.put(_End(error))
        else:
            self._ready.put(_End(None))

    def _do(self, work: Iterator[T]) -> None:
        for result in work:
            self._ready.put(result, getattr(result, "nbytes", 0))
            del result  # as above
            if self._ready.abandoned:
                return


class _Ready(Generic[T]):
    """Results between the threads that make them and the one that takes them: few, and of few bytes.

    One that has more by itself is let in when there is no other.
    """

    def __init__(self, at_most: int, account: Account | None) -> None:
        self.abandoned = False
        self._account = account
        self._at_most = at_most
        self._entries: deque[tuple[T, int]] = deque()
        self._n_bytes = 0
        self._changed = threading.Condition()

    def put(self, entry: T, n_bytes: int = 0) -> None:
        """Waits for room; what nobody will take any more is dropped."""
        with self._changed:
            self._changed.wait_for(lambda: self.abandoned or self._has_room(n_bytes))
            if not self.abandoned:
                self._entries.append((entry, n_bytes))
                self._count(n_bytes)
                self._changed.notify_all()

    def take(self) -> T:
        with self._changed:
            self._changed.wait_for(lambda: self._entries)
            entry, n_bytes = self._entries.popleft()
            self._count(-n_bytes)
            self._changed.notify_all()
            return entry

    def abandon(self) -> None:
        with self._changed:
            self.abandoned = True
            self._entries.clear()
            self._count(-self._n_bytes)
            self._changed.notify_all()

    def _count(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._account is not None:
            self._account.borrow(n_bytes)

    def _has_room(self, n_bytes: int) -> bool:
        is_full = len(self._entries) >= self._at_most or self._n_bytes + n_bytes > AHEAD_BYTES
        return not is_full or not self._entries


class _End:
    """A thread has no more work, or has failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
