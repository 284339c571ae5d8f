"""How often there are new figures: reading them off must not take much of the time."""

import time
from typing import Final

RECKONING_SHARE: Final = 20  # of the time, one part in so many at most goes into reading off,
RECKONING_SECONDS: Final = 0.02  # beside so much at first;
MANY_GROUPS: Final = 100  # what more of them would take is foreseen


class Pace:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._at_work = 0.0
        self._spent = 0.0
        self._of_group = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def allows(self, groups: int) -> bool:
        """Whether so many may be read off now."""
        allowed = RECKONING_SECONDS + self.seconds / RECKONING_SHARE
        return self._spent + max(groups - MANY_GROUPS, 0) * self._of_group <= allowed

    def begin(self) -> None:
        self._at_work = time.thread_time()  # without waiting for other threads

    def end(self, groups: int) -> None:
        took = time.thread_time() - self._at_work
        self._spent, self._of_group = self._spent + took, took / max(groups, 1)
