"""A query in process, as a dashboard shows it. It is held weakly: who drops it, drops it."""

import threading
import time
import weakref
from collections import deque
from typing import Any, Final

from sooner.errors import InvalidJoin
from sooner.local.estimate import Estimates
from sooner.local.running import QueryProgress, Running
from sooner.trace import Entry
from sooner.ui.dashboard.estimates import Intervals
from sooner.ui.dashboard.metrics import metrics_of
from sooner.ui.dashboard.picture import Picture, algorithm_of
from sooner.ui.dashboard.progress import plain_progress
from sooner.ui.dashboard.series import Known
from sooner.ui.dashboard.subject import DONE, STOPPED, Refused
from sooner.ui.dashboard.time_left import Clock

LEAST_GAP_SECONDS: Final = 0.05  # between two looks at the progress


class LiveQuery:
    """The query begins to tell what happens when this is made."""

    def __init__(self, query: Running[Any]) -> None:
        self._query = weakref.ref(query)
        self._picture = Picture(query.traced)
        self._clock = Clock(query.traced.memory_bytes)
        self._intervals = Intervals()
        self._lock = threading.Lock()
        self._progress: QueryProgress | None = None
        self._left: deque[Any] = deque([None], maxlen=1)
        self._looked = 0.0
        self._began: float | None = None  # when its first row was asked for, by the clock of its trace
        self._how_it_ended = ""
        self._notes = query.explain()
        query.watch(self._note)

    def about(self) -> dict[str, Any]:
        header = self._picture.header
        algorithm, summary = algorithm_of(header)
        return {
            "title": header.what,
            "algorithm": algorithm,
            "summary": summary,
            "inputs": header.inputs,
            "expected": header.rows,
            "memory_bytes": header.memory_bytes,
            "began_at": header.began_at,
            "notes": self._notes,
            "can_stop": True,
            "can_finish": list(header.inputs),
        }

    def news(self, known: Known) -> dict[str, Any]:
        progress = self._look()
        with self._lock:
            return {
                "series": self._picture.news(known),
                "state": {
                    **self._picture.to_plain(),
                    **plain_progress(progress, self._clock, self._left[0]),
                    "estimate": self._intervals.to_plain(),
                },
            }

    def over(self) -> str:
        return self._how_it_ended

    def stop(self) -> None:
        self._running().stop()

    def finish(self, name: str) -> None:
        query = self._running()
        if name not in query.traced.inputs:
            raise Refused(f"There is no input {name!r}.")
        try:
            query.finish(name)
        except InvalidJoin as error:
            raise Refused(str(error)) from None

    def metrics(self) -> str:
        return metrics_of(self._look(), self._picture.header.inputs, self._picture.header.rows)

    def end(self) -> None:
        """The query has ended; whoever looks sees its last state."""
        progress = self._look(at_once=True)
        done = progress is not None and progress.phase == "done"
        self._how_it_ended = DONE if done else STOPPED

    def _running(self) -> Running[Any]:
        query = self._query()
        if query is None or self._how_it_ended:
            raise Refused("The query has ended.")
        return query

    def _note(self, entry: Entry) -> None:
        query = self._query()
        seconds = 0.0 if query is None else self._since_it_began(query, entry.seconds)
        with self._lock:
            self._picture.note(entry._replace(seconds=seconds))

    def _since_it_began(self, query: Running[Any], traced: float) -> float:
        """A trace counts from when the query was made, which may be long before anybody asked for a row."""
        if self._began is None:
            ran = query.progress.seconds
            if not ran:
                return 0.0
            self._began = query.traced_seconds - ran
        return max(traced - self._began, 0.0)

    def _look(self, *, at_once: bool = False) -> QueryProgress | None:
        """How far it is by its own word, which browsers ask for together."""
        query = self._query()
        with self._lock:
            is_due = at_once or time.monotonic() - self._looked >= LEAST_GAP_SECONDS
            if query is None or self._how_it_ended or not is_due:
                return self._progress
            self._looked = time.monotonic()
        progress, seconds = query.progress, self._since_it_began(query, query.traced_seconds)
        with self._lock:
            self._progress = progress
            self._picture.sample(seconds, progress)
            self._left.append(self._clock.look(progress.seconds, progress, progress.all_rows))
            if isinstance(query, Estimates) and query.newest is not None:
                self._intervals.add(query.newest)
        return progress
