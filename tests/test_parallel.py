"""A crew gives what one worker would give, and is gone when nobody needs it."""

import gc
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from patience import HANG_SECONDS, until
from sooner.parallel import AHEAD_BYTES, Crew


def counting(begin: int) -> Iterator[int]:
    yield from range(begin, begin + 100)


def threads_of_crews() -> int:
    return sum(thread.name == "sooner-join" for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_are_all_there_and_those_in_order_in_order(workers: int) -> None:
    crew = Crew(workers)
    for _ in range(3):  # the same threads again
        assert list(crew.in_order(lambda n: n * n, range(50))) == [n * n for n in range(50)]
        assert sorted(crew.together([counting(100 * n) for n in range(7)])) == list(range(700))
    crew.dismiss()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_goes_wrong_in_a_thread_is_raised_where_results_are_taken(workers: int) -> None:
    crew = Crew(workers)

    def failing(n: int) -> int:
        if n == 7:
            raise ValueError("seven")
        return n

    with pytest.raises(ValueError, match="seven"):
        list(crew.in_order(failing, range(20)))
    with pytest.raises(ValueError, match="seven"):
        list(crew.together([map(failing, range(5)), map(failing, range(5, 10))]))
    assert list(crew.in_order(failing, range(7))) == list(range(7))  # it goes on after that
    crew.dismiss()


def test_no_work_goes_on_after_the_results_were_left() -> None:
    crew, done = Crew(2), itertools.count()

    def endless() -> Iterator[int]:
        while True:
            yield next(done)

    results = iter(crew.together([endless(), endless()]))
    next(results)
    results.close()  # type: ignore[attr-defined]
    so_far = next(done)
    time.sleep(0.2)
    assert next(done) == so_far + 1
    crew.dismiss()


def test_large_results_wait_one_at_a_time() -> None:
    crew, made = Crew(2), itertools.count()

    def large() -> Iterator[np.ndarray]:
        for _ in range(20):
            next(made)
            yield np.empty(AHEAD_BYTES, np.uint8)

    results = iter(crew.together([large(), large()]))
    next(results)
    time.sleep(0.2)
    assert next(made) <= 4  # one was taken, one is ready, and each of two workers has one in its hands
    assert sum(1 for _ in results) == 39
    crew.dismiss()


def test_threads_end_when_a_crew_is_dismissed_and_when_nobody_has_it() -> None:
    before = threads_of_crews()
    crew, forgotten = Crew(2), Crew(2)
    for some in (crew, forgotten):
        list(some.in_order(str, range(4)))
    assert threads_of_crews() == before + 4
    for _ in range(2):  # and so do those that begin anew
        crew.dismiss()
        assert threads_of_crews() == before + 2
        list(crew.in_order(str, range(4)))
    crew.dismiss()
    del forgotten, some
    gc.collect()
    until(lambda: threads_of_crews() == before, "threads go on")


def test_a_forked_child_does_not_wait_for_threads_that_it_has_not() -> None:
    crew = Crew(2)
    results = iter(crew.together([counting(0), counting(100)]))
    next(results)
    child = os.fork()
    if child == 0:
        signal.alarm(int(HANG_SECONDS))
        results.close()  # type: ignore[attr-defined]
        crew.dismiss()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(results)) == 199
    crew.dismiss()
