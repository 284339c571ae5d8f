"""Memory that is free goes back to the system: allocators keep what was freed, for each thread by itself.

With a thread for each source and each worker that can come to more than the rows, and who gave the budget looks at the
process. Arrow's own allocator gives back in no time what the thread that asks had. The system's needs milliseconds for
all threads together, so it is asked when the process has grown by more than a join of this memory should need.
"""

import ctypes
import os
from pathlib import Path
from typing import Final

import pyarrow as pa

LOOK_EVERY_BYTES: Final = 2 * 2**20  # that go through in between, at least,
LOOKS_IN_MEMORY: Final = 64  # or one part in so many of the memory
MEMORY_TIMES: Final = 1.3
BESIDE_BYTES: Final = 48 * 2**20  # sources, results on their way, scratch memory
PLENTY: Final = 0.7  # of what may be used is not in use
_PAGES: Final = Path("/proc/self/statm")  # of Linux; elsewhere nobody looks
_SYSTEM: Final = ctypes.CDLL(None)
_TRIM: Final = "malloc_trim"  # glibc has it


class ReturnedMemory:
    """Of one query, called by all its threads."""

    def __init__(self, memory_bytes: int) -> None:
        self._passed_bytes = 0
        self._look_every_bytes = max(LOOK_EVERY_BYTES, memory_bytes // LOOKS_IN_MEMORY)
        self._most_bytes = _process_bytes() + int(MEMORY_TIMES * memory_bytes) + BESIDE_BYTES

    @property
    def trouble(self) -> str | None:
        """Why memory does not go back, in a sentence; None if it does."""
        if not _PAGES.exists():
            return f"Memory that was freed may stay with the process: without {_PAGES} nobody sees how much that is"
        if not hasattr(_SYSTEM, _TRIM):
            return f"Memory that was freed may stay with the process: its C library has no {_TRIM}"
        return None

    def passed(self, n_bytes: int) -> None:
        """So many bytes of rows went through the thread that calls."""
        self._passed_bytes += n_bytes
        if self._passed_bytes >= self._look_every_bytes:
            self._passed_bytes = 0
            self.look()

    def look(self) -> None:
        """Give back what is too much. To take it again is dear, so nothing is given back where there is plenty."""
        process_bytes = _process_bytes()
        if process_bytes < PLENTY * self._most_bytes:
            return
        pa.default_memory_pool().release_unused()
        if process_bytes > self._most_bytes:
            _give_back_free_memory()
            # What is left is in use, perhaps by others: to ask again before there is more would be in vain.
            self._most_bytes = max(self._most_bytes, _process_bytes() + LOOK_EVERY_BYTES)


def _give_back_free_memory() -> None:
    """Of the system's allocator. PyArrow's `release_unused` cannot be asked: of any pool, it means the default one."""
    if hasattr(_SYSTEM, _TRIM):
        _SYSTEM[_TRIM](ctypes.c_size_t(0))


def _process_bytes() -> int:
    return int(_PAGES.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE") if _PAGES.exists() else 0
