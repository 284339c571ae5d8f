"""Threads beside the program's own: its end neither waits for them nor is disturbed by them.

They are daemons, since a source may sleep for hours. A daemon that asks for the interpreter's lock once the program is
ending never gets it. From CPython 3.14 on it waits there until the process is gone. Before, it was made to end on the
spot, for which glibc runs the destructors of all C++ on its stack: one of Arrow's, where that has called a generator
of Python, gives back a lock that the thread does not have, and the process is aborted. So here, too, it waits.
"""

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Final

# Calls that keep the interpreter's lock: they are short, and to get it back among busy threads takes milliseconds.
_LIBRARY: Final = ctypes.PyDLL(None)
_NEEDS_HELP: Final = sys.version_info < (3, 14) and hasattr(_LIBRARY, "_pthread_cleanup_push")  # glibc has it
_SIZE: Final = 256  # more than a mutex or what stands for a clean-up has


def _memory() -> ctypes.c_void_p:
    """Memory of the system, since the interpreter's own is gone when a thread wakes late."""
    return ctypes.c_void_p(_LIBRARY.calloc(1, _SIZE))


if _NEEDS_HELP:
    _LIBRARY.calloc.restype, _LIBRARY.calloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    _wait: Final = ctypes.cast(_LIBRARY.pthread_mutex_lock, ctypes.c_void_p)
    _for_ever: Final = _memory()  # a mutex, which nobody unlocks
    _LIBRARY.pthread_mutex_lock(_for_ever)


class Staying:
    """A block, to be entered once, in which the calling thread waits when the interpreter would make it end."""

    def __enter__(self) -> None:
        """Add a clean-up. It does not lie on the stack, so none of the frames there is left before it is called."""
        if _NEEDS_HELP:
            self._clean_up = _memory()
            _LIBRARY._pthread_cleanup_push(self._clean_up, _wait, _for_ever)

    def __exit__(self, *_: object) -> None:
        if _NEEDS_HELP:
            _LIBRARY._pthread_cleanup_pop(self._clean_up, 0)
            _LIBRARY.free(self._clean_up)


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    thread = threading.Thread(target=_stay_and, args=(work,), name=name, daemon=True)
    thread.start()
    return thread


def _stay_and(work: Callable[[], object]) -> None:
    with Staying():
        work()
