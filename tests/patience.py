"""How long tests wait for something: until it happens. Any machine may be slow; only what hangs is given up."""

import time
from collections.abc import Callable

HANG_SECONDS = 600.0
ENDLESS_SECONDS = 2 * HANG_SECONDS  # for what waits until it is told to go on: by then a test has failed


def until(happens: Callable[[], object], what: str = "it does not happen") -> float:
    """How many seconds it took."""
    began = time.monotonic()
    while not happens():
        assert time.monotonic() - began < HANG_SECONDS, what
        time.sleep(0.01)
    return time.monotonic() - began
