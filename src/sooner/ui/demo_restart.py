"""The demo's second act: the same query in a driver of its own, which is killed in the middle and started again."""

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
KILLED_AFTER: Final = 2  # batches that have results
QUESTION_SECONDS: Final = 0.05


class DriverFailed(SoonerError):  # noqa: N818
    """The driver ended by itself, and not well."""


@dataclass(frozen=True)
class Restart:
    """What a kill in the middle did."""

    results_before: int  # when the driver was killed
    seconds_away: float  # from the kill to the first batch of the next driver
    killed: bool = True  # or it had ended before it could be


def killed_and_started_again(arguments: Sequence[str], interrupts: Interrupts) -> Restart:
    """Two drivers one after the other, over one state and checkpoint; the second one ends by itself."""
    first = _Driver(arguments)
    with first:
        while first.batches_with_results < KILLED_AFTER and first.goes_on():
            interrupts.raise_noted()
        if not first.goes_on():
            first.require_success()
            return Restart(first.results, 0.0, killed=False)
    killed = time.monotonic()
    second = _Driver(arguments)
    with second:
        while not second.n_batches and second.goes_on():
            interrupts.raise_noted()
        seconds_away = time.monotonic() - killed
        while second.goes_on():
            interrupts.raise_noted()
        second.require_success()
    return Restart(first.results, seconds_away)


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

    def goes_on(self) -> bool:
        """Waits a moment, and takes up what it has said."""
        time.sleep(QUESTION_SECONDS)
        assert self._process.stdout is not None
        self._said += self._process.stdout.read() or b""
        return self._process.poll() is None

    def require_success(self) -> None:
        if self._process.returncode != 0:
            assert self._process.stderr is not None
            raise DriverFailed(f"The driver of the demo failed: {self._process.stderr.read().decode()[-2000:]}")

    @property
    def _counts(self) -> list[int]:
        """Results so far, after each batch."""
        return [int(line) for line in self._said.splitlines(keepends=True) if line.endswith(b"\n")]

    @property
    def n_batches(self) -> int:
        return len(self._counts)

    @property
    def batches_with_results(self) -> int:
        return sum(results > 0 for results in self._counts)

    @property
    def results(self) -> int:
        return max(self._counts, default=0)
