"""Watching a query: lines where there is no terminal, milestones, and Ctrl-C at a moment that suits Spark."""

import io
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from sooner.phases import Phase
from sooner.progress import Progress
from sooner.spark import JoinProgress, Query
from sooner.ui.interrupts import Interrupts
from sooner.ui.watching import Watch


def progress(batch: int, phase: Phase, results: int, resident_bytes: int, spilled_bytes: int) -> JoinProgress:
    total = Progress(
        phase, (9, 9), (1, 1), resident_bytes, resident_bytes, (1, 1), spilled_bytes, (0, 0), results, 81.0, 40.5
    )
    return JoinProgress(batch, total, (total,), (0, 0))


class FakeQuery:
    """Does one thing each time that it is asked whether it has ended; its sources were asked two seconds ago."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = list(steps)
        first = datetime.fromtimestamp(time.time() - 2, UTC).isoformat()
        self.spark_query = SimpleNamespace(recentProgress=[{"batchId": 0, "timestamp": first}])

    def awaitTermination(self, timeout: float) -> bool:  # noqa: ARG002, N802 - as in Spark
        if self._steps:
            self._steps.pop(0)()
        return not self._steps


def watched(terminal: bool, *reports: JoinProgress) -> tuple[Watch, str]:
    shown = io.StringIO()
    watch = Watch(Console(file=shown, force_terminal=terminal, width=100), "a x b", 1000)
    steps = [lambda report=report: watch.note(report) for report in reports]
    watch.until_done(cast(Query, FakeQuery(*cast(Any, steps))), Interrupts())
    return watch, shown.getvalue()


REPORTS = (
    progress(0, "arriving", 0, 500, 0),
    progress(1, "arriving", 7, 900, 400),
    progress(2, "done", 10, 0, 0),
)


def test_where_there_is_no_terminal_each_batch_is_a_line() -> None:
    _, shown = watched(False, *REPORTS)
    assert shown.count("\n") == len(REPORTS)
    assert "50.0% of their pairs covered, 7 results, 900 B in memory, 400 B spilled" in shown
    assert "\x1b" not in shown


def test_on_a_terminal_there_is_a_view() -> None:
    _, shown = watched(True, *REPORTS)
    assert "a x b" in shown
    assert "every pair of rows has been looked at once" in shown


def test_results_are_counted_from_when_the_sources_were_first_asked() -> None:
    began = time.time()
    watch, _ = watched(False, *REPORTS)
    assert watch.milestones.results == [0, 7, 10]
    assert all(2 <= seconds <= 2 + time.time() - began for seconds in watch.milestones.seconds)
    assert (watch.peak_bytes, watch.spilled_bytes) == (900, 400)


def test_an_interrupt_waits_until_spark_has_answered() -> None:
    before = signal.getsignal(signal.SIGINT)
    answered = []

    def interrupted_question() -> None:
        signal.raise_signal(signal.SIGINT)
        answered.append(True)

    watch = Watch(Console(file=io.StringIO()), "a x b", 1000)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        watch.until_done(cast(Query, FakeQuery(interrupted_question, lambda: None)), interrupts)
    assert answered
    assert signal.getsignal(signal.SIGINT) == before
