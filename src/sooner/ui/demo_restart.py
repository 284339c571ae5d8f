"""The demo's second act: the same query in a driver of its own, which is killed in the middle."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sooner.errors import SoonerError
from sooner.ui.interrupts import Interrupts

PROGRAM: Final = "sooner.ui.demo_driver"
QUESTION_SECONDS: Final = 0.05


class DriverFailed(SoonerError):  # noqa: N818
    """The driver ended by itself."""


@dataclass(frozen=True)
class Restart:
    """What a kill in the middle did."""

    results_before: int  # when the driver was killed
    seconds_away: float  # from the kill to the first batch of the next driver


def results_when_killed(arguments: Sequence[str], interrupts: Interrupts) -> int:
    """Start a driver, and kill it when it has written some results; it must not end before."""
    with _Driver(arguments) as driver:
        while not driver.results:
            interrupts.raise_noted()
            driver.require_going_on()
        return driver.results


class _Driver:
    """A Python with its Java; it says a line after each batch, and is killed with all that it started on leaving."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that it can be killed as a whole, and Ctrl-C is not for it
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._said = b""

    def __enter__(self) -> "_Driver":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def require_going_on(self) -> None:
        """Waits a moment, and takes up what it has said."""
        time.sleep(QUESTION_SECONDS)
        assert self._process.stdout is not None and self._process.stderr is not None
        self._said += self._process.stdout.read() or b""
        if self._process.poll() is not None:
            complaint = self._process.stderr.read().decode()[-2000:]
            raise DriverFailed(f"The driver of the demo ended before it could be killed. {complaint}".rstrip())

    @property
    def results(self) -> int:
        """Of the batches so far."""
        counts = [int(line) for line in self._said.splitlines(keepends=True) if line.endswith(b"\n")]
        return max(counts, default=0)
