"""Memory that Arrow has freed goes back to the system now and then.

Arrow's allocator keeps what was freed for later, for each thread by itself: with a thread for each source and each
worker that came to a few times the rows that a small budget holds. Who gave the budget looks at the process.
"""

from typing import Final

import pyarrow as pa

LEAST_BYTES: Final = 8 * 2**20  # that go through in between: it takes a millisecond or two
MEMORY_SHARE: Final = 32  # or one part of the memory in so many


class ReturnedMemory:
    def __init__(self, memory_bytes: int) -> None:
        self._every_bytes = max(LEAST_BYTES, memory_bytes // MEMORY_SHARE)
        self._passed_bytes = 0

    def passed(self, n_bytes: int) -> None:
        """So many bytes went through the join."""
        self._passed_bytes += n_bytes
        if self._passed_bytes >= self._every_bytes:
            pa.default_memory_pool().release_unused()
            self._passed_bytes = 0
