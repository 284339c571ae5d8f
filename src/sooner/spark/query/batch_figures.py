"""The figures of each batch of a query, as Spark's progress has them for its users.

Spark itself observes them on a pulse, which cannot see what will come: they are those of the batch before, and null
where a batch has no pulse. Whoever holds the query gets those of the batch itself: what the state says after it. If
nobody looked while it did, the pulse of the batch after it says the same; and where that has none, nothing has changed.
"""

import json
import threading
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Final

from sooner.spark.dataflow.figures import figures, metrics_of
from sooner.spark.query.joins import RunningJoin
from sooner.spark.step.standing import JoinProgress, read_progress

KEPT_BATCHES: Final = 1000  # Spark keeps the progress of a hundred, unless it is told to keep more

Plain = dict[str, Any]


class BatchFigures:
    """Of the joins of a query; any thread may take notes and ask."""

    def __init__(self, joins: Sequence[RunningJoin]) -> None:
        self._joins = joins
        self._noted: dict[str, dict[int, Plain]] = {join.state: {-1: figures(None, join.inputs)} for join in joins}
        self._lock = threading.Lock()

    def note(self, join: RunningJoin, progress: JoinProgress) -> None:
        """How far a join was after a batch."""
        with self._lock:
            noted = self._noted[join.state]
            noted[progress.batch] = figures(progress, join.inputs)
            if len(noted) > KEPT_BATCHES:
                del noted[next(iter(noted))]

    def among_metrics(self, ask: Callable[[], Sequence[Any]]) -> list[Any]:
        """The progresses that Spark gives when asked, in their order, with the figures of their own batches."""
        progresses, newest = ask(), None
        while progresses and not self._knows(batch := last_batch(progresses[-1])) and batch != newest:
            progresses, newest = ask(), batch  # meanwhile there are newer ones
        plain: list[Plain] = [json.loads(progress.json) for progress in progresses]
        observed: list[Plain] = [{**one.get("observedMetrics", {})} for one in plain]
        for join in self._joins:
            self._put_in_place(join, list(map(last_batch, plain)), observed)
        both = zip(progresses, plain, observed, strict=True)
        return [type(progress).fromJson({**one, "observedMetrics": metrics}) for progress, one, metrics in both]

    def _knows(self, batch: int) -> bool:
        """Whether it is known how all joins stood after a batch; while it is the newest, the state says it."""
        for join in self._joins:
            if batch not in self._noted[join.state]:
                if (progress := read_progress(join.state, join.partitions, batch)) is None:
                    return False
                self.note(join, progress)
        return True

    def _put_in_place(self, join: RunningJoin, batches: Sequence[int], observed: Sequence[Plain]) -> None:
        by_pulse = [_taken_out(join, metrics) for metrics in observed]
        known: Plain | None = None
        for batch, metrics, of_next in zip_longest(batches, observed, by_pulse[1:]):
            known = self._noted[join.state].get(batch) or of_next or known
            if known is not None:
                metrics[metrics_of(join.state)] = known


def last_batch(progress: Any) -> int:
    """The last batch that ran: while Spark waits, it may report under the number of the batch to come."""
    return int(progress["batchId"]) - ("addBatch" not in progress["durationMs"])


def _taken_out(join: RunningJoin, metrics: Plain) -> Plain | None:
    """What Spark observed of a join on a pulse; a program that makes a join again gives its metrics a number."""
    name = metrics_of(join.state)
    found = [metrics.pop(one) for one in list(metrics) if one == name or one.startswith(f"{name} (")]
    complete = (one for one in found if None not in one.values() and one.keys() == figures(None, join.inputs).keys())
    return next(complete, None)
